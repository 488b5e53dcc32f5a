//! The files of new workspaces, as the daemon writes them: many at once, and of every kind.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::support::{Yard, encode, git, json_of};

const FILES: usize = 300;

/// What git says of a workspace when nothing in it was looked at since it was made.
fn assert_true_to_its_commit(workspace: &Path, commit: &str) {
    let said = |args: &[&str]| git(workspace, args);
    // Without a refresh: the index has to be right as it was left.
    assert_eq!(said(&["diff-files", "--name-only"]), "");
    assert_eq!(said(&["status", "--porcelain", "--ignored"]), "");
    assert_eq!(said(&["rev-parse", "HEAD"]), commit);
    let tree = said(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(said(&["write-tree"]), tree);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_new_workspaces_at_once_have_the_files_that_git_would_write() {
    let mut yard = Yard::new().await;
    for number in 0..FILES {
        let path = format!("src/part-{}/file-{number}.txt", number % 17);
        yard.origin
            .write(&path, format!("{number}\n").repeat(number));
    }
    yard.origin.write(".gitattributes", "*.bat text eol=crlf\n");
    yard.origin.write("run.bat", "one\ntwo\n");
    let work = yard.origin.git(&["rev-parse", "--show-toplevel"]);
    symlink("src/part-0", Path::new(&work).join("link")).unwrap();
    yard.origin.commit("many files");
    yard.origin.push("main");
    let branches: Vec<_> = (0..32).map(|number| format!("new/{number}")).collect();
    let commits: Vec<_> = branches
        .iter()
        .map(|branch| yard.origin.branch(branch))
        .collect();

    let (yard_ref, mut made) = (&yard, tokio::task::JoinSet::new());
    for branch in &branches {
        let address = format!("/api/repos/demo/branches/{}", encode(branch));
        let request = yard_ref.request(reqwest::Method::PUT, &address);
        made.spawn(request.json(&json!({})).send());
    }
    while let Some(answer) = made.join_next().await {
        let described = json_of(answer.unwrap().unwrap()).await;
        assert_eq!(described["dirty"], false, "{described}");
    }

    for (branch, commit) in branches.iter().zip(&commits) {
        let workspace = yard.workspace(branch);
        assert_true_to_its_commit(&workspace, commit);
        let content = |path: &str| std::fs::read_to_string(workspace.join(path)).unwrap();
        assert_eq!(content("run.bat"), "one\r\ntwo\r\n");
        assert_eq!(content("link/file-17.txt"), "17\n".repeat(17));
    }
    let listed = git(&yard.store(), &["worktree", "list", "--porcelain"]);
    assert_eq!(listed.matches("branch refs/heads/new/").count(), 32);
    assert!(!listed.contains("locked"), "{listed}");
    git(&yard.store(), &["fsck", "--no-dangling"]);
    yard.stop().await;
}
