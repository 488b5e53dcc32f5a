//! Is it alive, is it ready, how is it doing.

use axum::Json;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::problem::ProblemResponse;
use crate::app::{AuthorizedApp, Load, Readiness, health, load};

pub(super) async fn welcome() -> &'static str {
    concat!(
        "branchyard ",
        env!("CARGO_PKG_VERSION"),
        "\n\n",
        "GET  /healthz                                         is it alive\n",
        "GET  /api/repos                                       repositories\n",
        "GET  /api/repos/{repo}/branches                       workspaces\n",
        "POST /stream/repos/{repo}/branches/{branch}/make      build a branch and stream its output\n",
        "GET  /api/runs                                        runs\n\n",
        "Everything but this page and /healthz needs the session key: curl -H @<workspaces>/.branchyard/auth.header\n",
    )
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Alive {
    /// `ok`.
    status: &'static str,
    version: &'static str,
}

pub(super) async fn healthz() -> Json<Alive> {
    Json(Alive {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
    })
}

pub(super) async fn readyz(app: AuthorizedApp) -> (StatusCode, Json<Readiness>) {
    let readiness = health::readiness(&app);
    let status = match readiness.is_ready() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(readiness))
}

/// How busy the machine is, and what fills its disk.
pub(super) async fn machine(app: AuthorizedApp) -> Result<Json<Load>, ProblemResponse> {
    Ok(Json(load::current(&app).await?))
}

pub(super) async fn metrics(app: AuthorizedApp) -> String {
    health::metrics(&app)
}
