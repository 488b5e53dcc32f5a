//! Status in states that are not of every day.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::porcelain::{lines, porcelain};
use crate::support::{Agent, PATIENCE, Yard, git, try_git};

#[tokio::test]
async fn conflicts_are_told_by_kind_and_the_merge_is_told_of() {
    let mut yard = Yard::new().await;
    for name in ["both", "ours-goes", "theirs-goes", "stays"] {
        yard.origin.write(name, "one\ntwo\n");
    }
    yard.origin.commit("base");
    yard.origin.push("main");
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    let theirs = fork(&workspace, |workspace| {
        write(workspace, "both", "theirs\n");
        write(workspace, "ours-goes", "one\ntheirs\n");
        fs::remove_file(workspace.join("theirs-goes")).unwrap();
        write(workspace, "new", "theirs\n");
    });
    write(&workspace, "both", "ours\n");
    fs::remove_file(workspace.join("ours-goes")).unwrap();
    write(&workspace, "theirs-goes", "one\nours\n");
    write(&workspace, "new", "ours\n");
    commit(&workspace, "ours");
    assert!(
        !try_git(&workspace, &["merge", "-q", &theirs])
            .status
            .success()
    );

    let told = yard
        .verb("main", "status", json!({ "verbosity": "full" }))
        .await;
    assert_eq!(lines(&told), porcelain(&workspace, &[]));
    let kinds = told["conflicted"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|it| [&it["path"], &it["kind"]]).collect();
    assert_eq!(
        json!(kinds),
        json!([
            ["both", "both_modified"],
            ["new", "both_added"],
            ["ours-goes", "deleted_by_us"],
            ["theirs-goes", "deleted_by_them"],
        ])
    );
    assert_eq!(told["operation"], json!({ "kind": "merge", "of": theirs }));
    assert_eq!(told["conflicted"][1]["base"], Value::Null);
    assert_eq!(told["conflicted"][1]["ours"]["mode"], "100644");
    assert_eq!(told["clean"], false);

    let some = yard
        .verb("main", "status", json!({ "paths": ["both"] }))
        .await;
    assert_eq!(some["counts"]["conflicted"], 1);
    let diff = yard
        .verb("main", "diff", json!({ "paths": ["both"] }))
        .await;
    assert_eq!(diff["files"][0]["status"], "conflicted");
    let agent = Agent::of_git(&yard, "main");
    let said = agent.tool("git_status", json!({})).await;
    let text = said["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("merge of") && text.contains("UU both\n"),
        "{text}"
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_rebase_under_way_has_a_step_and_no_branch() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    let theirs = fork(&workspace, |workspace| {
        write(workspace, "name.txt", "theirs\n");
    });
    write(&workspace, "first", "1\n");
    commit(&workspace, "first");
    write(&workspace, "name.txt", "ours\n");
    commit(&workspace, "second");
    assert!(
        !try_git(&workspace, &["rebase", "-q", &theirs])
            .status
            .success()
    );

    let told = yard.verb("main", "status", json!({})).await;
    assert_eq!(lines(&told), porcelain(&workspace, &[]));
    assert_eq!(told["on"], Value::Null);
    let expected = json!({ "kind": "rebase", "of": "main", "onto": theirs, "step": 2, "total": 2 });
    assert_eq!(told["operation"], expected);
    git(&workspace, &["rebase", "--abort"]);
    let told = yard
        .verb("main", "status", json!({ "verbosity": "minimal" }))
        .await;
    assert_eq!(
        (&told["on"], &told["operation"]),
        (&json!("main"), &Value::Null)
    );
    assert_eq!(told["clean"], true);
    yard.stop().await;
}

#[tokio::test]
async fn picks_and_reverts_say_of_what() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    let theirs = fork(&workspace, |workspace| {
        write(workspace, "name.txt", "theirs\n");
    });
    write(&workspace, "name.txt", "ours\n");
    commit(&workspace, "ours");
    write(&workspace, "name.txt", "again\n");
    commit(&workspace, "again");
    for (args, kind) in [
        (["cherry-pick", &theirs], "cherry-pick"),
        (["revert", "HEAD~1"], "revert"),
    ] {
        let of = git(&workspace, &["rev-parse", args[1]]);
        assert!(!try_git(&workspace, &args).status.success());
        let told = yard.verb("main", "status", json!({})).await;
        assert_eq!(told["operation"], json!({ "kind": kind, "of": of }));
        git(&workspace, &[args[0], "--abort"]);
    }
    yard.stop().await;
}

