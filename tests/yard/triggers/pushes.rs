//! Pushes from elsewhere and through the daemon, of branches and tags.

use serde_json::{Value, json};

use super::{ON_PUSH, PIPELINES, watching};
use crate::support::text_of;

#[tokio::test]
async fn a_push_starts_one_pipeline_and_what_was_there_before_starts_none() {
    let mut yard = watching(ON_PUSH, "poll = \"100ms\"").await;
    yard.asked_again().await;
    assert_eq!(yard.get_json(PIPELINES).await["items"], json!([]));
    let commit = yard.origin.branch("feature/login");
    let first = yard.ended_pipelines(1).await.remove(0);
    for (key, value) in [
        ("branch", json!("feature/login")),
        ("ref", json!("refs/heads/feature/login")),
        ("commit", json!(commit)),
        ("event", json!("push")),
        ("principal", json!("poll")),
        ("state", json!("succeeded")),
    ] {
        assert_eq!(first[key], value, "{key}: {first:#}");
    }
    yard.asked_again().await;
    yard.asked_again().await;
    assert_eq!(yard.ended_pipelines(1).await.len(), 1);
    // By force, and back.
    yard.origin.at("main");
    yard.origin.push("feature/login");
    yard.ended_pipelines(2).await;
    yard.origin.at(&commit);
    yard.origin.push("feature/login");
    let all = yard.ended_pipelines(3).await;
    assert_eq!(all[2]["commit"], json!(commit));
    yard.origin.delete("feature/login");
    yard.asked_again().await;
    assert_eq!(yard.ended_pipelines(3).await.len(), 3);
    yard.stop().await;
}

#[tokio::test]
async fn filters_of_branches_tags_and_paths_count_and_the_event_is_told() {
    let workflow = r#"
on:
  push:
    branches: [main, "release/**"]
    tags: ["v*"]
    paths: ["src/**"]
jobs:
  test:
    runs-on: linux
    steps:
      - run: echo "$GITHUB_REF $BEFORE $MESSAGE $TYPE"
        env:
          BEFORE: ${{ github.event.before }}
          MESSAGE: ${{ github.event.head_commit.message }}
          TYPE: ${{ github.ref_type }}
"#;
    let mut yard = watching(workflow, "poll = \"100ms\"").await;
    let before = yard.origin.head();
    let push = |path: &str, branch: &str, message: &str| {
        yard.origin.write(path, format!("{path} {message}"));
        let commit = yard.origin.commit(message);
        yard.origin.push(branch);
        commit
    };
    push("docs/a.md", "main", "docs alone");
    yard.asked_again().await;
    push("src/a.c", "feature/x", "another branch");
    yard.asked_again().await;
    push("src/b.c", "main", "quiet [skip ci]");
    yard.asked_again().await;
    assert_eq!(yard.get_json(PIPELINES).await["items"], json!([]));
    let commit = push("src/c.c", "main", "code");
    let first = yard.ended_pipelines(1).await.remove(0);
    assert_eq!(first["commit"], json!(commit));
    let said = yard.said(&first).await;
    assert!(said.starts_with("refs/heads/main "), "{said}");
    assert!(said.ends_with(" code branch\n"), "{said}");
    assert!(!said.contains(&before), "{said}");
    yard.origin.git(&["tag", "-a", "-m", "one", "v1.2"]);
    yard.origin.git(&["tag", "other"]);
    yard.origin.git(&["push", "-q", "origin", "v1.2", "other"]);
    let tag = yard.ended_pipelines(2).await.remove(1);
    assert_eq!(tag["branch"], "tags/v1.2");
    assert_eq!(tag["ref"], "refs/tags/v1.2");
    assert_eq!(tag["commit"], json!(commit));
    assert!(yard.said(&tag).await.ends_with("code tag\n"));
    yard.stop().await;
}

#[tokio::test]
async fn a_push_through_the_daemon_is_heard_of_at_once() {
    let mut yard = watching(ON_PUSH, "poll = \"1h\"").await;
    let main = yard.origin.head();
    let created = json!({ "from": "main" });
    yard.put("/api/repos/demo/branches/feature%2Fa", created)
        .await;
    yard.verb(
        "feature/a",
        "commit",
        json!({ "message": "Mine", "allow_empty": true }),
    )
    .await;
    yard.verb("feature/a", "push", json!({})).await;
    let by_verb = yard.ended_pipelines(1).await.remove(0);
    assert_eq!(
        (&by_verb["principal"], &by_verb["branch"]),
        (&json!("push"), &json!("feature/a"))
    );
    assert_ne!(by_verb["commit"], json!(main));
    yard.verb(
        "feature/a",
        "commit",
        json!({ "message": "More", "allow_empty": true }),
    )
    .await;
    let events = yard
        .run("git", "feature/a", json!({ "operation": "push" }))
        .await;
    assert!(text_of(&events).contains("feature/a"), "{events:?}");
    yard.ended_pipelines(2).await;
    yard.stop().await;
}

#[tokio::test]
async fn a_file_that_is_wrong_is_a_rejected_pipeline_that_says_where() {
    let mut yard = watching(ON_PUSH, "poll = \"100ms\"").await;
    yard.origin.workflow(
        "bad.yml",
        "on: push\njobs: {a: {runs-on: linux, stepz: []}}\n",
    );
    let all = yard.ended_pipelines(2).await;
    let bad = all.iter().find(|it| it["state"] == "rejected").unwrap();
    assert_eq!(bad["file"], ".branchyard/workflows/bad.yml");
    let detail = bad["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("bad.yml:2:"), "{detail}");
    let id = bad["pipeline_id"].as_str().unwrap();
    let stream = yard.get(&format!("/stream/pipelines/{id}")).await;
    assert!(stream.text().await.unwrap().contains("rejected"));
    let retried = yard
        .post(&format!("/api/pipelines/{id}/retry"), json!({}))
        .await;
    assert_eq!(retried.status(), 409);
    yard.asked_again().await;
    assert_eq!(yard.ended_pipelines(2).await.len(), 2);
    yard.stop().await;
}

#[tokio::test]
async fn a_push_can_start_make_and_a_newer_one_ends_it() {
    let rules = "poll = \"100ms\"\n[repos.demo.pipelines.on_push.make]\nbranches = [\"main\"]\nargs = [\"gate\"]\nsupersede = true\n";
    let mut yard = watching(
        "on: workflow_dispatch\njobs: {a: {runs-on: linux, steps: [{run: \"true\"}]}}\n",
        rules,
    )
    .await;
    let runs = |yard: &Value| yard["items"].as_array().unwrap().clone();
    yard.origin.commit("one");
    yard.origin.push("main");
    yard.until_json("/api/runs", |page| {
        runs(page).iter().any(|run| run["state"] == "running")
    })
    .await;
    yard.origin.commit("two");
    yard.origin.push("main");
    let page = yard
        .until_json("/api/runs", |page| {
            let runs = runs(page);
            runs.len() == 2 && runs.iter().any(|run| run["state"] == "cancelled")
        })
        .await;
    let reason = runs(&page)
        .iter()
        .find(|run| run["state"] == "cancelled")
        .unwrap()["reason"]
        .clone();
    assert!(reason.as_str().unwrap().contains("superseded"), "{reason}");
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    yard.until_json("/api/runs", |page| {
        runs(page).iter().all(|run| run["ended_at"].is_string())
    })
    .await;
    yard.stop().await;
}
