//! Searching a workspace.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::inspect;
use crate::mcp::call::Call;
use crate::mcp::page::{Paged, fitted_page};
use crate::mcp::reply::{Reply, cut};
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, CommitId, Problem, RepoName, Scope};
use branchyard_workspace::{GrepRequest, LineMatch, Matches};

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new::<Grep, Paged<Found<'_>>, _>(
        &ToolEntry {
            name: "grep",
            title: "Search files",
            description: "Searches the files of a branch's workspace for lines that match a regular expression. \
                What .gitignore leaves out is passed over unless path names it. Go on with next_cursor, or \
                read around a match with `read_file`.",
            set: Toolset::Yard,
            right: Scope::RepoRead,
            effect: Effect::READS,
        },
        grep,
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Grep {
    repo: RepoName,
    branch: BranchName,
    /// A regular expression in the syntax of Rust's regex crate (no look-around), matched against each line.
    pattern: String,
    /// A directory or file, relative to the workspace; all of it if left out.
    #[serde(default)]
    path: String,
    /// Only files that match, such as *.rs or src/**/*.{c,h}; without a slash the name alone counts.
    glob: Option<String>,
    /// Upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
    /// Lines to show before and after each match, 10 at most.
    #[serde(default)]
    context: usize,
    /// Matches to show, 100 if left out, 1000 at most.
    limit: Option<usize>,
    /// An answer's next_cursor.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Found<'a> {
    repo: &'a RepoName,
    branch: &'a BranchName,
    commit: &'a CommitId,
    matches: Vec<LineMatch>,
    /// Files that were searched.
    searched: usize,
    /// Files and directories that could not be: not text, too large, not to be opened.
    skipped: usize,
}

async fn grep(call: Call, asked: Grep) -> Result<Reply, Problem> {
    let context = asked.context;
    let request = GrepRequest {
        pattern: asked.pattern,
        path: asked.path,
        glob: asked.glob,
        ignore_case: asked.ignore_case,
        context: asked.context,
        limit: asked.limit,
        cursor: asked.cursor,
    };
    let searching = inspect::grep(call.app(), &asked.repo, &asked.branch, request);
    let (about, found) = call.in_time(searching).await?;
    show_matches(&call, &found, context, |matches| Found {
        repo: &asked.repo,
        branch: &asked.branch,
        commit: &about.commit,
        matches,
        searched: found.searched,
        skipped: found.skipped,
    })
}

/// What was found with so many lines of context, as far as it fits; `answer` is made of it.
pub(super) fn show_matches<A: Serialize>(
    call: &Call,
    found: &Matches,
    context: usize,
    answer: impl Fn(Vec<LineMatch>) -> A,
) -> Result<Reply, Problem> {
    // It was not refused, so it is small.
    let lines = 2 * context + 1;
    let next = |count: usize| match count == found.matches.len() {
        true => found.next.clone(),
        false => found.matches[..count].last().map(LineMatch::cursor),
    };
    fitted_page(&found.matches, next, |page| {
        let matches: Vec<_> = page
            .shown
            .iter()
            .map(|found| shortened(found, page.room / lines))
            .collect();
        let mut text = told(&matches);
        match (matches.is_empty(), found.truncated) {
            (true, true) => text.push_str("nothing was found so far "),
            (true, false) => text.push_str("nothing was found"),
            (false, _) => {}
        }
        page.reply(call, &answer(matches), text, found.truncated)
    })
}

fn shortened(found: &LineMatch, room: usize) -> LineMatch {
    found.with_lines(|line| cut(line, room))
}

/// As the command of this name prints it.
fn told(matches: &[LineMatch]) -> String {
    let mut text = String::new();
    for found in matches {
        let (path, line) = (found.path(), found.line());
        for (number, before) in (line - found.before().len() as u64..).zip(found.before()) {
            let _ = writeln!(text, "{path}-{number}-{before}");
        }
        let _ = writeln!(text, "{path}:{line}:{}", found.text());
        for (number, after) in (line + 1..).zip(found.after()) {
            let _ = writeln!(text, "{path}-{number}-{after}");
        }
    }
    text
}
