//! Is it alive, is it ready, how is it doing.

use std::borrow::Cow;

use axum::Json;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::HttpResult;
use super::route::Access::{Needs, Open};
use super::route::{Route, reads};
use crate::app::{AuthorizedApp, Load, Readiness, health, load};
use branchyard_model::Scope;

pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("healthz", "Is it alive")
            .gives("It is.")
            .get("/healthz", Open, healthz),
        reads("readyz", "Is it ready, and how busy")
            .gives("It takes new runs.")
            .or::<Readiness>(
                503,
                "It is being stopped, or its disk is too full for new work.",
            )
            .get("/readyz", Needs(Scope::Ops), readyz),
        reads("metrics", "Counters and gauges for Prometheus")
            .gives("The metrics, as text.")
            .get("/metrics", Needs(Scope::Ops), metrics),
        reads(
            "machine",
            "How busy the machine is, and what fills its disk",
        )
        .gives("As it is now.")
        .get("/api/machine", Needs(Scope::RepoRead), machine),
    ]
}

pub(super) fn welcome() -> &'static str {
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

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Alive {
    /// `ok`.
    pub status: Cow<'static, str>,
    pub version: Cow<'static, str>,
}

async fn healthz() -> Json<Alive> {
    Json(Alive {
        status: "ok".into(),
        version: env!("CARGO_PKG_VERSION").into(),
    })
}

async fn readyz(app: AuthorizedApp) -> (StatusCode, Json<Readiness>) {
    let readiness = health::readiness(&app);
    let status = match readiness.is_ready() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(readiness))
}

/// How busy the machine is, and what fills its disk.
async fn machine(app: AuthorizedApp) -> HttpResult<Json<Load>> {
    Ok(Json(load::current(&app).await?))
}

async fn metrics(app: AuthorizedApp) -> String {
    health::metrics(&app)
}
