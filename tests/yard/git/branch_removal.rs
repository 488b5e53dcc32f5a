//! branch: deleted, and renamed.

use serde_json::json;

use super::local::{at_work, refused};
use crate::support::work::{commit_in, snapshot, write};
use crate::support::{Agent, Yard, git, try_git};

fn has(yard: &Yard, reference: &str) -> bool {
    let verify = ["rev-parse", "-q", "--verify", reference];
    try_git(&yard.store(), &verify).status.success()
}

#[tokio::test]
async fn a_branch_with_something_of_its_own_is_deleted_by_force_only() {
    let mut yard = at_work().await;
    for name in ["done", "ahead", "dirty"] {
        yard.verb(
            "main",
            "branch",
            json!({ "action": "create", "name": name }),
        )
        .await;
    }
    let agent = Agent::of_git(&yard, "main");
    let gone = agent
        .call("git_branch", json!({ "action": "delete", "name": "done" }))
        .await;
    assert_eq!(
        (&gone["item"]["name"], gone.get("kept")),
        (&json!("done"), None)
    );
    assert!(!yard.workspace("done").exists() && !has(&yard, "refs/heads/done"));

    commit_in(&yard.workspace("ahead"), "of its own");
    write(&yard.workspace("dirty"), "name.txt", "mine\n");
    for (name, expected) in [("ahead", "unmerged"), ("dirty", "workspace_has_work")] {
        let before = snapshot(&yard, name);
        let mut body = json!({ "action": "delete", "name": name });
        let (status, code, problem) = refused(&yard, "main", "branch", body.clone()).await;
        assert_eq!((status, code.as_str()), (409, expected), "{problem}");
        assert_eq!(snapshot(&yard, name), before);
        body["force"] = json!(true);
        let gone = yard.verb("main", "branch", body).await;
        assert!(!yard.workspace(name).exists() && !has(&yard, &format!("refs/heads/{name}")));
        let id = &gone["kept"]["salvage_id"];
        yard.restore(&json!({ "id": id }), json!({})).await;
        assert_eq!(snapshot(&yard, name), before, "{name} is back");
    }
    let (status, code, _) = refused(
        &yard,
        "main",
        "branch",
        json!({ "action": "delete", "name": "none" }),
    )
    .await;
    assert_eq!((status, code.as_str()), (404, "branch_not_found"));
    yard.stop().await;
}

#[tokio::test]
async fn a_branch_without_a_workspace_is_no_less_safe() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let lone = git(
        &workspace,
        &["commit-tree", "-p", "HEAD", "-m", "lone", "HEAD^{tree}"],
    );
    git(&yard.store(), &["branch", "lone", &lone]);
    git(&yard.store(), &["branch", "same", "refs/heads/main"]);
    yard.verb(
        "main",
        "branch",
        json!({ "action": "delete", "name": "same" }),
    )
    .await;
    assert!(!has(&yard, "refs/heads/same"));
    let mut body = json!({ "action": "delete", "name": "lone" });
    let (_, code, _) = refused(&yard, "main", "branch", body.clone()).await;
    assert_eq!(code, "unmerged");
    body["force"] = json!(true);
    let gone = yard.verb("main", "branch", body).await;
    assert!(!has(&yard, "refs/heads/lone") && !yard.workspace("lone").exists());
    yard.restore(&json!({ "id": gone["kept"]["salvage_id"] }), json!({}))
        .await;
    assert_eq!(git(&yard.workspace("lone"), &["rev-parse", "HEAD"]), lone);
    // The branch of the call itself.
    let gone = yard
        .verb(
            "lone",
            "branch",
            json!({ "action": "delete", "name": "lone", "force": true }),
        )
        .await;
    assert_eq!(
        (&gone["commit"], gone["item"]["current"].as_bool()),
        (&json!(lone), Some(true))
    );
    assert!(!yard.workspace("lone").exists());
    yard.stop().await;
}

