//! A listing says of each workspace what `git status` in it would, and of a remote what `git ls-remote` would.

use reqwest::Method;
use serde_json::Value;

use crate::measure::{Aim, Report, Row, Unit, interleave, thousands, timed};
use crate::setting::{Served, Site, git_in, quiet};

pub async fn measure(report: &mut Report) {
    workspaces(report).await;
    remote_branches(report).await;
}

async fn workspaces(report: &mut Report) {
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
            let (took, listed) = served.timed(Method::GET, path, None).await;
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

/// All pages of a remote with many refs.
async fn remote_branches(report: &mut Report) {
    let (branches, tags) = (report.scale.of(3_000, 30), report.scale.of(1_000, 10));
    let site = Site::small();
    site.yard.origin.add_refs(branches, tags);
    let url = site.url.clone();
    let served = site.serve().await;
    served.prepare("main").await;
    let dir = served.workspace("main");
    let [plain, yard] = interleave(report.scale.rounds(15), async |method, _| match method {
        0 => git_in(&dir, &["ls-remote", "--quiet", &url]),
        _ => {
            let (took, listed) = all_pages(&served).await;
            assert_eq!(listed, branches + 1);
            took
        }
    })
    .await;
    let name = format!("list {} branches of the remote", thousands(branches));
    report.add(
        Row::new(name, Unit::Seconds, &yard)
            .beside(
                format!("git ls-remote, with {} tags", thousands(tags)),
                &plain,
            )
            .aiming(Aim::RatioAtMost(3.0)),
    );
    served.stop().await;
}

/// How long they took, and how many there are.
async fn all_pages(served: &Served) -> (f64, usize) {
    let (mut took, mut count, mut after) = (0.0, 0, String::new());
    loop {
        let path = format!("/api/repos/demo/branches?remote=true&limit=500{after}");
        let (more, page) = served.timed(Method::GET, &path, None).await;
        let page: Value = serde_json::from_slice(&page).unwrap();
        took += more;
        count += page["items"].as_array().unwrap().len();
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return (took, count),
        }
    }
}
