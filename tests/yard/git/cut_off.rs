//! The daemon is killed while git is at work for it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use super::local::at_work;
use crate::support::work::write;
use crate::support::{Options, Yard, git, until};

/// A git that takes its time over a merge, and says when it begins.
fn slow_git(yard: &Yard) -> String {
    let bin = yard.dir.path().join("bin");
    let began = yard.dir.path().join("began");
    let path = env!("PATH");
    let script = format!(
        "#!/bin/sh\nfor arg; do [ \"$arg\" = merge ] && {{ touch {began:?}; sleep 1; break; }}; done\nPATH={path:?} exec git \"$@\"\n"
    );
    write(&bin, "git", &script);
    std::fs::set_permissions(bin.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:{path}", bin.display())
}

/// Commits `ours` on the workspace's branch, and `theirs` beside it, which a tag names. Both change one file, at its two ends;
/// `last` is how ours ends.
fn fork(workspace: &Path, last: &str) {
    let text = |first: &str, last: &str| format!("{first}\n1\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
    write(workspace, "text", &text("a", "z"));
    write(workspace, "old", "old\n");
    git(workspace, &["add", "."]);
    git(workspace, &["commit", "-q", "-m", "text"]);
    write(workspace, "text", &text("a", "theirs"));
    write(workspace, "new", "theirs\n");
    git(workspace, &["rm", "-q", "old"]);
    git(workspace, &["add", "."]);
    git(workspace, &["commit", "-q", "-m", "theirs"]);
    git(workspace, &["tag", "-f", "theirs"]);
    git(workspace, &["reset", "-q", "--hard", "HEAD~1"]);
    write(workspace, "text", &text("ours", last));
    git(workspace, &["commit", "-q", "-a", "-m", "ours"]);
}

#[tokio::test]
async fn a_merge_outlives_the_daemon() {
    let mut yard = Yard::asleep(Options::default());
    let path = slow_git(&yard);
    let mut daemon = yard.start_binary(&[("PATH", &path)]).await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    fork(&workspace, "z");

    let url = "/api/repos/demo/branches/main/git/merge";
    let body = json!({ "from": "theirs" });
    let request = yard.request(reqwest::Method::POST, url).json(&body).send();
    let asking = tokio::spawn(request);
    let began = yard.dir.path().join("began");
    until("git is asked to merge", || began.exists()).await;
    daemon.kill().await;
    asking.abort();
    let is_merged = || git(&workspace, &["log", "-1", "--format=%p"]).contains(' ');
    until("git ends its merge on its own", is_merged).await;
    let mut daemon = yard.start_binary(&[]).await;
    let status = yard.verb("main", "status", json!({})).await;
    assert_eq!(status["clean"], true, "{status}");
    assert!(is_merged());
    daemon.stop().await;
}

/// Between git's end and its files in the workspace.
const SHADOW_POINTS: [&str; 3] = ["shadow-written", "shadow-cleared", "shadow-placed"];

#[tokio::test]
async fn what_git_wrote_is_taken_over_by_the_next_daemon() {
    for (last, is_merged) in [("z", true), ("ours", false)] {
        for point in SHADOW_POINTS {
            let what = format!("{point}, merged: {is_merged}");
            let mut yard = Yard::asleep(Options::default());
            let mut daemon = yard.start_binary(&[]).await;
            yard.make("main", &["who"]).await;
            daemon.stop().await;
            let workspace = yard.workspace("main");
            fork(&workspace, last);
            write(&workspace, "name.txt", "edited\n");

            let mut doomed = yard.start_binary(&[("BRANCHYARD_CRASH_AT", point)]).await;
            let url = "/api/repos/demo/branches/main/git/merge";
            let request = yard.request(reqwest::Method::POST, url);
            assert!(
                request
                    .json(&json!({ "from": "theirs" }))
                    .send()
                    .await
                    .is_err()
            );
            assert!(!doomed.ended().await.success(), "{what}: passed");

            let mut daemon = yard.start_binary(&[]).await;
            let status = yard.verb("main", "status", json!({})).await;
            let text = std::fs::read_to_string(workspace.join("text")).unwrap();
            assert!(text.starts_with("ours\n1\n"), "{what}: {text}");
            assert_eq!(text.contains("<<<<<<<"), !is_merged, "{what}: {text}");
            assert!(!workspace.join("old").exists(), "{what}");
            let new = std::fs::read_to_string(workspace.join("new"));
            assert_eq!(new.unwrap(), "theirs\n", "{what}");
            let changed = git(&workspace, &["status", "--porcelain"]);
            match is_merged {
                true => assert_eq!(changed, "M name.txt", "{what}: {status}"),
                false => {
                    let abort = json!({ "action": "abort" });
                    yard.verb("main", "merge", abort).await;
                    let changed = git(&workspace, &["status", "--porcelain"]);
                    assert_eq!(changed, "M name.txt", "{what}");
                    assert!(workspace.join("old").exists(), "{what}");
                }
            }
            let edited = std::fs::read_to_string(workspace.join("name.txt"));
            assert_eq!(edited.unwrap(), "edited\n", "{what}");
            let admin = yard.store().join("worktrees/main");
            for left in ["shadow", "index.lock"] {
                assert!(!admin.join(left).exists(), "{what}: {left}");
            }
            daemon.stop().await;
        }
    }
}

/// What leads out of the repository is not what a daemon left there.
#[tokio::test]
async fn a_link_that_stands_in_for_a_worktree_is_not_followed() {
    let mut yard = at_work().await;
    let (admin, outside) = (
        yard.store().join("worktrees/main"),
        yard.dir.path().join("outside"),
    );
    for (name, content) in [("begun", ""), ("files/name.txt", "secret\n")] {
        write(&outside, name, content);
    }
    std::fs::copy(admin.join("index"), outside.join("index")).unwrap();
    std::os::unix::fs::symlink(&outside, admin.join("shadow")).unwrap();
    std::fs::write(admin.join("index.lock"), "").unwrap();
    write(&yard.workspace("main"), "name.txt", "mine\n");
    yard.verb("main", "commit", json!({ "message": "mine", "all": true }))
        .await;
    let kept = std::fs::read_to_string(outside.join("files/name.txt"));
    assert_eq!(kept.unwrap(), "secret\n");
    let name = std::fs::read_to_string(yard.workspace("main").join("name.txt"));
    assert_eq!(name.unwrap(), "mine\n");
    yard.stop().await;
}

#[tokio::test]
async fn a_lock_that_a_killed_git_left_is_in_no_verbs_way() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let admin = yard.store().join("worktrees/main");
    for lock in [
        admin.join("index.lock"),
        admin.join("HEAD.lock"),
        yard.store().join("refs/heads/main.lock"),
    ] {
        for (verb, body) in [
            ("add", json!({ "all": true })),
            ("commit", json!({ "message": "mine", "all": true })),
            (
                "reset",
                json!({ "mode": "hard", "to": "HEAD~1", "confirm": true }),
            ),
        ] {
            if verb == "add" {
                write(&workspace, "name.txt", "mine\n");
            }
            std::fs::write(&lock, "").unwrap();
            let answer = yard.try_verb("main", verb, body).await;
            let status = answer.status();
            let said = answer.text().await.unwrap();
            assert_eq!(status, 200, "{verb} {}: {said}", lock.display());
        }
    }
    yard.stop().await;
}
