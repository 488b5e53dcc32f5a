//! What is refused, and what is never run.

use std::fs;

use serde_json::json;

use crate::support::{Agent, Yard, git, problem_of, try_git};

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_its_field() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    std::os::unix::fs::symlink("/etc", yard.workspace("main").join("out")).unwrap();
    let cases = [
        ("diff", json!({ "from": "nowhere" }), 404, "from"),
        ("diff", json!({ "to": "--output=x" }), 400, "to"),
        ("diff", json!({ "from": "main..HEAD" }), 400, "from"),
        ("diff", json!({ "from": ":/first" }), 400, "from"),
        ("diff", json!({ "merge_base": true }), 422, "from"),
        ("diff", json!({ "staged": true, "to": "HEAD" }), 422, "to"),
        (
            "diff",
            json!({ "staged": true, "include_untracked": true }),
            422,
            "include_untracked",
        ),
        ("diff", json!({ "limit": 0 }), 422, "limit"),
        ("diff", json!({ "context": 200_000 }), 422, "context"),
        ("diff", json!({ "exec": "id" }), 422, "exec"),
        ("diff", json!({ "paths": ["../x"] }), 403, "paths"),
        ("diff", json!({ "paths": ["/etc/passwd"] }), 400, "paths"),
        ("status", json!({ "paths": ["out/passwd"] }), 403, "paths"),
        ("show", json!({ "revision": "-x" }), 400, "revision"),
        ("show", json!({ "revision": "HEAD~99" }), 404, "revision"),
        ("show", json!({ "path": "../../x" }), 403, "path"),
        ("show", json!({ "path": "none" }), 404, "path"),
        (
            "show",
            json!({ "revision": "HEAD:name.txt", "path": "x" }),
            422,
            "revision",
        ),
    ];
    let agent = Agent::of_git(&yard, "main");
    for (verb, asked, status, field) in cases {
        let refused = yard.try_verb("main", verb, asked.clone()).await;
        let (told, problem) = problem_of(refused).await;
        assert_eq!(
            (told, &problem["field"]),
            (status, &json!(field)),
            "{asked}"
        );
        let said = agent.refusal(&format!("git_{verb}"), asked).await;
        assert!(said.contains(&format!("field: {field}")), "{said}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn nothing_that_was_planted_runs() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    let marker = yard.dir.path().join("ran");
    let plant = format!("touch {}; cat", marker.display());
    fs::write(workspace.join(".gitattributes"), "* filter=x diff=x\n").unwrap();
    fs::write(workspace.join("name.txt"), "mine\n").unwrap();
    for key in [
        "filter.x.clean",
        "diff.x.textconv",
        "diff.x.command",
        "diff.external",
        "core.fsmonitor",
    ] {
        git(&workspace, &["config", key, &plant]);
    }
    for (verb, asked) in [
        ("status", json!({})),
        ("status", json!({ "ignored": true })),
        ("diff", json!({})),
        ("diff", json!({ "from": "HEAD" })),
        ("show", json!({})),
    ] {
        yard.verb("main", verb, asked).await;
        assert!(!marker.exists(), "{verb}");
    }
    drop(try_git(&workspace, &["status"]));
    assert!(!marker.exists(), "what was planted is gone");
    yard.stop().await;
}
