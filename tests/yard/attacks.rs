//! Hostile input at the wire, and what it gets. Names that merely look alike (and must be different
//! workspaces) are in `names`.

mod arguments;
mod bodies;
mod disguises;
mod doors;
mod environment;
mod makefiles;
mod output;
mod plants;
mod segments;
mod urls;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Answer, Yard};

/// A refusal by this status that names the field; `input` is what was refused.
fn refused(answer: &Answer, status: &[u16], field: &str, input: &str) -> Value {
    assert!(status.contains(&answer.status), "{input}: {answer:?}");
    let problem = answer.problem(input);
    assert_eq!(problem["field"], field, "{input}: {problem}");
    assert!(
        problem["detail"].as_str().is_some_and(|s| !s.is_empty()),
        "{input}: {problem}"
    );
    problem
}

/// Nothing was started for any of the requests so far: no run, no clone, no workspace.
async fn untouched(yard: &Yard) {
    let runs = yard.get_json("/api/runs").await;
    assert_eq!(runs["items"], json!([]), "a run was started");
    let repo = yard.get_json("/api/repos/demo").await;
    assert_eq!(repo["cloned"], false, "something was cloned");
    assert!(!yard.workspaces.join("demo").exists());
}

/// A file that nothing honest makes, and the shell command that makes it.
struct Marker(PathBuf);

impl Marker {
    fn new(yard: &Yard) -> Self {
        Self(yard.dir.path().join("marker"))
    }

    fn touch(&self) -> String {
        format!("touch {}", self.0.display())
    }

    fn assert_absent(&self, input: &str) {
        assert!(!self.0.exists(), "{input}: what was planted was executed");
    }
}

/// Every file below `dir` of this name.
fn find(dir: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|n| n == name) {
            found.push(path.clone());
        }
        if path.is_dir() && !path.is_symlink() {
            found.extend(find(&path, name));
        }
    }
    found
}
