//! push from a workspace that is in the middle of something, and what a remote says to it.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::{Yard, git, problem_of};

const BRANCH: &str = "agent-a-1";

/// An agent's branch with a commit that the remote has, and which conflicts with `main`.
async fn with_work() -> (Yard, String) {
    let yard = Yard::new().await;
    let task = json!({ "repo": "demo", "agent_id": "a", "task_id": "1" });
    yard.post_json("/api/git/clone", task).await;
    write(&yard, "name.txt", "mine\n");
    let pushed = yard
        .verb(BRANCH, "push", json!({ "message": "Mine" }))
        .await;
    yard.origin.write("name.txt", "theirs\n");
    yard.origin.commit("theirs");
    yard.origin.push("main");
    let mine = pushed["remote_commit"].as_str().unwrap().to_owned();
    (yard, mine)
}

fn write(yard: &Yard, name: &str, content: &str) {
    std::fs::write(yard.workspace(BRANCH).join(name), content).unwrap();
}

fn remote(yard: &Yard) -> String {
    git(&yard.origin.bare, &["rev-parse", BRANCH])
}

#[tokio::test]
async fn a_rebase_under_way_is_not_pushed_over_what_the_remote_has() {
    let (mut yard, mine) = with_work().await;
    let pulled = yard.verb(BRANCH, "pull", json!({ "from": "main" })).await;
    assert_eq!(pulled["state"], "conflicts");
    for body in [
        json!({}),
        json!({ "force": true }),
        json!({ "dry_run": true }),
        json!({ "message": "All of it" }),
    ] {
        let refused = yard.try_verb(BRANCH, "push", body.clone()).await;
        let (status, problem) = problem_of(refused).await;
        assert_eq!(
            (status, &problem["code"]),
            (409, &json!("unresolved")),
            "{body}"
        );
    }
    let staged = git(&yard.workspace(BRANCH), &["status", "--porcelain"]);
    assert_eq!(staged, "UU name.txt", "it is still to be resolved");

    let resolve = json!({ "paths": ["name.txt"], "content": "both\n" });
    yard.verb(BRANCH, "resolve", resolve).await;
    for body in [json!({}), json!({ "message": "All of it" })] {
        let (status, problem) = problem_of(yard.try_verb(BRANCH, "push", body).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (409, &json!("operation_under_way"))
        );
    }
    assert_eq!(remote(&yard), mine);
    yard.verb(BRANCH, "rebase", json!({ "action": "continue" }))
        .await;
    let pushed = yard.verb(BRANCH, "push", json!({})).await;
    assert_eq!(pushed["replaced"], mine, "{pushed}");
    assert_eq!(
        git(&yard.origin.bare, &["log", "--format=%s", "-2", BRANCH]),
        "Mine\ntheirs"
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_merge_is_pushed_when_it_is_committed() {
    let (mut yard, mine) = with_work().await;
    let pull = json!({ "from": "main", "how": "merge" });
    let pulled = yard.verb(BRANCH, "pull", pull).await;
    assert_eq!(pulled["state"], "conflicts");
    let refused = yard.try_verb(BRANCH, "push", json!({ "message": "Merge" }));
    let (status, problem) = problem_of(refused.await).await;
    assert_eq!((status, &problem["code"]), (409, &json!("unresolved")));
    let resolve = json!({ "paths": ["name.txt"], "content": "both\n" });
    yard.verb(BRANCH, "resolve", resolve).await;
    let (_, problem) = problem_of(yard.try_verb(BRANCH, "push", json!({})).await).await;
    assert_eq!(problem["code"], "operation_under_way");
    assert_eq!(remote(&yard), mine);
    let pushed = yard
        .verb(BRANCH, "push", json!({ "message": "Merge" }))
        .await;
    assert_eq!(pushed["remote_commit"], remote(&yard), "{pushed}");
    let tip = git(&yard.origin.bare, &["rev-list", "--parents", "-1", BRANCH]);
    assert_eq!(tip.split(' ').count(), 3);
    yard.stop().await;
}

#[tokio::test]
async fn why_a_hook_refuses_is_told_in_its_own_words() {
    let (mut yard, _) = with_work().await;
    let hook = yard.origin.bare.join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let script = "#!/bin/sh\nprintf 'sign the \\033[31mCLA\\033[0m first\\n' >&2; exit 1\n";
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    write(&yard, "more", "1\n");
    let body = json!({ "message": "More", "retries": 0 });
    let (_, problem) = problem_of(yard.try_verb(BRANCH, "push", body).await).await;
    assert_eq!(problem["code"], "push_rejected");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("sign the CLA first"), "{detail}");
    assert!(!detail.contains('\u{1b}'), "{detail}");
    yard.stop().await;
}

/// A daemon that was killed as it began to follow the remote leaves a note of where it was going.
#[tokio::test]
async fn what_never_came_here_is_not_replaced_because_it_was_on_its_way() {
    let (mut yard, mine) = with_work().await;
    yard.origin.git(&["fetch", "-q", "origin"]);
    yard.origin.at(&mine);
    yard.origin.write("theirs", "1\n");
    let theirs = yard.origin.commit("theirs");
    yard.origin.push(BRANCH);
    yard.verb(BRANCH, "fetch", json!({})).await;
    let note = format!("refs/branchyard/seen-next/{BRANCH}");
    git(&yard.store(), &["update-ref", &note, &theirs]);
    write(&yard, "ours", "1\n");
    let pushed = yard
        .verb(BRANCH, "push", json!({ "message": "Ours" }))
        .await;
    assert_eq!(pushed["integrated"], theirs, "{pushed}");
    let log = git(&yard.origin.bare, &["log", "--format=%s", "-3", BRANCH]);
    assert_eq!(log, "Ours\ntheirs\nMine");
    yard.stop().await;
}

#[tokio::test]
async fn a_tag_that_is_not_taken_keeps_the_branch_back_too() {
    let (mut yard, mine) = with_work().await;
    git(&yard.origin.bare, &["tag", "v1", "main"]);
    git(&yard.workspace(BRANCH), &["tag", "v1"]);
    write(&yard, "more", "1\n");
    let body = json!({ "message": "More", "tags": ["v1"], "retries": 0 });
    let (_, problem) = problem_of(yard.try_verb(BRANCH, "push", body).await).await;
    assert_eq!(problem["code"], "push_rejected");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("refs/tags/v1"), "{detail}");
    assert_eq!(remote(&yard), mine, "it was said not to be taken");
    yard.stop().await;
}

