//! A `make` that does nothing, from the request to the end of its stream: what is left is what a run
//! costs, supervisor, journal and stream included.

use reqwest::Method;
use serde_json::{Value, json};

use crate::measure::{Aim, Report, Row, Unit, interleave, timed};
use crate::setting::{Served, Site, git_in, quiet};

pub async fn measure(report: &mut Report) {
    let rounds = report.scale.rounds(41);
    let files = report.scale.of(1_000, 30);
    let site = Site::generated(files, 0);
    let by_hand = site.by_hand();
    by_hand.add("main");
    let dir = by_hand.path("main");
    let served = site.serve().await;
    served.make("main", &["who"], "auto").await;
    let [plain, offline, updated, synced] = interleave(rounds, async |method, _| match method {
        0 => timed(|| quiet(&dir, "make", &["who"])),
        1 => served.make("main", &["who"], "none").await,
        2 => {
            git_in(&dir, &["fetch", "-q", "origin", "main"])
                + git_in(&dir, &["reset", "-q", "--hard", "FETCH_HEAD"])
                + timed(|| quiet(&dir, "make", &["who"]))
        }
        _ => served.make("main", &["who"], "auto").await,
    })
    .await;
    report.add(
        Row::new("no-op make, sync none", Unit::Seconds, &offline)
            .beside("make", &plain)
            .aiming(Aim::MoreAtMost(0.005)),
    );
    report.add(
        Row::new("no-op make, brought up to date", Unit::Seconds, &synced)
            .beside("fetch, reset --hard, make", &updated),
    );
    served.stop().await;
    contained(report).await;
}

/// The price of the sandbox.
async fn contained(report: &mut Report) {
    let rounds = report.scale.rounds(41);
    let site = |profile: &str| Site::with(&format!("[sandbox]\nprofile = {profile:?}\n"));
    let [bare, contained] = [site("none"), site("standard")];
    let contained = contained.serve().await;
    if !can_contain(&contained).await {
        report.skip("runs: this machine has no sandbox; `branchyard doctor` says why");
        contained.stop().await;
        return;
    }
    let bare = bare.serve().await;
    for served in [&bare, &contained] {
        served.make("main", &["who"], "auto").await;
    }
    let [without, with] = interleave(rounds, async |method, _| {
        let served = [&bare, &contained][method];
        served.make("main", &["who"], "none").await
    })
    .await;
    report.add(
        Row::new("no-op make, sandbox standard", Unit::Seconds, &with)
            .beside("sandbox none", &without),
    );
    for (name, verb, body) in git_verbs() {
        let path = format!("/api/repos/demo/branches/main/git/{verb}");
        let [without, with] = interleave(rounds, async |method, _| {
            let served = [&bare, &contained][method];
            served.timed(Method::POST, &path, Some(&body)).await.0
        })
        .await;
        report.add(
            Row::new(format!("{name}, git confined"), Unit::Seconds, &with)
                .beside("not confined", &without),
        );
    }
    bare.stop().await;
    contained.stop().await;
}

/// Verbs that start a git which looks at the worktree: one of them to read, one to write, and one that needs two.
fn git_verbs() -> [(&'static str, &'static str, Value); 3] {
    let commit = json!({ "message": "nothing", "allow_empty": true, "all": true });
    [
        (
            "status with ignored files",
            "status",
            json!({ "ignored": true }),
        ),
        ("add of everything", "add", json!({ "all": true })),
        ("commit of all changes", "commit", commit),
    ]
}

async fn can_contain(served: &Served) -> bool {
    let ready: Value = serde_json::from_slice(&served.get("/readyz").await).unwrap();
    let mechanisms = ready["sandbox"]["mechanisms"].as_array().unwrap();
    let has = |name: &str| {
        let mut named = mechanisms.iter().filter(|one| one["name"] == name);
        named.any(|one| one["available"] == true)
    };
    has("bubblewrap") && has("user_namespaces")
}
