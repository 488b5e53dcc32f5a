//! Work in places where one does not look: it is kept like any other.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::work::{commit_in, snapshot, write};
use crate::support::{Yard, encode, git, problem_of, try_git};

async fn remove(yard: &Yard, branch: &str, force: bool) {
    let path = format!("/api/repos/demo/branches/{}?force={force}", encode(branch));
    let answer = yard.delete(&path).await;
    let status = answer.status();
    assert!(
        status.is_success(),
        "{branch}: {}",
        answer.text().await.unwrap()
    );
}

async fn saved_file(yard: &Yard, salvage: &Value, path: &str) -> String {
    let id = salvage["id"].as_str().unwrap();
    let path = format!("/api/salvage/{id}/file?path={}", encode(path));
    let file = yard.get(&path).await;
    assert!(file.status().is_success(), "{salvage}");
    file.text().await.unwrap()
}

/// What a person has in a workspace.
type Corner = (&'static str, fn(&Path));

const CORNERS: &[Corner] = &[
    ("line endings by attributes that nobody tracks", |w| {
        write(w, ".gitattributes", "*.txt text eol=lf\n");
        write(w, "name.txt", "one\r\ntwo\r\n");
        git(w, &["add", "name.txt"]);
    }),
    ("an index of version 4 with an untracked cache", |w| {
        git(w, &["update-index", "--index-version", "4"]);
        git(w, &["update-index", "--force-untracked-cache"]);
        write(w, "new.txt", "mine\n");
        git(w, &["add", "new.txt"]);
    }),
    ("an index without a checksum", |w| {
        write(w, "new.txt", "mine\n");
        git(w, &["-c", "index.skipHash=true", "add", "new.txt"]);
    }),
    ("a rebase with an autostash", |w| {
        write(w, "name.txt", "mine\n");
        git(w, &["commit", "-q", "-am", "mine"]);
        write(w, "dir/a.txt", "stashed by itself\n");
        let rebase = ["rebase", "-q", "--autostash", "origin/clash"];
        assert!(!try_git(w, &rebase).status.success(), "it conflicts");
    }),
    ("a rebase that stops at a command", |w| {
        commit_in(w, "mine");
        commit_in(w, "another");
        let rebase = ["rebase", "-q", "--exec", "false", "HEAD~2"];
        assert!(!try_git(w, &rebase).status.success(), "it stops");
    }),
    ("a link in place of a directory", |w| {
        std::fs::rename(w.join("dir"), w.parent().unwrap().join("../outside")).unwrap();
        symlink("../../outside", w.join("dir")).unwrap();
    }),
    ("hard links and an empty file", |w| {
        write(w, "notes/x", "mine\n");
        std::fs::hard_link(w.join("notes/x"), w.join("notes/y")).unwrap();
        write(w, "empty.txt", "");
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn work_in_corners_comes_back_byte_for_byte() {
    for force in [true, false] {
        let mut yard = Yard::new().await;
        yard.origin.branch("clash");
        yard.origin.at("main");
        yard.origin.write("dir/a.txt", "a\n");
        yard.origin.write("dir/b.txt", "b\n");
        yard.origin.commit("directory");
        for (n, (what, work)) in CORNERS.iter().enumerate() {
            let branch = format!("corner-{n}");
            yard.origin.push(&branch);
            yard.make(&branch, &["who"]).await;
            work(&yard.workspace(&branch));
            let before = snapshot(&yard, &branch);
            if force {
                remove(&yard, &branch, true).await;
            } else {
                let wish = json!({"args": ["who"], "sync": "reset", "clean": true});
                let events = yard.run("make", &branch, wish).await;
                let last = events.last().unwrap();
                assert_eq!(last.data["state"], "succeeded", "{what}: {events:#?}");
                let status = ["status", "--porcelain", "--ignored"];
                assert_eq!(git(&yard.workspace(&branch), &status), "", "{what}");
            }
            let saved = yard.salvages(&branch).await;
            assert_eq!(saved.len(), 1, "{what}");
            yard.restore(&saved[0], json!({"force": true})).await;
            assert_eq!(snapshot(&yard, &branch), before, "{what}");
            let outside = yard.workspaces.join("outside");
            if outside.exists() {
                assert_eq!(std::fs::read(outside.join("a.txt")).unwrap(), b"a\n");
                std::fs::remove_dir_all(&outside).unwrap();
            }
        }
        yard.stop().await;
    }
}

/// `work` has a salvage, and somebody has made the branch anew since, in the workspace of `main`, with a
/// commit of its own.
async fn made_anew_elsewhere(yard: &Yard) -> (PathBuf, String) {
    yard.origin.branch("work");
    yard.make("work", &["who"]).await;
    commit_in(&yard.workspace("work"), "first");
    remove(yard, "work", true).await;
    yard.make("main", &["who"]).await;
    let main = yard.workspace("main");
    git(&main, &["checkout", "-q", "-b", "work", "origin/work"]);
    commit_in(&main, "second");
    let second = git(&main, &["rev-parse", "HEAD"]);
    (main, second)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_does_not_drop_commits_of_a_branch_without_a_workspace() {
    let mut yard = Yard::new().await;
    let (main, second) = made_anew_elsewhere(&yard).await;
    git(&main, &["checkout", "-q", "main"]);

    let saved = yard.salvages("work").await.swap_remove(0);
    let id = saved["id"].as_str().unwrap();
    let path = format!("/api/salvage/{id}/restore");
    let refused = problem_of(yard.post(&path, json!({})).await).await;
    assert_eq!(refused.1["code"], "workspace_has_work", "{refused:?}");
    assert_eq!(git(&main, &["rev-parse", "work"]), second);
    yard.restore(&saved, json!({"force": true})).await;
    let log = git(&yard.workspace("work"), &["log", "--format=%s", "-1"]);
    assert_eq!(log, "first");
    let second_saved = yard.salvages("work").await.swap_remove(0);
    yard.restore(&second_saved, json!({"branch": "again"}))
        .await;
    let again = git(&yard.workspace("again"), &["rev-parse", "HEAD"]);
    assert_eq!(again, second);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_puts_beside_build_output_is_work_and_the_output_is_not() {
    let mut yard = Yard::new().await;
    yard.make("main", &["build"]).await;
    let workspace = yard.workspace("main");
    write(&workspace, "ignored/.env", "SECRET=1\n");
    write(&workspace, "out/result", "edited by hand\n");
    let path = "/api/repos/demo/branches/main";
    let refused = problem_of(yard.delete(path).await).await;
    assert_eq!(refused.1["code"], "workspace_has_work", "{refused:?}");
    let wish = json!({"args": ["who"], "clean": true});
    yard.run("make", "main", wish).await;
    let saved = yard.salvages("main").await.swap_remove(0);
    assert_eq!(
        saved_file(&yard, &saved, "ignored/.env").await,
        "SECRET=1\n"
    );
    assert_eq!(
        saved_file(&yard, &saved, "out/result").await,
        "edited by hand\n"
    );
    let id = saved["id"].as_str().unwrap();
    let detail = yard.get_json(&format!("/api/salvage/{id}")).await;
    let files = detail["files"].as_array().unwrap();
    assert_eq!(files.len(), 2, "no output of the build: {detail}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_only_a_log_or_a_ref_of_the_workspace_names_are_saved_when_it_goes() {
    let mut yard = Yard::new().await;
    for branch in ["logged", "named"] {
        yard.origin.branch(branch);
        yard.make(branch, &["who"]).await;
        let workspace = yard.workspace(branch);
        git(&workspace, &["checkout", "-q", "--detach"]);
        commit_in(&workspace, "left behind");
        let commit = git(&workspace, &["rev-parse", "HEAD"]);
        if branch == "named" {
            git(&workspace, &["update-ref", "refs/worktree/mine", "HEAD"]);
            let admin = yard.store().join("worktrees/named/logs");
            git(&workspace, &["checkout", "-q", branch]);
            std::fs::remove_dir_all(admin).unwrap();
        } else {
            git(&workspace, &["checkout", "-q", branch]);
        }
        // Nothing here is in anybody's way, so it goes; but not for good.
        remove(&yard, branch, false).await;
        assert_eq!(yard.salvages(branch).await.len(), 1, "{branch}");
        let reachable = git(&yard.store(), &["rev-list", "--all"]);
        assert!(reachable.contains(&commit), "{branch}");
        // Once saved, it is not saved again and again.
        yard.make(branch, &["who"]).await;
        remove(&yard, branch, false).await;
        assert_eq!(yard.salvages(branch).await.len(), 1, "{branch}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_git_shows_is_saved_when_a_reset_needs_its_place() {
    let mut yard = Yard::new().await;
    yard.make("main", &["build"]).await;
    let workspace = yard.workspace("main");
    let made = std::fs::read_to_string(workspace.join("out/result")).unwrap();
    yard.origin.at("main");
    yard.origin.write("out/result", "theirs\n");
    yard.origin.commit("theirs");
    yard.origin.push("main");
    let wish = json!({"args": ["who"], "sync": "reset"});
    yard.run("make", "main", wish).await;
    let now = std::fs::read_to_string(workspace.join("out/result")).unwrap();
    assert_eq!(now, "theirs\n");
    let saved = yard.salvages("main").await;
    assert_eq!(saved.len(), 1);
    assert_eq!(saved_file(&yard, &saved[0], "out/result").await, made);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_salvage_comes_back_where_output_stands_in_its_way() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    write(&workspace, "out", "a file\n");
    write(&workspace, "ignored/result/deep", "mine\n");
    let before = snapshot(&yard, "main");
    remove(&yard, "main", true).await;
    yard.make("main", &["build"]).await;
    assert!(workspace.join("out").is_dir());
    let saved = yard.salvages("main").await.swap_remove(0);
    std::fs::remove_file(workspace.join("main.o")).unwrap();
    let made = std::fs::read_to_string(workspace.join("out/result")).unwrap();
    yard.restore(&saved, json!({})).await;
    assert_eq!(snapshot(&yard, "main"), before);
    // What git showed of it might have been meant to be added.
    let newest = yard.salvages("main").await.swap_remove(0);
    assert_eq!(saved_file(&yard, &newest, "out/result").await, made);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_salvage_whose_name_is_taken_comes_back_under_another() {
    let mut yard = Yard::new().await;
    yard.origin.branch("a");
    yard.make("a", &["who"]).await;
    commit_in(&yard.workspace("a"), "mine");
    write(&yard.workspace("a"), "notes.txt", "mine\n");
    remove(&yard, "a", true).await;
    yard.origin.delete("a");
    yard.origin.branch("a/b");
    yard.make("a/b", &["who"]).await;
    let saved = yard.salvages("a").await.swap_remove(0);
    let path = format!("/api/salvage/{}/restore", saved["id"].as_str().unwrap());
    let refused = problem_of(yard.post(&path, json!({})).await).await;
    assert_eq!(refused.1["code"], "branch_collides", "{refused:?}");
    yard.restore(&saved, json!({"branch": "c"})).await;
    let workspace = yard.workspace("c");
    assert_eq!(git(&workspace, &["log", "-1", "--format=%s"]), "mine");
    let notes = std::fs::read(workspace.join("notes.txt")).unwrap();
    assert_eq!(notes, b"mine\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_salvage_whose_branch_is_checked_out_elsewhere_harms_nobody() {
    let mut yard = Yard::new().await;
    let (main, second) = made_anew_elsewhere(&yard).await;
    let saved = yard.salvages("work").await.swap_remove(0);
    let path = format!("/api/salvage/{}/restore", saved["id"].as_str().unwrap());
    let answer = yard.post(&path, json!({"force": true})).await;
    assert!(answer.status().is_client_error(), "{answer:?}");
    assert_eq!(git(&main, &["rev-parse", "HEAD"]), second);
    assert_eq!(git(&main, &["status", "--porcelain"]), "");
    yard.restore(&saved, json!({"branch": "other"})).await;
    let log = git(&yard.workspace("other"), &["log", "--format=%s", "-1"]);
    assert_eq!(log, "first");
    git(&main, &["checkout", "-q", "main"]);
    yard.restore(&saved, json!({"force": true})).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_a_parked_branch_are_saved_wherever_its_workspace_went() {
    let mut yard = Yard::new().await;
    yard.origin.branch("feature");
    yard.make("feature", &["who"]).await;
    let workspace = yard.workspace("feature");
    commit_in(&workspace, "mine");
    let mine = git(&workspace, &["rev-parse", "HEAD"]);
    yard.origin.delete("feature");
    yard.origin.branch("feature/x");
    yard.make("feature/x", &["who"]).await;
    git(
        &workspace,
        &["checkout", "-q", "--detach", "origin/feature/x"],
    );
    std::fs::remove_dir_all(yard.store().join("worktrees/feature/logs")).unwrap();
    remove(&yard, "feature", true).await;
    let reachable = git(&yard.store(), &["rev-list", "--all"]);
    assert!(reachable.contains(&mine));
    yard.stop().await;
}