#[tokio::test]
async fn a_long_history_is_counted_and_not_told_whole() {
    let (mut yard, _) = with_work().await;
    let mut stream = String::new();
    for n in 0..1000 {
        let from = if n == 0 {
            "from refs/heads/main^0\n"
        } else {
            ""
        };
        stream +=
            &format!("commit refs/heads/long\ncommitter T <t@x> {n} +0000\ndata 2\nm\n{from}\n");
    }
    let file = yard.dir.path().join("stream");
    std::fs::write(&file, stream).unwrap();
    let import = format!("git fast-import --quiet < {}", file.display());
    git(
        &yard.origin.bare,
        &["-c", &format!("alias.import=!{import}"), "import"],
    );
    let workspace = yard.workspace(BRANCH);
    git(&workspace, &["fetch", "-q", &yard.origin.url(), "long"]);
    git(&workspace, &["reset", "-q", "--hard", "FETCH_HEAD"]);
    let dry = yard.verb(BRANCH, "push", json!({ "dry_run": true })).await;
    assert_eq!(dry["outgoing"].as_array().unwrap().len(), 200);
    assert!(
        dry["outgoing_in_all"].as_u64().unwrap() >= 1000,
        "{}",
        dry["outgoing_in_all"]
    );
    yard.stop().await;
}
