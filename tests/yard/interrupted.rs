//! Whoever goes away in the middle leaves nothing half done.

use reqwest::Method;
use serde_json::json;

use crate::support::{Event, Yard, git};

const FILES: usize = 1500;

/// Pushes a commit that changes many files, so that moving to it takes a moment.
fn push_many(yard: &Yard, content: &str) -> String {
    yard.origin.at("main");
    for n in 0..FILES {
        yard.origin
            .write(&format!("many/{n}.txt"), format!("{content} {n}\n"));
    }
    let commit = yard.origin.commit(content);
    yard.origin.push("main");
    commit
}

fn warnings(events: &[Event]) -> Vec<&str> {
    events
        .iter()
        .filter(|e| e.kind == "warning")
        .filter_map(|e| e.data["code"].as_str())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_cancelled_while_files_move_leaves_a_whole_tree() {
    let mut yard = Yard::new().await;
    push_many(&yard, "before");
    yard.make("main", &["who"]).await;
    let after = push_many(&yard, "after");
    let mut run = yard
        .start_run("make", "main", json!({"args": ["who"]}))
        .await;
    run.until(|e| e.data["phase"] == "checkout").await;
    yard.post(&format!("/api/runs/{}/cancel", run.run_id()), json!({}))
        .await;
    run.end().await;

    let events = yard.make("main", &["who"]).await;
    assert_eq!(warnings(&events), Vec::<&str>::new());
    assert_eq!(events.last().unwrap().data["commit"], after.as_str());
    assert_eq!(git(&yard.workspace("main"), &["status", "--porcelain"]), "");
    let last = yard
        .workspace("main")
        .join(format!("many/{}.txt", FILES - 1));
    assert_eq!(
        std::fs::read_to_string(last).unwrap(),
        format!("after {}\n", FILES - 1)
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_leaves_during_a_removal_cannot_pull_files_from_under_a_build() {
    let mut yard = Yard::new().await;
    let commit = push_many(&yard, "content");
    for patience in [0, 1, 2, 4, 8, 16] {
        yard.make("main", &["who"]).await;
        let removal = yard
            .request(Method::DELETE, "/api/repos/demo/branches/main")
            .timeout(std::time::Duration::from_millis(patience))
            .send();
        // Whether it was in time or not: whatever it began, it also ends.
        let _ = removal.await;
        let events = yard.make("main", &["who"]).await;
        assert_eq!(
            events.last().unwrap().data["state"],
            "succeeded",
            "{events:?}"
        );
        assert_eq!(git(&yard.workspace("main"), &["rev-parse", "HEAD"]), commit);
        assert_eq!(git(&yard.workspace("main"), &["status", "--porcelain"]), "");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_run_outlives_it_even_if_it_succeeded() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write(
        "Makefile",
        "leave:\n\t@(setsid sleep 300 >/dev/null 2>&1 </dev/null &); echo done\n",
    );
    yard.origin.commit("leave");
    yard.origin.push("main");
    let events = yard.make("main", &["leave"]).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    // `Yard::stop` finds no process with its directory here; this one has it.
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_queued_behind_a_push_builds_what_was_pushed() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    yard.make("topic", &["who"]).await;
    let workspace = yard.workspace("topic");
    std::fs::write(workspace.join("name.txt"), "mine\n").unwrap();
    git(&workspace, &["commit", "-q", "-am", "mine"]);
    let mine = git(&workspace, &["rev-parse", "HEAD"]);
    let mut first = yard
        .start_run("make", "topic", json!({"args": ["gate"]}))
        .await;
    first.until_line("waiting").await;
    let mut push = yard
        .start_run("git", "topic", json!({"operation": "push"}))
        .await;
    push.until(|e| e.data["position"] == 1).await;
    let mut last = yard
        .start_run("make", "topic", json!({"args": ["who"]}))
        .await;
    last.until(|e| e.data["position"] == 2).await;
    std::fs::write(workspace.join("open"), "").unwrap();
    assert_eq!(push.end().await.data["state"], "succeeded");
    assert_eq!(last.end().await.data["commit"], mine.as_str());
    assert!(last.events.iter().any(|e| e.data["line"] == "mine"));
    first.end().await;
    yard.stop().await;
}
