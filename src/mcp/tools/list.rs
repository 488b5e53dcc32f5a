//! What there is: repos, their workspaces, their branches.

use std::fmt::Write;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workspace::standing;
use crate::app::{RepoSummary, Unavailable, branches, repos};
use crate::mcp::call::Call;
use crate::mcp::page::{Paged, fitted_page, paged};
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, CommitId, Holder, Problem, RepoName, Scope};
use branchyard_workspace::{Description, Pin};

/// Workspaces that are looked at for one answer, which holds about as many.
const PAGE: usize = 64;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new::<List, Paged<ListedRepos<'_>>, _>(
        &ToolEntry {
            name: "list",
            title: "List repos and workspaces",
            description: "Lists the repositories with their default branch and tasks; with repo its workspaces, \
                one for each branch in use; with repo and branch everything about that workspace. Start here: \
                the other tools take the names that this gives.",
            set: Toolset::Yard,
            right: Scope::RepoRead,
            effect: Effect::READS.reaching_out(),
        },
        list,
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only this repository, with its workspaces.
    repo: Option<RepoName>,
    /// Only this branch of the repo, described fully. It must have a workspace.
    branch: Option<BranchName>,
    /// Also the repo's branches that only the remote has.
    #[serde(default)]
    remote: bool,
    /// An answer's next_cursor.
    cursor: Option<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct ListedRepos<'a> {
    repos: &'a [RepoSummary],
    /// Of the repo that was asked for, in the order of their branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspaces: Option<&'a [Short<'a>]>,
    /// Those that do not answer or are damaged.
    #[serde(skip_serializing_if = "<[Unavailable]>::is_empty")]
    unavailable: &'a [Unavailable],
    /// The one that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<&'a Description>,
}

/// A workspace in a list.
#[derive(Debug, Serialize, JsonSchema)]
struct Short<'a> {
    branch: &'a BranchName,
    commit: Option<&'a CommitId>,
    /// Only the remote has this branch; the first use makes its workspace.
    remote_only: bool,
    /// Tracked files or the index differ from the commit.
    dirty: bool,
    /// Commits that the remote branch lacks.
    ahead: usize,
    /// Commits of the remote branch that are not here.
    behind: usize,
    /// Why it may not be removed.
    pins: &'a [String],
    /// Who wants it kept, by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<&'a Pin>,
    last_used: Option<Timestamp>,
    /// Who is at work in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<&'a Holder>,
}

async fn list(call: Call, asked: List) -> Result<Reply, Problem> {
    let cursor = asked.cursor.as_deref();
    let Some(repo) = asked.repo else {
        if asked.branch.is_some() || asked.remote {
            let detail = "a branch or remote: true is of a repo, and none is named";
            return Err(Problem::unprocessable("repo", detail));
        }
        return repos(&call, cursor);
    };
    let summary = [repos::repo_summary(call.app(), &*call.app().repo(&repo)?)];
    match asked.branch {
        None => workspaces(&call, &summary, asked.remote, cursor).await,
        Some(branch) => {
            let description = call
                .in_time(branches::describe(call.app(), &repo, &branch))
                .await?;
            let answer = ListedRepos {
                repos: &summary,
                workspace: Some(&description),
                ..ListedRepos::default()
            };
            let [repo] = &summary;
            let text = repo_line(repo) + &standing(&description);
            call.reply(&Paged::new(answer, None), text)
        }
    }
}

fn repos(call: &Call, cursor: Option<&str>) -> Result<Reply, Problem> {
    let repos = call.app().repos();
    let all: Vec<_> = repos
        .iter()
        .map(|repo| repos::repo_summary(call.app(), repo))
        .collect();
    paged(&all, cursor, |page| {
        let answer = ListedRepos {
            repos: page.shown,
            ..ListedRepos::default()
        };
        let mut text: String = page.shown.iter().map(repo_line).collect();
        if all.is_empty() {
            text.push_str("there is no repository yet; `repos` (toolset admin) registers one");
        }
        page.reply(call, &answer, text, false)
    })
}

async fn workspaces(
    call: &Call,
    summary: &[RepoSummary; 1],
    remote: bool,
    cursor: Option<&str>,
) -> Result<Reply, Problem> {
    let last = cursor.map(BranchName::parse).transpose().map_err(|_| {
        let detail = "it is not a cursor of this repo's list";
        Problem::unprocessable("cursor", detail)
            .help("pass the next_cursor of the answer before, as it is")
    })?;
    let [repo] = summary;
    let looking = branches::branches_after(call.app(), &repo.name, remote, last.as_ref(), PAGE);
    let found = call.in_time(looking).await?;
    let all: Vec<_> = found.items.iter().map(short).collect();
    let next = |count: usize| match count == all.len() {
        true => found.next.as_ref().map(ToString::to_string),
        false => all[..count].last().map(|shown| shown.branch.to_string()),
    };
    fitted_page(&all, next, |page| {
        let answer = ListedRepos {
            repos: summary,
            workspaces: Some(page.shown),
            unavailable: &found.unavailable,
            ..ListedRepos::default()
        };
        let mut text = repo_line(repo);
        text.extend(page.shown.iter().map(line));
        for missing in &found.unavailable {
            let _ = writeln!(text, "{}: unavailable: {}", missing.branch, missing.reason);
        }
        if let Some(notice) = found.notice {
            let _ = writeln!(text, "{notice}");
        }
        page.reply(call, &answer, text, false)
    })
}

fn short(description: &Description) -> Short<'_> {
    Short {
        branch: &description.branch,
        commit: description.commit.as_ref(),
        remote_only: description.path.is_none(),
        dirty: description.dirty,
        ahead: description.ahead,
        behind: description.behind,
        pins: &description.pins,
        pinned: description.pinned.as_ref(),
        last_used: description.last_used,
        holder: description.holder.as_ref(),
    }
}

fn repo_line(repo: &RepoSummary) -> String {
    let mut line = repo.name.to_string();
    if let Some(branch) = &repo.default_branch {
        let _ = write!(line, ", default branch {branch}");
    }
    let _ = write!(line, ", workspaces: {}", repo.workspaces);
    if !repo.tasks.is_empty() {
        let _ = write!(line, ", tasks: {}", repo.tasks.join(" "));
    }
    line + "\n"
}

fn line(workspace: &Short<'_>) -> String {
    let commit = workspace
        .commit
        .map_or("no commit", |id| &id.as_str()[..12]);
    let mut line = format!("{} {commit}", workspace.branch);
    for (is_so, word) in [
        (workspace.remote_only, " remote-only"),
        (workspace.dirty, " dirty"),
        (workspace.pinned.is_some(), " pinned"),
    ] {
        if is_so {
            line.push_str(word);
        }
    }
    for (count, word) in [(workspace.ahead, "ahead"), (workspace.behind, "behind")] {
        if count > 0 {
            let _ = write!(line, " {word} {count}");
        }
    }
    if let Some(holder) = workspace.holder {
        let _ = write!(line, " in use: {}", holder.what);
    }
    line + "\n"
}
