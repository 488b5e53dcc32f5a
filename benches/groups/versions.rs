//! This program beside an earlier one, `BENCH_BEFORE`: both daemons are asked the same in turn.

use std::path::Path;

use crate::measure::{Report, Row, Unit, interleave};
use crate::setting::{Ask, Site};
use crate::support::PROGRAM;

/// Requests that one count of the daemon's processor time is taken over: what a daemon does on the side is spread
/// over them.
const ASKED_AT_ONCE: usize = 10;

pub async fn measure(report: &mut Report) {
    let before = match &report.scale.before {
        Some(before) => before.clone(),
        None if report.scale.is_smoke() => PROGRAM.into(),
        None => {
            report.skip("versions: BENCH_BEFORE names no earlier program to compare with");
            return;
        }
    };
    let files = report.scale.of(1_000, 30);
    let [earlier, now] = [&before, Path::new(PROGRAM)].map(|program| async move {
        let served = Site::generated(files, 0).serve_by(program).await;
        served.make("main", &["who"], "auto").await;
        served
    });
    let (earlier, now) = (earlier.await, now.await);
    let rounds = report.scale.rounds(101);
    for ask in Ask::ALL {
        let times = interleave(rounds, async |method, _| {
            ask.once([&earlier, &now][method]).await
        })
        .await;
        let work = interleave(rounds, async |method, _| {
            let served = [&earlier, &now][method];
            let before = served.processor_time();
            for _ in 0..ASKED_AT_ONCE {
                ask.once(served).await;
            }
            (served.processor_time() - before) / ASKED_AT_ONCE as f64
        })
        .await;
        let name = ask.name();
        for (name, [before, after]) in [
            (name.to_owned(), times),
            (format!("{name}, processor time"), work),
        ] {
            report.add(Row::new(name, Unit::Seconds, &after).beside("before", &before));
        }
    }
    earlier.stop().await;
    now.stop().await;
}
