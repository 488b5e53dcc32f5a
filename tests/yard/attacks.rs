//! Hostile input at the wire, and what it gets: every row of the list of attacks, over HTTP and over MCP. What
//! is named without a path is a module below this one; the rest is beside it.
//!
//! | row | what | HTTP | MCP |
//! | --- | --- | --- | --- |
//! | 1 | branches that are none | `segments`, `urls` | `tools` |
//! | 2 | shell syntax in a branch | `segments`, `names` | `agents` |
//! | 3 | names that look alike | `names` | `agents` |
//! | 4 | escapes in a path | `segments` | `tools`, `mcp::resources` (names of resources; a tool has no path) |
//! | 5 | URLs of repositories | `urls`; by `git/clone`: `tools` | `tools` |
//! | 6 | a token in a URL | `urls`, `tools`; one that git uses: `git::remotes::hidden` | `tools` |
//! | 7 | arguments for git | `arguments`, `git::look::refused`, `git::integrate::attacks` | `tools`, and those |
//! | 8 | git that harms others | `arguments`, `git::push`, `git::reset`, `git::clean` | `tools`, and those |
//! | 9 | what a build plants | `plants`, `disguises`, `sandbox::hostile` | `agents` |
//! | 10 | submodules | `makefiles`, `disguises` | `agents` |
//! | 11 | links out of the tree | `reads`, `agents` | `agents`, `mcp::files`, `mcp::resources`, `mcp::grep` |
//! | 12 | what is no file to read | `reads`, `agents` | `mcp::files`, `mcp::resources`, `agents` |
//! | 13 | arguments for make | `makefiles` | `tools`; honest ones: `agents` |
//! | 14 | the number of jobs | `makefiles` | `agents` |
//! | 15 | variables | `environment` | `tools`; what a build is given: `agents` |
//! | 16 | foreign pages | `doors` | `mcp::doors`, `agents` |
//! | 17 | what is almost a key | `doors`, `tokens::attacks`, `wire::slow`, `oauth::forged` | the same, at `/mcp`; `agents` |
//! | 18 | what is others' | `rights::addresses`, `rights::bounds` | `rights::tools`, `rights::bounds`, `others` |
//! | 19 | output that forges | `output` | `agents` |
//! | 20 | cursors | `output` | `agents`, `mcp::hostile` |
//! | 21 | secrets in output | `secrets::given` | `mcp::secrets`, `secrets::given` |
//! | 22 | bodies | `bodies` | `mcp::doors`, `agents`; fields of every tool: `tools` |
//! | 23 | too many, too slow | `others`, `wire::limits`, `wire::slow`, `wire::soak` | `others`, `wire::limits` |
//! | 24 | paths of others in arguments | `reads`, `git::look::refused` | `tools`, `mcp::files`, `git::integrate::attacks` |
//!
//! What is not sent, and why:
//!
//! - Bytes that are no UTF-8 (row 1) over MCP: JSON has none, so there is no message to send. In the name of a
//!   resource they are `%ff`, in `tools`.
//! - Slow heads and readers (row 23) at `/mcp`: the connection is served before its address is known, and
//!   `wire::slow` is about connections. That `/mcp` counts as a stream is in `wire::limits`.
//! - That hashes are compared in constant time (row 17) is not measured, for a clock says nothing of it over a
//!   socket: `auth` compares by `subtle`, and `tokens::attacks` shows that all refusals are the same.

mod agents;
mod arguments;
mod bodies;
mod disguises;
mod doors;
mod environment;
mod makefiles;
mod others;
mod output;
mod patterns;
mod plants;
mod segments;
mod tenant;
mod tools;
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
