//! What it costs to save changed and untracked files before they are discarded.

use std::path::Path;
use std::time::Instant;

use reqwest::Method;
use serde_json::{Value, json};

use crate::measure::{Report, Row, Unit, interleave, timed};
use crate::setting::{Site, quiet};
use crate::support::git;

pub async fn measure(report: &mut Report) {
    let (rounds, changes) = (report.scale.rounds(15), report.scale.of(100, 3));
    let site = Site::generated(report.scale.of(1_000, 30), 0);
    let by_hand = site.by_hand();
    by_hand.add("main");
    let home = by_hand.path("main");
    let served = site.serve().await;
    served.make("main", &["who"], "auto").await;
    let own = served.workspace("main");
    let files = git(&own, &["ls-files", "area*"]);
    let files: Vec<_> = files.lines().take(changes).collect();
    let [plain, yard] = interleave(rounds, async |method, round| match method {
        0 => {
            dirty(&home, &files, round);
            let took = timed(|| {
                quiet(&home, "git", &["stash", "push", "-q", "-u"]);
                quiet(&home, "git", &["fetch", "-q", "origin", "main"]);
                quiet(&home, "git", &["reset", "-q", "--hard", "FETCH_HEAD"]);
                quiet(&home, "make", &["who"]);
            });
            git(&home, &["stash", "drop", "-q"]);
            took
        }
        _ => {
            dirty(&own, &files, round);
            let began = Instant::now();
            let body = json!({ "args": ["who"], "sync": "reset", "clean": true });
            let path = "/stream/repos/demo/branches/main/make";
            let stream = served.ask(Method::POST, path, Some(&body)).await;
            let took = began.elapsed().as_secs_f64();
            let stream = String::from_utf8_lossy(&stream);
            assert!(stream.contains("\"state\":\"succeeded\""), "{stream}");
            assert_eq!(git(&own, &["status", "--porcelain"]), "");
            took
        }
    })
    .await;
    let saved: Value = serde_json::from_slice(&served.get("/api/salvage").await).unwrap();
    assert_eq!(saved["items"].as_array().unwrap().len(), rounds);
    report.add(
        Row::new(
            format!("reset, clean, make; {changes} changed, {changes} new"),
            Unit::Seconds,
            &yard,
        )
        .beside("stash -u, reset, make", &plain),
    );
    served.stop().await;
}

fn dirty(dir: &Path, files: &[&str], round: usize) {
    for (n, file) in files.iter().enumerate() {
        std::fs::write(dir.join(file), format!("edited {round}\n")).unwrap();
        std::fs::write(dir.join(format!("new-{n}.c")), format!("new {round} {n}\n")).unwrap();
    }
}
