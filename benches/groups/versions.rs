//! This program beside an earlier one, `BENCH_BEFORE`: both daemons are asked the same in turn.

use std::path::Path;
use std::time::Instant;

use tokio::task::JoinSet;

use crate::measure::{Report, Row, Series, Unit, interleave};
use crate::setting::{Ask, Served, Site};
use crate::support::PROGRAM;

/// Requests that one count of the daemon's processor time is taken over: what a daemon does on the side is spread
/// over them.
const ASKED_AT_ONCE: usize = 10;
/// Of so many, each daemon's time is taken.
const NEW_WORKSPACES: usize = 15;
/// So many callers ask at the same time.
const CALLERS: usize = 16;

pub async fn measure(report: &mut Report) {
    let before = match &report.scale.before {
        Some(before) => before.clone(),
        None if report.scale.is_smoke() => PROGRAM.into(),
        None => {
            report.skip("versions: BENCH_BEFORE names no earlier program to compare with");
            return;
        }
    };
    let sizes: &[usize] = if report.scale.is_smoke() {
        &[30]
    } else {
        &[1_000, 20_000]
    };
    for files in sizes {
        let served = async |program: &Path| {
            let mut site = Site::generated(*files, NEW_WORKSPACES);
            site.start_cold();
            site.serve_by(program).await
        };
        let daemons = [served(&before).await, served(Path::new(PROGRAM)).await];
        compare(report, &daemons).await;
        for daemon in daemons {
            daemon.stop().await;
        }
    }
}

async fn compare(report: &mut Report, daemons: &[Served; 2]) {
    let label = daemons[0].site.label.clone();
    let mut tell = |name: String, [before, after]: [Series; 2]| {
        let name = format!("{name}, {label}");
        report.add(Row::new(name, Unit::Seconds, &after).beside("before", &before));
    };
    let rounds = |most| if label.starts_with("30 ") { 2 } else { most };
    // Each of a branch of its own, and none is removed: ext4 is slow where files were just deleted.
    let new = interleave(rounds(NEW_WORKSPACES), async |method, round| {
        daemons[method].prepare(&format!("bench-{round}")).await
    })
    .await;
    tell("a new workspace, no sibling".to_owned(), new);
    for daemon in daemons {
        daemon.make("main", &["who"], "auto").await;
        std::fs::write(daemon.workspace("main").join("name.txt"), "changed\n").unwrap();
    }
    for ask in Ask::ALL {
        let times = interleave(rounds(101), async |method, _| {
            ask.once(&daemons[method]).await
        })
        .await;
        let work = interleave(rounds(51), async |method, _| {
            let served = &daemons[method];
            let before = served.processor_time();
            for _ in 0..ASKED_AT_ONCE {
                ask.once(served).await;
            }
            (served.processor_time() - before) / ASKED_AT_ONCE as f64
        })
        .await;
        let together = interleave(rounds(31), async |method, _| {
            let began = Instant::now();
            let mut asking = JoinSet::new();
            for _ in 0..CALLERS {
                let asker = daemons[method].asker();
                asking.spawn(async move { ask.once(&asker).await });
            }
            asking.join_all().await;
            began.elapsed().as_secs_f64()
        })
        .await;
        let name = ask.name();
        tell(name.to_owned(), times);
        tell(format!("{name}, processor time"), work);
        tell(format!("{name}, {CALLERS} callers"), together);
    }
}
