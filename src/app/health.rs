//! How the daemon is doing, for those who look after it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{AuthorizedApp, Machine};
use branchyard_runs::SandboxReport;
use branchyard_runtime::background::LoopStatus;

/// Whether new runs can be had, and what there is to know about it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Readiness {
    /// `ready`, `draining`, `disk_full`, or `degraded` while a background loop is down.
    pub status: &'static str,
    pub runs: usize,
    pub viewers: usize,
    pub limits_held_by: String,
    pub sandbox: SandboxReport,
    pub repos: usize,
    pub disk_free_bytes: u64,
    pub shortage: Option<String>,
    /// What the daemon does by itself, and whether it does.
    pub background: Vec<LoopStatus>,
}

impl Readiness {
    pub fn is_ready(&self) -> bool {
        self.status == "ready"
    }
}

pub fn readiness(app: &AuthorizedApp) -> Readiness {
    let yard = &app.yard();
    let (runs, viewers) = yard.runs.census();
    let shortage = yard.margin.shortage().map(|shortage| shortage.to_string());
    Readiness {
        status: match (yard.runs.is_draining(), &shortage) {
            (true, _) => "draining",
            (false, Some(_)) => "disk_full",
            (false, None) if yard.loops.is_any_down() => "degraded",
            (false, None) => "ready",
        },
        runs,
        viewers,
        limits_held_by: yard.runs.held_by(),
        sandbox: yard.runs.sandbox(),
        repos: yard.repos.list().len(),
        disk_free_bytes: Machine::read(&yard.config.workspaces).disk_free_bytes,
        shortage,
        background: yard.loops.status(),
    }
}

/// All metrics. Counters are kept as things happen; what is a state is read when it is asked for.
pub fn metrics(app: &AuthorizedApp) -> String {
    let yard = &app.yard();
    let (runs, viewers) = yard.runs.census();
    let repos = yard.repos.list();
    let workspaces = repos.iter().map(|repo| yard.workspaces.on_disk(repo).len());
    for (name, value) in [
        ("branchyard_runs_live", runs),
        ("branchyard_viewers", viewers),
        ("branchyard_repos", repos.len()),
        ("branchyard_workspaces", workspaces.sum()),
        ("branchyard_workspaces_in_use", yard.workspaces.in_use()),
    ] {
        metrics::gauge!(name).set(as_f64(value as u64));
    }
    let free = Machine::read(&yard.config.workspaces).disk_free_bytes;
    metrics::gauge!("branchyard_disk_free_bytes").set(as_f64(free));
    branchyard_runtime::telemetry::metrics().render()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "gauges are floating-point by their format"
)]
fn as_f64(value: u64) -> f64 {
    value as f64
}
