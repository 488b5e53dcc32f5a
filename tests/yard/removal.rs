//! Workspaces prepared and removed, and branches that start in the yard. What somebody could miss
//! is never removed.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use reqwest::StatusCode;
use serde_json::json;

use crate::support::{Yard, encode, git, problem_of, text_of, warnings_of};

fn address(branch: &str) -> String {
    format!("/api/repos/demo/branches/{}", encode(branch))
}

/// A git commit as the branch's own, in its workspace.
fn commit_in(workspace: &Path, message: &str) {
    git(workspace, &["commit", "-q", "--allow-empty", "-m", message]);
}

fn has_ref(yard: &Yard, name: &str) -> bool {
    let refs = git(&yard.store(), &["for-each-ref", "--format=%(refname)"]);
    refs.lines().any(|line| line == name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_workspace_goes_without_a_trace_and_comes_back_whole() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    for branch in ["plain", "topic/one"] {
        yard.origin.branch(branch);
        yard.make(branch, &["who"]).await;
        let workspace = yard.workspace(branch);
        let dir = workspace.file_name().unwrap().to_str().unwrap().to_owned();
        let admin = yard.store().join("worktrees").join(&dir);
        // Build output does not keep it.
        std::fs::create_dir(workspace.join("target")).unwrap();
        std::fs::write(workspace.join("target/x"), "").unwrap();
        std::fs::write(workspace.join("main.o"), "").unwrap();
        assert!(admin.is_dir(), "{branch}");
        assert!(has_ref(&yard, &format!("refs/heads/{branch}")), "{branch}");

        let answer = yard.delete(&address(branch)).await;
        let status = answer.status();
        let body = answer.text().await.unwrap();
        let expected = (StatusCode::NO_CONTENT, "");
        assert_eq!((status, body.as_str()), expected, "{branch}");
        assert!(!workspace.exists(), "{branch}");
        assert!(!admin.exists(), "{branch}");
        let registered = git(&yard.store(), &["worktree", "list", "--porcelain"]);
        assert!(!registered.contains(&dir), "{branch}: {registered}");
        assert!(!has_ref(&yard, &format!("refs/heads/{branch}")), "{branch}");
        let seen = format!("refs/branchyard/seen/{dir}");
        assert!(!has_ref(&yard, &seen), "{branch}");
        let (status, problem) = problem_of(yard.get(&address(branch)).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (404, &json!("no_workspace")),
            "{branch}"
        );
        let (status, problem) = problem_of(yard.delete(&address(branch)).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (404, &json!("no_workspace")),
            "{branch}"
        );

        let events = yard.make(branch, &["who"]).await;
        assert_eq!(text_of(&events), format!("{branch}\n"));
        assert_eq!(warnings_of(&events), Vec::<&str>::new(), "{branch}");
        assert!(
            !workspace.join("main.o").exists(),
            "{branch}: it is a new one"
        );
    }
    let described = yard.get_json(&address("main")).await;
    assert_eq!(
        described["pins"],
        json!([]),
        "its neighbours are as they were"
    );
    yard.stop().await;
    let trash = yard.workspaces.join(".branchyard/trash");
    assert_eq!(
        std::fs::read_dir(trash).unwrap().count(),
        0,
        "the trash is empty"
    );
}

/// Everything that a user could miss: how it is made, and the words that the refusal says it with.
type Work = (&'static str, fn(&Yard, &Path), &'static str);

const WORK: &[Work] = &[
    (
        "a tracked edit",
        |_, w| write(w, "name.txt", "mine\n"),
        "tracked files",
    ),
    (
        "a deleted file",
        |_, w| std::fs::remove_file(w.join("name.txt")).unwrap(),
        "tracked files",
    ),
    (
        "staged only",
        |_, w| {
            write(w, "name.txt", "mine\n");
            git(w, &["add", "name.txt"]);
            write(w, "name.txt", "work\n");
        },
        "tracked files",
    ),
    (
        "a new file, staged and gone",
        |_, w| {
            write(w, "new.txt", "mine\n");
            git(w, &["add", "new.txt"]);
            std::fs::remove_file(w.join("new.txt")).unwrap();
        },
        "tracked files",
    ),
    (
        "an untracked file",
        |_, w| write(w, "notes.txt", "mine\n"),
        "notes.txt",
    ),
    (
        "an untracked file in a directory",
        |_, w| write(w, "notes/deep/x", "mine\n"),
        "notes",
    ),
    (
        "an ignored file",
        |_, w| write(w, "ignored/settings", "mine\n"),
        "ignored",
    ),
    (
        "an unpushed commit",
        |_, w| commit_in(w, "mine"),
        "1 commit",
    ),
    (
        "a detached commit",
        |_, w| {
            git(w, &["checkout", "-q", "--detach"]);
            commit_in(w, "mine");
        },
        "commit",
    ),
    (
        "a commit left behind on the branch",
        |_, w| {
            commit_in(w, "mine");
            git(w, &["checkout", "-q", "-b", "elsewhere", "HEAD~1"]);
        },
        "commit",
    ),
    (
        "a stash",
        |_, w| {
            write(w, "name.txt", "mine\n");
            git(w, &["stash", "-q"]);
        },
        "stash",
    ),
    (
        "a named stash",
        |_, w| {
            write(w, "name.txt", "mine\n");
            git(w, &["stash", "push", "-q", "-m", "for later"]);
        },
        "stash",
    ),
    (
        "a merge under way",
        |_, w| {
            git(
                w,
                &["merge", "-q", "--no-ff", "--no-commit", "origin/other"],
            );
        },
        "merge",
    ),
    (
        "an overlooked edit",
        |_, w| {
            git(w, &["update-index", "--assume-unchanged", "name.txt"]);
            write(w, "name.txt", "mine\n");
        },
        "tracked files",
    ),
    (
        "an edit outside the sparse checkout",
        |_, w| {
            git(w, &["update-index", "--skip-worktree", "name.txt"]);
            write(w, "name.txt", "mine\n");
        },
        "tracked files",
    ),
    (
        "a nested repository",
        |_, w| {
            git(w, &["init", "-q", "nested"]);
            commit_in(&w.join("nested"), "mine");
        },
        "nested",
    ),
    (
        "a submodule's own repository",
        |yard, w| {
            add_submodule(yard, w);
        },
        "submodules",
    ),
    (
        "an edit in a submodule",
        |yard, w| {
            add_submodule(yard, w);
            write(w, "sub/name.txt", "mine\n");
        },
        "tracked files",
    ),
    (
        "a name that is not text",
        |_, w| {
            let name = std::ffi::OsStr::from_bytes(b"precious\xff");
            std::fs::write(w.join(name), "mine\n").unwrap();
        },
        "precious",
    ),
    (
        "a nested repository among ignored files",
        |_, w| {
            std::fs::create_dir_all(w.join("ignored")).unwrap();
            git(w, &["init", "-q", "ignored/nested"]);
            commit_in(&w.join("ignored/nested"), "mine");
        },
        "ignored",
    ),
];

/// Adds a submodule, commits and pushes it: all of the branch is on the remote.
fn add_submodule(yard: &Yard, workspace: &Path) {
    let allow = "protocol.file.allow=always";
    git(
        workspace,
        &[
            "-c",
            allow,
            "submodule",
            "add",
            "-q",
            &yard.origin.url(),
            "sub",
        ],
    );
    git(workspace, &["commit", "-q", "-m", "submodule"]);
    git(workspace, &["push", "-q", "origin", "work"]);
}

fn write(workspace: &Path, file: &str, content: &str) {
    let path = workspace.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_with_work_stays() {
    for (what, work, said) in WORK {
        let mut yard = Yard::new().await;
        yard.origin.branch("work");
        yard.origin.at("origin/work");
        yard.origin.write("other.txt", "other\n");
        yard.origin.commit("other");
        yard.origin.push("other");
        yard.make("other", &["who"]).await;
        yard.make("work", &["who"]).await;
        let workspace = yard.workspace("work");
        work(&yard, &workspace);
        let before = snapshot(&yard);

        let described = yard.get_json(&address("work")).await;
        let pins = described["pins"].to_string();
        assert!(pins.contains(said), "{what}: pinned by {pins}");
        let (status, problem) = problem_of(yard.delete(&address("work")).await).await;
        let got = (status, &problem["code"], &problem["field"]);
        let expected = (409, &json!("workspace_has_work"), &json!("branch"));
        assert_eq!(got, expected, "{what}: {problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{what}: {detail}");
        let forced = yard
            .delete(&format!("{}?force=true", address("work")))
            .await;
        let (status, problem) = problem_of(forced).await;
        assert_eq!(
            (status, &problem["field"]),
            (501, &json!("force")),
            "{what}"
        );
        assert_eq!(snapshot(&yard), before, "{what}: nothing was touched");

        // It is this branch's work and nobody else's.
        let described = yard.get_json(&address("other")).await;
        assert_eq!(described["pins"], json!([]), "{what}");
        let other = yard.delete(&address("other")).await;
        assert_eq!(other.status(), StatusCode::NO_CONTENT, "{what}");
        yard.stop().await;
    }
}

/// Everything of the workspace that could be lost: files, index, refs and stashes.
fn snapshot(yard: &Yard) -> Vec<String> {
    let workspace = yard.workspace("work");
    let files = std::process::Command::new("find")
        .args([
            ".",
            "-type",
            "f",
            "-not",
            "-name",
            "index",
            "-exec",
            "sha256sum",
            "{}",
            ";",
        ])
        .current_dir(&workspace)
        .output()
        .unwrap();
    let mut files: Vec<_> = String::from_utf8_lossy(&files.stdout)
        .lines()
        .map(str::to_owned)
        .collect();
    files.sort();
    let refs = git(&yard.store(), &["for-each-ref"]);
    let index = git(&workspace, &["ls-files", "--stage", "-v"]);
    files.extend([refs, index]);
    files
}
