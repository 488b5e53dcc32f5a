//! Is it alive, is it ready, how is it doing.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::app::{App, Machine};

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

pub(super) async fn healthz() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

pub(super) async fn readyz(State(app): State<App>) -> (StatusCode, Json<Value>) {
    let (runs, viewers) = app.runs.census();
    let shortage = app.margin.shortage().map(|shortage| shortage.to_string());
    let (status, word) = match (app.runs.is_draining(), &shortage) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        (false, Some(_)) => (StatusCode::SERVICE_UNAVAILABLE, "disk_full"),
        (false, None) => (StatusCode::OK, "ready"),
    };
    let body = json!({
        "status": word,
        "runs": runs,
        "viewers": viewers,
        "limits_held_by": app.runs.held_by(),
        "repos": app.repos.list().len(),
        "disk_free_bytes": Machine::read(&app.config.workspaces).disk_free_bytes,
        "shortage": shortage,
    });
    (status, Json(body))
}

/// Counters are kept as things happen; what is a state is read when it is asked for.
pub(super) async fn metrics(State(app): State<App>) -> String {
    let (runs, viewers) = app.runs.census();
    let repos = app.repos.list();
    let workspaces: usize = repos
        .iter()
        .map(|repo| app.workspaces.on_disk(repo).len())
        .sum();
    for (name, value) in [
        ("branchyard_runs_live", runs),
        ("branchyard_viewers", viewers),
        ("branchyard_repos", repos.len()),
        ("branchyard_workspaces", workspaces),
        ("branchyard_workspaces_in_use", app.workspaces.in_use()),
    ] {
        metrics::gauge!(name).set(as_f64(value as u64));
    }
    let free = Machine::read(&app.config.workspaces).disk_free_bytes;
    metrics::gauge!("branchyard_disk_free_bytes").set(as_f64(free));
    crate::telemetry::metrics().render()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "gauges are floating-point by their format"
)]
fn as_f64(value: u64) -> f64 {
    value as f64
}
