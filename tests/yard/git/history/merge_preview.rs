//! merge_preview.

use serde_json::{Value, json};

use super::each;
use crate::support::{Agent, Yard, git, problem_of};

/// What a preview must leave as it is.
fn state(yard: &Yard, branch: &str) -> String {
    let workspace = yard.workspace(branch);
    let status = git(&workspace, &["status", "--porcelain=v2", "--branch"]);
    let refs = git(&workspace, &["for-each-ref", "refs/heads"]);
    format!("{status}\n{refs}")
}

#[tokio::test]
async fn a_merge_is_tried_without_a_trace() {
    let mut yard = Yard::new().await;
    yard.origin.write("keep", "1\n2\n3\n");
    yard.origin.commit("base");
    yard.origin.push("main");
    yard.origin.branch("feature");
    yard.origin.at("main");
    yard.origin.write("other", "x\n");
    let moved = yard.origin.commit("elsewhere");
    yard.origin.push("main");

    let clean = yard
        .verb("feature", "merge_preview", json!({ "fetch": true }))
        .await;
    assert_eq!(clean["outcome"], "clean");
    assert_eq!(clean["into"], json!({ "name": "origin/main", "id": moved }));
    assert_eq!(
        (&clean["incoming"], &clean["missing"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(clean["merge_base"], yard.origin.git(&["rev-parse", "main"]));
    assert_eq!(clean["conflicts"], json!([]));
    let tree = yard
        .verb("feature", "merge_preview", json!({ "verbosity": "full" }))
        .await;
    assert!(tree["merged_tree"].is_string());

    yard.origin.write("name.txt", "another\n");
    yard.origin.git(&["rm", "-q", "keep"]);
    yard.origin.commit("in the way");
    yard.origin.push("main");
    let workspace = yard.workspace("feature");
    std::fs::write(workspace.join("keep"), "1\n2\n3\n4\n").unwrap();
    git(&workspace, &["commit", "-qam", "keep it"]);
    std::fs::write(workspace.join("Makefile"), "changed").unwrap();
    let before = state(&yard, "feature");

    // What the remote has now counts only if it is asked.
    let old = yard.verb("feature", "merge_preview", json!({})).await;
    assert_eq!(old["outcome"], "clean");
    let agent = Agent::of_git(&yard, "feature");
    let told = agent
        .call("git_merge_preview", json!({ "fetch": true }))
        .await;
    assert_eq!(told["outcome"], "conflicts");
    assert_eq!(told["conflicted"], 2);
    assert_eq!(each(&told["conflicts"], "path"), ["keep", "name.txt"]);
    assert_eq!(told["conflicts"][0]["kinds"], json!(["modify/delete"]));
    assert_eq!(told["conflicts"][1]["kinds"], json!(["contents"]));
    assert_eq!(told["conflicts"][0]["ours"], Value::Null);
    let theirs = git(&workspace, &["rev-parse", "HEAD:keep"]);
    assert_eq!(
        told["conflicts"][0]["theirs"],
        json!({ "mode": "100644", "id": theirs })
    );
    let messages = told["conflicts"][1]["messages"].as_array().unwrap();
    assert!(
        messages
            .iter()
            .any(|said| said.as_str().unwrap().contains("name.txt"))
    );
    let brief = yard
        .verb(
            "feature",
            "merge_preview",
            json!({ "verbosity": "minimal" }),
        )
        .await;
    assert_eq!(brief["conflicts"][1]["base"], Value::Null);
    assert_eq!(state(&yard, "feature"), before);
    yard.stop().await;
}

#[tokio::test]
async fn what_needs_no_merge_is_told_as_such() {
    let mut yard = Yard::new().await;
    yard.origin.branch("feature");
    yard.origin.git(&["checkout", "-q", "--orphan", "apart"]);
    yard.origin.commit("another root");
    yard.origin.push("apart");
    for (branch, query, outcome) in [
        ("feature", json!({}), "fast_forward"),
        ("main", json!({}), "already_merged"),
        ("main", json!({ "into": "feature" }), "already_merged"),
        (
            "main",
            json!({ "from": "feature", "into": "HEAD" }),
            "fast_forward",
        ),
        ("apart", json!({ "into": "main" }), "unrelated"),
    ] {
        let told = yard.verb(branch, "merge_preview", query.clone()).await;
        assert_eq!(told["outcome"], outcome, "{branch} {query}");
    }
    for (query, status, field) in [
        (json!({ "into": "nowhere" }), 404, "into"),
        (
            json!({ "into": "--allow-unrelated-histories" }),
            400,
            "into",
        ),
        (json!({ "from": "-x" }), 400, "from"),
        (json!({ "from": "nowhere", "fetch": true }), 404, "from"),
        (json!({ "strategy": "ours" }), 422, "strategy"),
    ] {
        let refused = yard.try_verb("main", "merge_preview", query.clone()).await;
        let (told, problem) = problem_of(refused).await;
        assert_eq!(
            (told, &problem["field"]),
            (status, &json!(field)),
            "{query}: {problem}"
        );
    }
    yard.stop().await;
}
