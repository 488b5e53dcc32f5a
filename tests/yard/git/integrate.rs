//! merge, rebase, cherry_pick, revert, resolve.

mod attacks;
mod kinds;
mod many;
mod merges;
mod nothing_lost;
mod picks;
mod rebases;
mod resolves;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Yard, git, problem_of};

/// What a side of a fork does in its work tree.
type Work = fn(&Path);

/// An upstream with `NAME-ours` and `NAME-theirs`, which both began at the same commit; each with a
/// workspace, so that both are known here.
async fn fork(yard: &Yard, name: &str, base: Work, ours: Work, theirs: Work) -> (String, String) {
    let tree = yard.dir.path().join("origin-work");
    let sides = (format!("{name}-ours"), format!("{name}-theirs"));
    yard.origin.at("main");
    base(&tree);
    let base = yard.origin.commit("base");
    for (branch, work) in [(&sides.0, ours), (&sides.1, theirs)] {
        yard.origin.at(&base);
        work(&tree);
        yard.origin.commit(branch);
        yard.origin.push(branch);
        let path = format!("/api/repos/demo/branches/{branch}");
        let made = yard.put(&path, json!({})).await;
        assert!(made.status().is_success(), "{branch}");
    }
    sides
}

/// A fork in which both sides change `f`.
async fn clash(yard: &Yard) -> (String, String) {
    fork(
        yard,
        "clash",
        |at| write(at, "f", "1\n2\n3\n"),
        |at| write(at, "f", "1\nours\n3\n"),
        |at| write(at, "f", "1\ntheirs\n3\n"),
    )
    .await
}

fn write(at: &Path, path: &str, content: &str) {
    let path = at.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn read(yard: &Yard, branch: &str, path: &str) -> String {
    std::fs::read_to_string(yard.workspace(branch).join(path)).unwrap()
}

/// All of a workspace: its files byte for byte with their modes, its index, HEAD and branch.
fn snapshot(workspace: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![workspace.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(workspace).unwrap().display().to_string();
            let meta = path.symlink_metadata().unwrap();
            let mode = meta.permissions().mode();
            if name == ".git" {
                continue;
            } else if meta.is_symlink() {
                let to = std::fs::read_link(&path).unwrap();
                found.insert(name, format!("link to {}", to.display()));
            } else if meta.is_dir() {
                pending.push(path);
            } else {
                let content = std::fs::read(&path).unwrap();
                found.insert(name, format!("{mode:o} {content:?}"));
            }
        }
    }
    for (name, args) in [
        ("(index)", &["ls-files", "--stage"][..]),
        ("(head)", &["rev-parse", "HEAD"]),
        ("(branch)", &["rev-parse", "--abbrev-ref", "HEAD"]),
        ("(status)", &["status", "--porcelain"]),
    ] {
        found.insert(name.to_owned(), git(workspace, args));
    }
    found
}

/// The conflicts of an answer: path, kind and form of each.
fn told(answer: &Value) -> Vec<(&str, &str, &str)> {
    let conflicts = answer["conflicts"].as_array().unwrap();
    let field = |conflict: &'static str, value| -> &str {
        let value: &Value = value;
        value[conflict].as_str().unwrap()
    };
    conflicts
        .iter()
        .map(|it| (field("path", it), field("kind", it), field("form", it)))
        .collect()
}

/// The refusal of a verb: its status and code, and the whole.
async fn refused(yard: &Yard, branch: &str, verb: &str, body: Value) -> (u16, String, Value) {
    let response = yard.try_verb(branch, verb, body).await;
    assert_ne!(response.status(), StatusCode::OK);
    let (status, problem) = problem_of(response).await;
    let code = problem["code"].as_str().unwrap().to_owned();
    (status, code, problem)
}

fn commit(yard: &Yard, branch: &str, path: &str, content: &str, message: &str) -> String {
    let workspace = yard.workspace(branch);
    write(&workspace, path, content);
    git(&workspace, &["add", "-A"]);
    git(
        &workspace,
        &["commit", "-q", "--cleanup=verbatim", "-m", message],
    );
    git(&workspace, &["rev-parse", "HEAD"])
}
