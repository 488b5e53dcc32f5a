//! This program beside an earlier one, `BENCH_BEFORE`: both daemons are asked the same in turn.

use std::path::Path;

use crate::measure::{Report, Row, Unit, interleave};
use crate::setting::{Ask, Site};
use crate::support::PROGRAM;

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
        let [before, after] = interleave(rounds, async |method, _| {
            ask.once([&earlier, &now][method]).await
        })
        .await;
        let row = Row::new(ask.name(), Unit::Seconds, &after).beside("before", &before);
        report.add(row);
    }
    earlier.stop().await;
    now.stop().await;
}
