//! What moves no file does not wait for a build of the same branch.

use serde_json::json;

use crate::support::{Options, Yard, git, problem_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_and_a_push_are_done_while_a_build_runs() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    yard.run("make", "topic", json!({"args": ["who"], "reuse": true}))
        .await;
    let body = json!({"args": ["gate"], "reuse": true});
    let mut build = yard.start_run("make", "topic", body.clone()).await;
    build.until_line("waiting").await;
    let workspace = yard.workspace("topic");
    std::fs::write(workspace.join("new.txt"), "new\n").unwrap();
    let committed = yard
        .verb(
            "topic",
            "commit",
            json!({"message": "new", "paths": ["new.txt"]}),
        )
        .await;
    let commit = committed["commit"].as_str().unwrap();
    yard.verb("topic", "tag", json!({"action": "create", "name": "v1"}))
        .await;
    yard.verb("topic", "push", json!({})).await;
    let arrived = git(&yard.origin.bare, &["rev-parse", "refs/heads/topic"]);
    assert_eq!(arrived, commit);
    // What would move files under the build says which run it would have to wait for.
    let path = "/api/repos/demo/branches/topic";
    let (status, problem) = problem_of(yard.delete(path).await).await;
    assert_eq!((status, &problem["code"]), (409, &json!("workspace_busy")));
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains(&build.run_id()),
        "{problem}"
    );

    std::fs::write(workspace.join("open"), "").unwrap();
    let ended = build.end().await.data;
    assert_eq!(
        (&ended["state"], &ended["head_moved"]),
        (&json!("succeeded"), &json!(true))
    );
    let record = yard
        .get_json(&format!("/api/runs/{}", build.run_id()))
        .await;
    assert_eq!(record["head_moved"], true);
    // It answers for no later one.
    let events = yard.run("make", "topic", body).await;
    let again = &events.last().unwrap().data;
    assert!(
        again["cached"].is_null() && again.get("head_moved").is_none(),
        "{again}"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verb_waits_for_a_build_as_long_as_the_operator_says() {
    let mut yard = Yard::with(Options {
        timeouts: "workspace = \"10ms\"".into(),
        ..Options::default()
    })
    .await;
    let mut build = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    build.until_line("waiting").await;
    let reset = json!({"mode": "hard", "confirm": true});
    let (status, problem) = problem_of(yard.try_verb("main", "reset", reset.clone()).await).await;
    assert_eq!((status, &problem["code"]), (409, &json!("workspace_busy")));
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    build.end().await;
    yard.verb("main", "reset", reset).await;
    yard.stop().await;
}
