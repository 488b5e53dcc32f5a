//! How the daemon is doing, for those who look after it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AuthorizedApp, Machine};
use branchyard_runs::SandboxReport;
use branchyard_runtime::background::LoopStatus;

/// Whether new runs can be had, and what there is to know about it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    /// `ready`, `draining`, `disk_full`, or `degraded` while a background loop is down.
    pub status: Cow<'static, str>,
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
        status: Cow::Borrowed(match (yard.runs.is_draining(), &shortage) {
            (true, _) => "draining",
            (false, Some(_)) => "disk_full",
            (false, None) if yard.loops.is_any_down() => "degraded",
            (false, None) => "ready",
        }),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use branchyard_reference::{Table, check, heading, source};

    /// What each metric counts or measures.
    const METRICS: [(&str, &str); 27] = [
        (
            "audit_lost_total",
            "changes that the audit log has no record of, since it could not be written",
        ),
        (
            "background_restarts_total",
            "background loops that ended and were started again",
        ),
        ("connections", "open connections"),
        (
            "connections_closed_for_others_total",
            "connections that were closed to make room for others",
        ),
        (
            "connections_turned_away_total",
            "connections that were refused, since all others were at work",
        ),
        (
            "disk_free_bytes",
            "free bytes on the disk of the workspaces",
        ),
        (
            "merged_branches_deleted_total",
            "branches of agents that were deleted after they were merged",
        ),
        ("reaped_bytes_total", "bytes that the reaper freed"),
        (
            "reaped_total",
            "workspaces, clones and build outputs that the reaper removed, by the rule that asked for it (`ttl`, `count`, `low_water`, `max_size`)",
        ),
        (
            "refusals_total",
            "requests that were refused, by the kind of refusal",
        ),
        (
            "refused_by_limit_total",
            "requests that were refused for a limit, by the error code",
        ),
        (
            "remote_failures_total",
            "calls to a remote that failed, by operation and kind of failure",
        ),
        (
            "remote_retries_total",
            "calls to a remote that were made again, by operation and kind of failure",
        ),
        ("repos", "repositories that the daemon knows"),
        ("runs_ended_total", "runs that ended, by end state"),
        ("runs_live", "runs that have not ended"),
        ("runs_reused_total", "runs that an earlier run answered"),
        ("runs_started_total", "runs that were started"),
        ("salvages_total", "salvages that were made, by reason"),
        (
            "silent_connections_total",
            "connections that were closed, since they sent no request and no credential",
        ),
        (
            "stalled_readers_total",
            "connections that were closed, since their peer took nothing of an answer",
        ),
        ("streams", "open streams"),
        ("viewers", "callers who follow a run or group"),
        ("workspaces", "workspaces on disk"),
        ("workspaces_in_use", "workspaces in use"),
        (
            "workspaces_pinned",
            "pinned workspaces, as of the last look of the reaper",
        ),
        (
            "yard_bytes",
            "bytes of all workspaces and clones, as of the last look of the reaper",
        ),
    ];

    #[test]
    fn the_reference_page_of_metrics_is_up_to_date() {
        let mut labels: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for text in source().values() {
            for (at, _) in text.match_indices("\"branchyard_") {
                let (name, rest) = text[at + 1..].split_once('"').unwrap_or_default();
                let found = labels.entry(name.to_owned()).or_default();
                let call = rest.split(';').next().unwrap_or_default();
                let labels = call.split("=>").map(|before| before.rsplit('"').nth(1));
                let count = call.matches("=>").count();
                for label in labels.take(count).flatten() {
                    let label = format!("`{label}`");
                    // A metric may be counted at several places.
                    if !found.contains(&label) {
                        found.push(label);
                    }
                }
            }
        }
        let described: Vec<_> = METRICS
            .iter()
            .map(|(name, _)| format!("branchyard_{name}"))
            .collect();
        assert_eq!(labels.keys().cloned().collect::<Vec<_>>(), described);
        let mut page = heading("Metrics");
        page.push_str("`GET /metrics` has these for Prometheus. It needs the scope `ops`.\n\n");
        let mut table = Table::new(&["metric", "type", "labels", "what it counts or measures"]);
        for ((name, labels), (_, about)) in labels.iter().zip(METRICS) {
            let kind = match name.ends_with("_total") {
                true => "counter",
                false => "gauge",
            };
            table.row(&[&format!("`{name}`"), kind, &labels.join(", "), about]);
        }
        page.push_str(&table.to_string());
        check("docs/reference/metrics.md", &page);
    }
}
