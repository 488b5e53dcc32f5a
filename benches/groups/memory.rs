//! What the daemon holds: with nothing to do, and for each run, viewer and workspace.

use std::sync::Arc;

use super::streaming::viewers::Viewers;
use crate::measure::{Aim, Report, Row, Series, Unit};
use crate::setting::{Served, Site};
use crate::support::{kib, until};

pub async fn measure(report: &mut Report) {
    let (mut idle, mut own) = <(Series, Series)>::default();
    let (mut workspaces, mut runs) = <(Series, Series)>::default();
    let (mut supervisors, mut viewers) = <(Series, Series)>::default();
    let count = report.scale.of(50, 2);
    let gates = report.scale.of(20, 2);
    let at_once = report.scale.of(1_000, 5);
    for _ in 0..report.scale.rounds(3) {
        let served = Site::generated(report.scale.of(1_000, 30), count)
            .serve()
            .await;
        served.make("main", &["who"], "auto").await;
        let before = served.memory();
        idle.push(before);
        own.push(served.own_memory());
        for n in 0..count {
            served.prepare(&format!("bench-{n}")).await;
        }
        let prepared = served.memory();
        workspaces.push((prepared - before) / count as f64);
        let under_way = start_gates(&served, gates).await;
        runs.push((served.memory() - prepared) / gates as f64);
        let own = under_way.iter().map(|run| supervisor_memory(&served, run));
        supervisors.push(own.sum::<f64>() / gates as f64);
        let before = served.memory();
        let said: Arc<[u8]> = Arc::from(&b"waiting\npassed\n"[..]);
        let mut all = Viewers::of(&served, &under_way[0], at_once, &said).await;
        viewers.push((served.memory() - before) / at_once as f64);
        for (n, run) in under_way.iter().enumerate() {
            std::fs::write(served.workspace(&format!("bench-{n}")).join("open"), "").unwrap();
            served.ended(run).await;
        }
        all.end().await;
        served.stop().await;
    }
    let mib = 1024.0 * 1024.0;
    report.add(Row::new("idle daemon", Unit::Bytes, &idle).aiming(Aim::AtMost(30.0 * mib)));
    report.add(Row::new(
        "idle daemon, without the program",
        Unit::Bytes,
        &own,
    ));
    report.add(Row::new(
        format!("per workspace, of {count}"),
        Unit::Bytes,
        &workspaces,
    ));
    report.add(Row::new(format!("per run, of {gates}"), Unit::Bytes, &runs));
    report.add(Row::new("supervisor of a run", Unit::Bytes, &supervisors));
    report.add(
        Row::new(format!("per viewer, of {at_once}"), Unit::Bytes, &viewers)
            .aiming(Aim::AtMost(65536.0)),
    );
}

/// Runs that wait, one on each branch.
async fn start_gates(served: &Served, count: usize) -> Vec<String> {
    let mut runs = Vec::new();
    for n in 0..count {
        runs.push(served.make_detached(&format!("bench-{n}"), &["gate"]).await);
    }
    for run in &runs {
        let alive = served.site.yard.run_dir(run).join("alive");
        let is_told = || std::fs::metadata(&alive).is_ok_and(|file| file.len() > 0);
        until("the run is supervised", is_told).await;
    }
    runs
}

/// Its share of memory: most of it is the program, which all of them have in common.
fn supervisor_memory(served: &Served, run: &str) -> f64 {
    let pid = served.site.yard.supervisor_of(run);
    kib(u32::try_from(pid).unwrap(), "smaps_rollup", "Pss:") as f64 * 1024.0
}
