//! The servers that are compared, and how each is asked.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::setting::Served;
use crate::support::PROGRAM;

/// A server and its words for status, log and diff.
pub struct Server<'a> {
    pub command: Box<dyn Fn() -> Command + 'a>,
    pub calls: [(&'static str, Value); 3],
    /// Whose memory counts besides its own.
    pub daemon: Option<u32>,
}

/// The yard over stdio, with these flags.
pub fn proxy(served: &Served, flags: &[&str]) -> Command {
    let key = served.site.yard.workspaces.join(".branchyard/auth.header");
    let mut command = Command::new(PROGRAM);
    command
        .args(["mcp", "--repo", "demo", "--branch", "main"])
        .args(flags)
        .args(["--url", &served.url, "--key-file"])
        .arg(key);
    command
}

pub fn ours(served: &Served) -> Server<'_> {
    Server {
        command: Box::new(move || proxy(served, &["--toolsets", "git_read"])),
        calls: [
            ("git_status", json!({})),
            ("git_log", json!({ "count": 20 })),
            ("git_diff", json!({})),
        ],
        daemon: Some(served.pid()),
    }
}

pub fn python(peers: &Path, workspace: &Path) -> Server<'static> {
    let program = peers.join("venv/bin/mcp-server-git");
    let path = workspace.to_owned();
    let place = |more: Value| {
        let mut place = json!({ "repo_path": path });
        place
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        place
    };
    Server {
        calls: [
            ("git_status", place(json!({}))),
            ("git_log", place(json!({ "max_count": 20 }))),
            ("git_diff_unstaged", place(json!({}))),
        ],
        command: Box::new({
            let path: PathBuf = path.clone();
            move || {
                let mut command = Command::new(&program);
                command.arg("--repository").arg(&path);
                command
            }
        }),
        daemon: None,
    }
}

pub fn node(peers: &Path, workspace: &Path) -> Server<'static> {
    let (program, script) = (
        peers.join("node"),
        peers.join("node_modules/@cyanheads/git-mcp-server/dist/index.js"),
    );
    Server {
        calls: [
            ("git_status", json!({ "path": workspace })),
            ("git_log", json!({ "path": workspace, "maxCount": 20 })),
            ("git_diff", json!({ "path": workspace })),
        ],
        command: Box::new(move || {
            let mut command = Command::new(&program);
            command.arg(&script).envs([
                ("MCP_TRANSPORT_TYPE", "stdio"),
                ("NODE_ENV", "production"),
                ("MCP_LOG_LEVEL", "error"),
            ]);
            command
        }),
        daemon: None,
    }
}
