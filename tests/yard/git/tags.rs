//! tag.

use serde_json::{Value, json};

use super::local::{at_work, refused};
use crate::support::work::commit_in;
use crate::support::{Agent, git, try_git};

fn names(answer: &Value) -> Vec<&str> {
    let tags = answer["tags"].as_array().unwrap();
    tags.iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn tags_are_made_shown_and_listed_in_order() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let first = git(&workspace, &["rev-parse", "HEAD"]);
    commit_in(&workspace, "second");
    let body = json!({ "action": "create", "name": "v1.9", "target": "HEAD~1" });
    let light = yard.verb("main", "tag", body).await;
    assert_eq!(
        (&light["tag"]["target"], &light["tag"]["annotated"]),
        (&json!(first), &json!(false))
    );
    let agent = Agent::of_git(&yard, "main");
    let body =
        json!({ "action": "create", "name": "v1.10", "message": "The tenth\n\n# more of it\n" });
    let annotated = agent.call("git_tag", body).await["tag"].clone();
    assert_eq!(
        (&annotated["annotated"], &annotated["signed"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(annotated["message"], "The tenth\n\n# more of it");
    assert_eq!(annotated["tagger"], "Branchyard <branchyard@localhost>");
    assert_eq!(git(&workspace, &["cat-file", "-t", "v1.10"]), "tag");
    let long_ago = std::process::Command::new("git")
        .args(["commit-tree", "-m", "long ago", "HEAD^{tree}"])
        .current_dir(&workspace)
        .envs([
            ("GIT_AUTHOR_NAME", "T"),
            ("GIT_AUTHOR_EMAIL", "t@localhost"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "T"),
            ("GIT_COMMITTER_EMAIL", "t@localhost"),
        ])
        .env("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
        .output();
    let long_ago = String::from_utf8(long_ago.unwrap().stdout).unwrap();
    git(&workspace, &["tag", "v3", long_ago.trim()]);

    for (body, expected) in [
        (json!({}), vec!["v3", "v1.10", "v1.9"]),
        (json!({ "pattern": "v1.*" }), vec!["v1.10", "v1.9"]),
        (json!({ "count": 1, "skip": 2 }), vec!["v1.9"]),
    ] {
        let listed = agent.call("git_tag", body.clone()).await;
        assert_eq!(names(&listed), expected, "{body}");
    }
    let listed = yard.verb("main", "tag", json!({ "sort": "date" })).await;
    assert_eq!(names(&listed)[2], "v3", "the oldest comes last");
    assert_eq!(listed["tags"][0]["message"], "The tenth");
    let shown = yard
        .verb("main", "tag", json!({ "action": "show", "name": "v1.10" }))
        .await;
    assert_eq!(shown["tag"], annotated);
    let verified = yard
        .verb(
            "main",
            "tag",
            json!({ "action": "verify", "name": "v1.10" }),
        )
        .await;
    assert_eq!(verified["signature"]["verdict"], "unsigned");
    yard.stop().await;
}

#[tokio::test]
async fn a_tag_that_goes_says_what_it_was() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let body = json!({ "action": "create", "name": "v1", "message": "first" });
    let made = yard.verb("main", "tag", body).await;
    let (status, code, _) = refused(
        &yard,
        "main",
        "tag",
        json!({ "action": "create", "name": "v1" }),
    )
    .await;
    assert_eq!((status, code.as_str()), (409, "tag_exists"));
    let replaced = json!({ "action": "create", "name": "v1", "force": true });
    let replaced = yard.verb("main", "tag", replaced).await;
    assert_eq!(replaced["was"], made["tag"]["id"]);
    let (status, code, problem) = refused(
        &yard,
        "main",
        "tag",
        json!({ "action": "delete", "name": "v1" }),
    )
    .await;
    assert_eq!(
        (status, code.as_str(), &problem["field"]),
        (403, "confirm_needed", &json!("confirm"))
    );
    let agent = Agent::of_git(&yard, "main");
    let gone = agent
        .call(
            "git_tag",
            json!({ "action": "delete", "name": "v1", "confirm": true }),
        )
        .await;
    assert_eq!(gone["was"], replaced["tag"]["id"]);
    assert!(
        !try_git(&workspace, &["rev-parse", "-q", "--verify", "refs/tags/v1"])
            .status
            .success()
    );
    // The annotated one comes back as it was.
    let body = json!({ "action": "create", "name": "v1", "target": made["tag"]["id"] });
    assert_eq!(yard.verb("main", "tag", body).await["tag"], made["tag"]);
    yard.stop().await;
}

#[tokio::test]
async fn names_and_targets_that_make_no_sense_are_refused() {
    let mut yard = at_work().await;
    for name in [
        "-d",
        "--delete",
        "a..b",
        "refs/tags/x",
        "x.lock",
        "a b",
        "v1^{}",
        "a\u{202e}b",
        "",
    ] {
        for action in ["create", "delete", "show", "verify"] {
            let body = json!({ "action": action, "name": name, "confirm": true });
            let (status, _, problem) = refused(&yard, "main", "tag", body).await;
            assert_eq!(
                (status, &problem["field"]),
                (400, &json!("name")),
                "{action} {name:?}"
            );
        }
    }
    for (body, expected) in [
        (json!({ "action": "create" }), (422, "name")),
        (
            json!({ "action": "create", "name": "v1", "target": "nowhere" }),
            (404, "target"),
        ),
        (
            json!({ "action": "create", "name": "v1", "target": "--force" }),
            (400, "target"),
        ),
        (
            json!({ "action": "create", "name": "v1", "message": " " }),
            (422, "message"),
        ),
        (
            json!({ "action": "create", "name": "v1", "sign": true }),
            (422, "message"),
        ),
        (
            json!({ "action": "create", "name": "v1", "sign": true, "message": "m" }),
            (409, "sign"),
        ),
        (json!({ "action": "show", "name": "none" }), (404, "name")),
        (
            json!({ "action": "delete", "name": "none", "confirm": true }),
            (404, "name"),
        ),
        (json!({ "pattern": "{" }), (400, "pattern")),
    ] {
        let (status, _, problem) = refused(&yard, "main", "tag", body.clone()).await;
        let told = (status, problem["field"].as_str().unwrap_or_default());
        assert_eq!(told, expected, "{body}: {problem}");
    }
    let made = yard
        .verb("main", "tag", json!({ "action": "create", "name": "main" }))
        .await;
    assert_eq!(made["warnings"][0]["code"], "tag_hides_branch");
    assert_eq!(git(&yard.workspace("main"), &["tag"]), "main");
    yard.stop().await;
}

#[tokio::test]
async fn a_tag_does_not_stand_in_for_a_branch_of_its_name() {
    let mut yard = at_work().await;
    let create = json!({ "action": "create", "name": "other" });
    yard.verb("main", "branch", create.clone()).await;
    commit_in(&yard.workspace("other"), "theirs");
    let theirs = git(&yard.workspace("other"), &["rev-parse", "HEAD"]);
    yard.verb("main", "tag", create).await;
    for revision in ["other", "other~0"] {
        let body = json!({ "revision": revision, "count": 1 });
        let log = yard.verb("main", "log", body).await;
        assert_eq!(log["commits"][0]["id"], json!(theirs), "{revision}");
    }
    let body = json!({ "revision": "refs/tags/other", "count": 1 });
    let log = yard.verb("main", "log", body).await;
    assert_ne!(log["commits"][0]["id"], json!(theirs));
    let merged = yard.verb("main", "merge", json!({ "from": "other" })).await;
    assert_eq!(
        (&merged["state"], &merged["commit"]),
        (&json!("done"), &json!(theirs))
    );
    yard.stop().await;
}
