//! reflog.

use serde_json::{Value, json};

use super::each;
use crate::support::{Agent, Yard, git, problem_of};

#[tokio::test]
async fn what_was_left_behind_is_found_again() {
    let mut yard = Yard::new().await;
    yard.verb("main", "log", json!({})).await;
    let workspace = yard.workspace("main");
    for n in 0..30 {
        git(
            &workspace,
            &["commit", "-q", "--allow-empty", "-m", &format!("work {n}")],
        );
    }
    let lost = git(&workspace, &["rev-parse", "HEAD"]);
    git(&workspace, &["reset", "-q", "HEAD~3"]);

    let log = yard.verb("main", "reflog", json!({ "count": 2 })).await;
    assert_eq!(log["ref"], "refs/heads/main");
    let entries = log["entries"].as_array().unwrap();
    assert_eq!(entries[0]["old_id"], lost);
    assert_eq!(entries[1]["id"], lost);
    assert_eq!(entries[1]["selector"], "main@{1}");
    assert_eq!(entries[1]["message"], "commit: work 29");
    assert_eq!(entries[1]["who"]["name"], "Test");
    assert_eq!(log["next"], 2);

    let agent = Agent::of_git(&yard, "main");
    for name in ["HEAD", "main", "refs/heads/main", "origin/main"] {
        let query = json!({ "ref": name, "count": 1000 });
        let told = agent.call("git_reflog", query.clone()).await;
        let expected = git(&workspace, &["log", "-g", "--format=%H", name]);
        let whole = yard.verb("main", "reflog", query).await;
        assert_eq!(
            each(&whole["entries"], "id"),
            expected.lines().collect::<Vec<_>>()
        );
        assert_eq!(whole["total"], expected.lines().count());
        let shown = told["entries"].as_array().unwrap().len();
        let next = if shown < expected.lines().count() {
            json!(shown)
        } else {
            Value::Null
        };
        assert_eq!(told["next"], next);
    }
    let brief = yard
        .verb("main", "reflog", json!({ "verbosity": "minimal" }))
        .await;
    assert_eq!(brief["entries"][0]["who"], Value::Null);
    yard.stop().await;
}

#[tokio::test]
async fn looking_for_a_log_makes_none() {
    let mut yard = Yard::new().await;
    yard.verb("main", "log", json!({})).await;
    let store = yard.workspaces.join("demo/.git");
    for name in [
        "nowhere",
        "-x",
        "refs/stash",
        "refs/branchyard/seen/main",
        "a..b",
        "../main",
        "",
    ] {
        let refused = yard
            .try_verb("main", "reflog", json!({ "ref": name }))
            .await;
        let (status, problem) = problem_of(refused).await;
        assert!(matches!(status, 400 | 404), "{name}: {problem}");
        assert_eq!(problem["field"], "ref", "{name}");
    }
    std::fs::remove_file(store.join("logs/refs/heads/main")).unwrap();
    let empty = yard.verb("main", "reflog", json!({})).await;
    assert_eq!(
        (&empty["entries"], &empty["total"]),
        (&json!([]), &json!(0))
    );
    assert!(!store.join("logs/refs/heads/main").exists());
    let refused = yard.try_verb("main", "reflog", json!({ "count": 0 })).await;
    assert_eq!(problem_of(refused).await.0, 422);
    yard.stop().await;
}
