//! What there is in a workspace: ls, env. To read files is `read_file`'s, to search them `grep`'s.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{Machine, inspect};
use crate::mcp::call::Call;
use crate::mcp::page::{Paged, paged};
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, CommitId, Problem, RepoName, Scope};
use branchyard_workspace::{Entry, EntryKind, ListRequest, Listing};

pub(super) fn tools() -> Vec<Tool> {
    let entry = |name, title, description| ToolEntry {
        name,
        title,
        description,
        set: Toolset::Yard,
        right: Scope::RepoRead,
        effect: Effect::READS,
    };
    vec![
        Tool::new::<Ls, Paged<ListedFiles<'_>>, _>(
            &entry(
                "ls",
                "List files",
                "Lists a directory of a branch's workspace, with kinds and sizes. The first read of a branch \
                 makes its workspace. A long list is cut: go on with next_cursor, or read a directory below.",
            ),
            ls,
        ),
        Tool::new::<Env, Paged<Surroundings<'_>>, _>(
            &entry(
                "env",
                "Show the build environment",
                "Shows what a build of this branch finds: the machine, the compilers and tools with their \
                 versions, and the environment variables.",
            ),
            env,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ls {
    repo: RepoName,
    branch: BranchName,
    /// A directory or file, relative to the workspace; the workspace itself if left out.
    #[serde(default)]
    path: String,
    /// Also what is in directories below.
    #[serde(default)]
    recursive: bool,
    /// Also names that start with a dot; .git never.
    #[serde(default)]
    all: bool,
    /// An answer's next_cursor.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedFiles<'a> {
    repo: &'a RepoName,
    branch: &'a BranchName,
    commit: &'a CommitId,
    path: &'a str,
    entries: &'a [Entry],
}

async fn ls(call: Call, asked: Ls) -> Result<Reply, Problem> {
    let request = ListRequest {
        path: asked.path,
        recursive: asked.recursive,
        all: asked.all,
    };
    let listing = inspect::ls(call.app(), &asked.repo, &asked.branch, request);
    let (about, listing) = call.in_time(listing).await?;
    list_files(&call, &listing, asked.cursor.as_deref(), |entries| {
        ListedFiles {
            repo: &asked.repo,
            branch: &asked.branch,
            commit: &about.commit,
            path: &listing.path,
            entries,
        }
    })
}

/// The entries from the cursor on, as far as they fit; `answer` is made of them.
pub(super) fn list_files<'a, A: Serialize>(
    call: &Call,
    listing: &'a Listing,
    cursor: Option<&str>,
    answer: impl Fn(&'a [Entry]) -> A,
) -> Result<Reply, Problem> {
    paged(&listing.entries, cursor, |page| {
        let mut text = String::new();
        for entry in page.shown {
            let mark = match entry.kind {
                EntryKind::Dir => "/",
                EntryKind::Symlink => "@",
                EntryKind::File | EntryKind::Other => "",
            };
            let _ = writeln!(text, "{}{mark}", entry.path);
        }
        page.reply(call, &answer(page.shown), text, listing.truncated)
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Env {
    repo: RepoName,
    branch: BranchName,
    /// An answer's next_cursor.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Surroundings<'a> {
    repo: &'a RepoName,
    branch: &'a BranchName,
    commit: &'a CommitId,
    machine: &'a Machine,
    tools: &'a [crate::app::Tool],
    environment: &'a [Variable<'a>],
}

#[derive(Debug, Serialize, JsonSchema)]
struct Variable<'a> {
    name: &'a str,
    value: &'a str,
}

async fn env(call: Call, asked: Env) -> Result<Reply, Problem> {
    let looking = inspect::environment(call.app(), &asked.repo, &asked.branch);
    let (about, report) = call.in_time(looking).await?;
    let variables = report.environment.iter();
    let variables: Vec<_> = variables
        .map(|(name, value)| Variable { name, value })
        .collect();
    paged(&variables, asked.cursor.as_deref(), |page| {
        let answer = Surroundings {
            repo: &asked.repo,
            branch: &asked.branch,
            commit: &about.commit,
            machine: &report.machine,
            tools: &report.tools,
            environment: page.shown,
        };
        let Machine { os, cpus, .. } = &report.machine;
        let mut text = format!("{os}, {cpus} CPUs\n");
        for tool in &report.tools {
            let _ = writeln!(text, "{}: {}", tool.name, tool.version);
        }
        for Variable { name, value } in page.shown {
            let _ = writeln!(text, "{name}={value}");
        }
        page.reply(&call, &answer, text, false)
    })
}