#[tokio::test]
async fn a_renamed_branch_keeps_everything() {
    let mut yard = at_work().await;
    yard.verb(
        "main",
        "branch",
        json!({ "action": "create", "name": "old" }),
    )
    .await;
    let workspace = yard.workspace("old");
    commit_in(&workspace, "of its own");
    let tip = git(&workspace, &["rev-parse", "HEAD"]);
    write(&workspace, "name.txt", "staged\n");
    git(&workspace, &["add", "name.txt"]);
    write(&workspace, "name.txt", "mine\n");
    write(&workspace, "notes.txt", "mine\n");
    write(&workspace, "ignored/settings", "mine\n");
    let status = git(&workspace, &["status", "--porcelain", "--ignored"]);

    let body = json!({ "action": "rename", "new_name": "new/name" });
    let agent = Agent::of_git(&yard, "old");
    let renamed = agent.call("git_branch", body).await;
    assert_eq!(
        (&renamed["item"]["name"], &renamed["item"]["id"]),
        (&json!("new/name"), &json!(tip))
    );
    let new = yard.workspace("new/name");
    assert_eq!(git(&new, &["status", "--porcelain", "--ignored"]), status);
    assert_eq!(git(&new, &["symbolic-ref", "HEAD"]), "refs/heads/new/name");
    assert_eq!(git(&new, &["show", ":name.txt"]), "staged");
    assert_eq!(
        std::fs::read_to_string(new.join("ignored/settings")).unwrap(),
        "mine\n"
    );
    assert!(!workspace.exists() && !has(&yard, "refs/heads/old"));
    let left: Vec<_> = yard
        .salvages("old")
        .await
        .iter()
        .map(|salvage| salvage["reason"].clone())
        .collect();
    assert_eq!(left, ["remove"], "the copy on the way is gone");
    yard.stop().await;
}

#[tokio::test]
async fn a_name_that_is_taken_is_refused() {
    let mut yard = Yard::new().await;
    yard.origin.branch("remote-only");
    yard.make("main", &["who"]).await;
    for name in ["old", "taken"] {
        yard.verb(
            "main",
            "branch",
            json!({ "action": "create", "name": name }),
        )
        .await;
    }
    let before = snapshot(&yard, "old");
    for (new, expected) in [
        ("taken", (409, "branch_exists")),
        ("remote-only", (409, "branch_exists")),
        ("old", (422, "unprocessable")),
        ("old/deeper", (409, "branch_collides")),
        ("--force", (400, "bad_request")),
    ] {
        let body = json!({ "action": "rename", "name": "old", "new_name": new });
        let (status, code, problem) = refused(&yard, "main", "branch", body).await;
        assert_eq!((status, code.as_str()), expected, "{new}");
        assert_eq!(problem["field"], "new_name", "{new}");
    }
    assert_eq!(snapshot(&yard, "old"), before);
    write(&yard.workspace("old"), "name.txt", "mine\n");
    yard.verb("old", "stash", json!({ "action": "push" })).await;
    let body = json!({ "action": "rename", "name": "old", "new_name": "new" });
    let (_, code, _) = refused(&yard, "main", "branch", body).await;
    assert_eq!(code, "has_stashes");
    yard.stop().await;
}

#[tokio::test]
async fn a_branch_in_the_middle_of_a_merge_keeps_its_name() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let tip = git(&workspace, &["rev-parse", "HEAD"]);
    write(&workspace, "name.txt", "theirs\n");
    git(&workspace, &["commit", "-q", "-a", "-m", "theirs"]);
    git(&workspace, &["tag", "theirs"]);
    git(&workspace, &["reset", "-q", "--hard", &tip]);
    write(&workspace, "name.txt", "ours\n");
    git(&workspace, &["commit", "-q", "-a", "-m", "ours"]);
    let merged = yard
        .verb("main", "merge", json!({ "from": "theirs" }))
        .await;
    assert_eq!(merged["state"], "conflicts");
    let body = json!({ "action": "rename", "name": "main", "new_name": "renamed", "allow_protected": true });
    let (status, code, _) = refused(&yard, "main", "branch", body).await;
    assert_eq!((status, code.as_str()), (409, "operation_under_way"));
    assert!(workspace.exists() && !yard.workspace("renamed").exists());
    yard.stop().await;
}
