//! A listing says of each workspace what `git status` in it would.

use serde_json::Value;

use crate::measure::{Report, Row, Unit, interleave, timed};
use crate::setting::{Site, quiet};

pub async fn measure(report: &mut Report) {
    let count = report.scale.of(50, 2);
    let served = Site::generated(report.scale.of(1_000, 30), count)
        .serve()
        .await;
    let branches: Vec<_> = (0..count).map(|n| format!("bench-{n}")).collect();
    for branch in &branches {
        served.prepare(branch).await;
    }
    let [plain, yard] = interleave(report.scale.rounds(15), async |method, _| match method {
        0 => timed(|| {
            for branch in &branches {
                let dir = served.workspace(branch);
                quiet(&dir, "git", &["status", "--porcelain", "--ignored"]);
            }
        }),
        _ => {
            let path = "/api/repos/demo/branches";
            let (took, listed) = served.timed(reqwest::Method::GET, path, None).await;
            let listed: Value = serde_json::from_slice(&listed).unwrap();
            assert_eq!(listed["items"].as_array().unwrap().len(), count);
            took
        }
    })
    .await;
    report.add(
        Row::new(format!("list {count} workspaces"), Unit::Seconds, &yard)
            .beside(format!("{count} times git status"), &plain),
    );
    served.stop().await;
}
