//! describe.

use serde_json::{Value, json};

use crate::support::{Yard, git, problem_of};

#[tokio::test]
async fn a_commit_is_named_as_git_names_it() {
    let mut yard = Yard::new().await;
    let named = yard.verb("main", "describe", json!({})).await;
    let workspace = yard.workspace("main");
    assert_eq!(named["tag"], Value::Null, "{named}");
    assert_eq!(named["name"], git(&workspace, &["describe", "--always"]));

    let commit = |name| git(&workspace, &["commit", "-q", "--allow-empty", "-m", name]);
    git(&workspace, &["tag", "old-1"]);
    commit("a");
    git(&workspace, &["tag", "-a", "-m", "x", "v1.0-rc-2"]);
    commit("b");
    git(&workspace, &["checkout", "-q", "--detach", "HEAD~1"]);
    commit("c");
    commit("d");
    git(&workspace, &["tag", "side"]);
    let side = git(&workspace, &["rev-parse", "HEAD"]);
    git(&workspace, &["checkout", "-q", "main"]);
    git(&workspace, &["merge", "-q", "--no-ff", "-m", "x", &side]);
    for (revision, pattern) in [
        ("HEAD", None),
        ("HEAD~1", None),
        ("HEAD~2", None),
        ("HEAD~3", None),
        ("HEAD", Some("v*")),
        ("HEAD", Some("old*")),
        ("HEAD", Some("none*")),
    ] {
        let asked = json!({ "revision": revision, "pattern": pattern });
        let named = yard.verb("main", "describe", asked.clone()).await;
        let mut args = vec!["describe", "--tags", "--always"];
        args.extend(pattern.into_iter().flat_map(|glob| ["--match", glob]));
        args.push(revision);
        assert_eq!(named["name"], git(&workspace, &args), "{asked}");
        assert_eq!(named["commit"], git(&workspace, &["rev-parse", revision]));
    }
    let named = yard.verb("main", "describe", json!({ "pattern": "v*" }));
    let named = named.await;
    assert_eq!(named["tag"], "v1.0-rc-2");
    assert_eq!(named["commits_since"], 4, "{named}");

    for (asked, field, status) in [
        (json!({ "revision": "nowhere" }), "revision", 404),
        (json!({ "pattern": "[" }), "pattern", 400),
        (json!({ "pattern": "v{1,2}" }), "pattern", 400),
        (json!({ "pattern": "v\u{0}" }), "pattern", 400),
    ] {
        let refused = problem_of(yard.try_verb("main", "describe", asked).await).await;
        assert_eq!((refused.0, &refused.1["field"]), (status, &json!(field)));
    }
    yard.stop().await;
}
