//! Which tools there are, by what they say of themselves.
//!
//! They are asked each time. A program may be a proxy for another that was replaced (rustup's are), so
//! that its own file tells nothing; and asking costs little beside what a run costs that need not be.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use branchyard_config::Tool;
use branchyard_process::{Captured, Timeouts, capture, find_program, plain_command};

/// How long a tool may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(10);
/// And how much it may say.
const MOST: usize = 64 * 1024;

/// A program's file.
#[derive(Debug, Serialize)]
pub(crate) struct ProgramIdentity {
    path: PathBuf,
    size: u64,
    changed: (i64, i64),
}

/// What each of the tools says, with the environment that builds have; or why one says nothing, in words.
/// They are started outside of any workspace: nothing of a branch is run here.
pub(crate) async fn versions(
    tools: &[Tool],
    env: &BTreeMap<String, String>,
) -> Result<Vec<String>, String> {
    let mut said = Vec::with_capacity(tools.len());
    for tool in tools {
        let (words, captured) = (tool.argv().join(" "), ask(tool, env).await?);
        said.push(format!(
            "{words}\n{:?}\n{:?}",
            captured.stdout, captured.stderr
        ));
    }
    Ok(said)
}

/// What a tool prints.
pub(crate) async fn ask(tool: &Tool, env: &BTreeMap<String, String>) -> Result<Captured, String> {
    let mut command = plain_command(&tool.argv()[0], Path::new("/"));
    command.args(&tool.argv()[1..]).envs(env);
    let timeouts = Timeouts {
        total: Some(PATIENCE),
        stall: None,
    };
    let words = tool.argv().join(" ");
    let captured = capture(command, timeouts, None, MOST, |_| {})
        .await
        .map_err(|error| format!("`{words}` of its toolchain failed: {error}"))?;
    if !captured.status.success() || captured.truncated {
        return Err(format!(
            "`{words}` of its toolchain ended with {}",
            captured.status
        ));
    }
    Ok(captured)
}

/// The file of a program that is found by its name. One that is named by a path in the workspace is part
/// of the tree.
pub(crate) fn identity(program: &str, env: &BTreeMap<String, String>) -> Option<ProgramIdentity> {
    let file = match Path::new(program) {
        path if path.is_absolute() => Some(path.to_owned()),
        _ => find_program(program, env.get("PATH")?),
    };
    let path = file?.canonicalize().ok()?;
    let meta = path.metadata().ok()?;
    Some(ProgramIdentity {
        size: meta.size(),
        changed: (meta.mtime(), meta.mtime_nsec()),
        path,
    })
}
