//! What a topic branch makes never answers for a protected one, whatever it put where the other looks.

use serde_json::json;

use super::{FILE, text};
use crate::support::Yard;

fn workflow(yard: &Yard, rest: &str) -> String {
    format!(
        r#"on: workflow_dispatch
jobs:
  build:
    runs-on: linux
    inputs: ["src/**"]
    steps:
{rest}
      - run: echo ran >> {0}; cat cached/x >> {0} 2>/dev/null || true
      - uses: actions/upload-artifact@v4
        with: {{name: made, path: name.txt}}
"#,
        yard.mark("ran").display()
    )
}

/// Pushes this to a topic branch, beside `main` with its own.
async fn on(yard: &Yard, branch: &str) -> super::Ended {
    let _ = std::fs::remove_file(yard.mark("ran"));
    yard.pipeline(json!({"branch": branch})).await.green()
}

#[tokio::test]
async fn an_open_result_answers_no_protected_job() {
    let mut yard = Yard::new().await;
    yard.workflow(&workflow(&yard, ""));
    // The same commit under another name; a changed file outside of `inputs`; and the same tree.
    yard.origin.push("same");
    yard.origin.write("name.txt", "evil\n");
    yard.origin.commit("outside of inputs");
    yard.origin.push("topic");
    for branch in ["same", "topic"] {
        on(&yard, branch).await;
    }
    let main = on(&yard, "main").await;
    assert_eq!(main.states(), ["build succeeded"], "{:#}", main.0);
    assert_eq!(
        yard.artifact_file(main.id(), "made", "name.txt").await,
        "main\n"
    );
    // The other way round it does, and among themselves.
    yard.origin.at("HEAD~1");
    yard.origin.push("third");
    let third = on(&yard, "third").await;
    assert_eq!(third.states(), ["build reused"]);
    assert_eq!(third.job("build")["answered_by"]["pipeline"], main.id());
    // An answer is no result: main is not answered by one of those either.
    assert_eq!(
        yard.artifact_file(third.id(), "made", "name.txt").await,
        "main\n"
    );
    yard.stop().await;
}

/// A commit on a protected branch that the remote does not have is no protected one.
#[tokio::test]
async fn a_commit_that_was_not_pushed_is_open() {
    let mut yard = Yard::new().await;
    yard.workflow(&workflow(&yard, ""));
    yard.put("/api/repos/demo/branches/main", json!({})).await;
    let workspace = yard.workspace("main");
    std::fs::write(workspace.join("name.txt"), "local\n").unwrap();
    crate::support::git(&workspace, &["commit", "-qam", "local"]);
    let local = on(&yard, "main").await;
    assert_eq!(local.states(), ["build succeeded"]);
    assert_eq!(
        yard.artifact_file(local.id(), "made", "name.txt").await,
        "local\n"
    );
    let head = yard.origin.head();
    let pushed = yard
        .pipeline(json!({"branch": "main", "commit": head}))
        .await
        .green();
    assert_eq!(pushed.states(), ["build succeeded"]);
    assert_eq!(
        yard.artifact_file(pushed.id(), "made", "name.txt").await,
        "main\n"
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_poisoned_cache_reaches_no_protected_branch() {
    let mut yard = Yard::new().await;
    let cache = "      - uses: actions/cache@v4\n        id: cache\n        with: {path: cached, key: k, restore-keys: k}\n";
    let fill = |word: &str| {
        format!(
            "{cache}      - {{if: \"steps.cache.outputs.cache-hit != 'true'\", run: \"mkdir -p cached; echo {word} > cached/x\"}}\n"
        )
    };
    // The workflow is the same on both; what differs is outside of `inputs`.
    let script = "\"mkdir -p cached; cat name.txt > cached/x\"";
    let same = format!(
        "{cache}      - {{if: \"steps.cache.outputs.cache-hit != 'true'\", run: {script}}}\n"
    );
    yard.workflow(&workflow(&yard, &same));
    yard.origin.write("name.txt", "poison\n");
    yard.origin.commit("poison");
    yard.origin.push("topic");
    on(&yard, "topic").await;
    assert_eq!(yard.marked("ran"), ["ran", "poison"]);
    // A branch beside it has none of its caches either.
    yard.origin.at("HEAD~1");
    yard.origin.push("other");
    on(&yard, "other").await;
    assert!(!yard.marked("ran").contains(&"poison".to_owned()));
    let main = on(&yard, "main").await;
    assert_eq!(main.states(), ["build succeeded"]);
    assert_eq!(yard.marked("ran"), ["ran", "main"]);
    // Main's cache is there for branches that have none of their own.
    yard.origin.write(FILE, workflow(&yard, &fill("own")));
    yard.origin.commit("new");
    yard.origin.push("fresh");
    on(&yard, "fresh").await;
    assert_eq!(yard.marked("ran"), ["ran", "main"]);
    // A job that restored one answers for no other.
    let again = on(&yard, "fresh").await;
    assert_eq!(text(&again.job("build")["state"]), "succeeded");
    yard.stop().await;
}

/// A result of one branch is for those who may see that branch.
#[tokio::test]
async fn a_bounded_token_is_answered_by_its_own_branches_alone() {
    let mut yard = Yard::new().await;
    yard.workflow(&workflow(&yard, ""));
    yard.origin.push("secret");
    yard.origin.push("mine");
    let secret = on(&yard, "secret").await;
    let token = yard
        .token(json!({"role": "dev", "name": "bounded", "repos": ["demo"], "branches": ["mine"]}))
        .await;
    let start = async |branch: &str| {
        let body = Some(json!({"branch": branch}));
        yard.asked_by(&token, reqwest::Method::POST, super::PIPELINES, body)
            .await
    };
    let mine = crate::support::json_of(start("mine").await).await;
    let mine = yard.pipeline_ended(text(&mine["pipeline_id"])).await;
    assert_eq!(mine.states(), ["build succeeded"]);
    assert!(!mine.0.to_string().contains(secret.id()));
    let again = crate::support::json_of(start("mine").await).await;
    let again = yard.pipeline_ended(text(&again["pipeline_id"])).await;
    assert_eq!(again.states(), ["build reused"]);
    assert_eq!(again.job("build")["answered_by"]["pipeline"], mine.id());
    yard.stop().await;
}