#[tokio::test]
async fn upstream_is_counted_both_ways() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    for name in ["one", "two"] {
        write(&workspace, name, name);
        commit(&workspace, name);
    }
    yard.origin.commit("theirs");
    yard.origin.push("main");
    git(
        &workspace,
        &[
            "fetch",
            "-q",
            "origin",
            "+refs/heads/main:refs/remotes/origin/main",
        ],
    );
    let told = yard.verb("main", "status", json!({})).await;
    let expected = json!({ "name": "origin/main", "ahead": 2, "behind": 1 });
    assert_eq!(told["upstream"], expected);
    yard.stop().await;
}

#[tokio::test]
async fn what_git_is_told_to_overlook_counts() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        git(&workspace, &["update-index", flag, "name.txt"]);
        let told = yard.verb("main", "status", json!({})).await;
        assert_eq!(told["clean"], true, "{flag}");
        write(&workspace, "name.txt", "mine\n");
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
        // In-process, and with the command's help.
        for asked in [json!({}), json!({ "ignored": true })] {
            let told = yard.verb("main", "status", asked).await;
            let expected =
                json!([{ "path": "name.txt", "change": "modified", "overlooked": true }]);
            assert_eq!(told["unstaged"], expected, "{flag}");
            assert_eq!(
                (&told["clean"], &told["dirty"]),
                (&json!(false), &json!(true))
            );
        }
        let no_flag = flag.replace("--", "--no-");
        git(&workspace, &["update-index", &no_flag, "name.txt"]);
        git(&workspace, &["checkout", "-q", "--", "name.txt"]);
    }
    yard.stop().await;
}

#[tokio::test]
async fn odd_entries_are_told_as_git_tells_them() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    // A submodule that nobody checked out.
    let entry = format!("160000,{},sub", git(&workspace, &["rev-parse", "HEAD"]));
    fs::create_dir(workspace.join("sub")).unwrap();
    git(
        &workspace,
        &["update-index", "--add", "--cacheinfo", &entry],
    );
    // A file that is only announced.
    for (name, content) in [("announced", "soon\n"), ("empty", "")] {
        write(&workspace, name, content);
        git(&workspace, &["add", "--intent-to-add", name]);
    }
    // A repository within.
    git(&workspace, &["init", "-q", "nested"]);
    write(&workspace, "nested/file", "x");
    for asked in [json!({}), json!({ "ignored": true })] {
        let told = yard.verb("main", "status", asked).await;
        assert_eq!(lines(&told), porcelain(&workspace, &[]));
    }
    git(&workspace, &["commit", "-q", "-m", "sub"]);
    let told = yard.verb("main", "status", json!({})).await;
    assert_eq!(lines(&told), porcelain(&workspace, &[]));
    yard.stop().await;
}

#[tokio::test]
async fn a_pipe_in_the_way_keeps_nobody_waiting() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    fs::remove_file(workspace.join("name.txt")).unwrap();
    for name in ["name.txt", "pipe"] {
        let made = std::process::Command::new("mkfifo")
            .arg(workspace.join(name))
            .status();
        assert!(made.unwrap().success());
    }
    let looks = async {
        let status = yard.verb("main", "status", json!({})).await;
        assert_eq!(status["unstaged"][0]["path"], "name.txt");
        assert_eq!(status["untracked"], json!([]));
        let asked = json!({ "include_untracked": true });
        let diff = yard.verb("main", "diff", asked).await;
        assert_eq!(diff["files"][0]["path"], "name.txt");
    };
    tokio::time::timeout(PATIENCE, looks).await.unwrap();
    yard.stop().await;
}

/// A commit that is on no branch, beside what the workspace is at.
fn fork(workspace: &Path, edit: impl FnOnce(&Path)) -> String {
    let tip = git(workspace, &["rev-parse", "HEAD"]);
    edit(workspace);
    commit(workspace, "theirs");
    let theirs = git(workspace, &["rev-parse", "HEAD"]);
    git(workspace, &["reset", "-q", "--hard", &tip]);
    theirs
}

fn write(workspace: &Path, name: &str, content: &str) {
    fs::write(workspace.join(name), content).unwrap();
}

fn commit(workspace: &Path, message: &str) {
    git(workspace, &["add", "-A"]);
    git(workspace, &["commit", "-q", "-m", message]);
}
