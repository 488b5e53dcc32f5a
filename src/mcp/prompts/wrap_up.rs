//! `wrap_up`: what is left to do before work on a branch is done, by the state that it is in.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::arguments::{Arguments, needed};
use super::wording::{commit, subject, verdict};
use crate::app::verbs::{At, verb};
use crate::app::{QuickRequest, branches, inspect, runs};
use crate::mcp::call::Call;
use crate::mcp::fit;
use branchyard_db::run_index::Filter;
use branchyard_model::{
    BranchName, EndState, ErrorKind, Problem, RepoName, RunKind, RunRecord, RunState, Scope,
};
use branchyard_runs::argv::Args;
use branchyard_workspace::Description;

/// Bytes for the names of changed files.
const ROOM_FOR_NAMES: usize = 6_000;
/// Bytes for the operator's own words.
const ROOM_FOR_WORDS: usize = 16_000;
/// Runs that are looked through for the last build.
const LOOKED_THROUGH: usize = 50;

pub(super) async fn text(call: &Call, mut arguments: Arguments) -> Result<String, Problem> {
    let repo = needed(arguments.repo()?, "repo")?;
    let branch = needed(arguments.branch()?, "branch")?;
    arguments.finish()?;
    call.app().require(Scope::GitRead)?;
    let now = call
        .in_time(branches::describe(call.app(), &repo, &branch))
        .await
        .map_err(|problem| match &*problem.code {
            "no_workspace" => {
                problem.help("nothing was done here yet: `make` makes a workspace and builds")
            }
            _ => problem,
        })?;
    if let Some(file) = &call.app().config().mcp.wrap_up_file {
        return own_words(file, &repo, &branch, &now).await;
    }
    let status = QuickRequest {
        operation: "status".to_owned(),
        args: Args::List(vec!["--porcelain".to_owned()]),
    };
    let looking = inspect::git_quick(call.app(), &repo, &branch, status);
    let (_, status) = call.in_time(looking).await?;
    let filter = Filter {
        repo: Some(repo.clone()),
        branch: Some(branch.clone()),
        ..Filter::default()
    };
    let (runs, _) = runs::runs_by(call.app(), filter, LOOKED_THROUGH).await?;
    let last = runs.iter().find(|run| run.spec.kind != RunKind::Git);

    let at = At {
        repo: repo.clone(),
        branch: branch.clone(),
    };
    let said = verb("changelog")?.call(call.app(), at, json!({ "verbosity": "minimal" }));
    // What the commits since the last release come to.
    let release = call.in_time(said).await?.json()?;
    let stored = call.app().repo(&repo)?;
    let is_protected = call.app().is_protected(&stored, &branch).await?;
    let at = now.commit.as_ref().map_or_else(
        || "before its first commit".to_owned(),
        |commit| format!("at commit {commit}"),
    );
    let mut text = format!(
        "Wrap up the work on {repo}/{branch}. This is how it stands now, {at}; go through the list in order, and \
skip what is done.\n\n"
    );
    if let Some(operation) = &now.operation {
        let _ = writeln!(
            text,
            "0. A {operation} is under way. Finish or abort it first: nothing below makes sense before."
        );
    }
    for (number, item) in (1..).zip([
        review(&now, &status.stdout),
        build(&now, last),
        commit_left(&now),
        changelog(&release),
        tag(&release),
        push(&now, is_protected),
    ]) {
        let _ = writeln!(text, "{number}. {item}");
    }
    Ok(text)
}

/// What the operator has to say in place of it.
async fn own_words(
    file: &Path,
    repo: &RepoName,
    branch: &BranchName,
    now: &Description,
) -> Result<String, Problem> {
    let text = tokio::fs::read_to_string(file).await.map_err(|error| {
        let file = file.display();
        let detail = format!("mcp.wrap_up_file, {file}, cannot be read: {error}");
        Problem::new(ErrorKind::Internal, "wrap_up_unreadable", detail)
    })?;
    let commit = now.commit.as_ref().map(ToString::to_string);
    let text = text
        .replace("{repo}", repo.as_str())
        .replace("{branch}", branch.as_str())
        .replace("{commit}", commit.as_deref().unwrap_or("no commit yet"));
    Ok(fit::head(&text, ROOM_FOR_WORDS).to_owned())
}

fn review(now: &Description, status: &str) -> String {
    if status.is_empty() && !now.dirty {
        return match now.ahead {
            0 => "Review: nothing is changed, and nothing is committed that the remote lacks."
                .to_owned(),
            ahead => format!(
                "Review: no file is changed. Look through the {ahead} commit(s) that the remote lacks, with \
`git log` and `git show`."
            ),
        };
    }
    let shown = fit::head(status, ROOM_FOR_NAMES);
    let mut names: String = shown.lines().map(|line| format!("   | {line}\n")).collect();
    if shown.len() < status.len() {
        names.push_str("   | and more\n");
    }
    let tracked = if now.dirty {
        "Tracked files are changed"
    } else {
        "No tracked file is changed"
    };
    format!(
        "Review: {tracked}, {} untracked. Look at what belongs to the work with `git diff` and `read_file`, and \
leave out what does not:\n{}",
        now.untracked,
        names.trim_end()
    )
}

fn build(now: &Description, last: Option<&RunRecord>) -> String {
    let Some(run) = last else {
        return "Build and test: nothing was built here yet. Call `make`.".to_owned();
    };
    let built_this = run.about.as_ref().is_some_and(|about| {
        Some(&about.commit) == now.commit.as_ref() && about.dirty == Some(false)
    });
    let advice = if !run.state.is_ended() {
        "Wait for it with `run_wait`."
    } else if now.dirty {
        "Files are changed, and may have been since: build again with `make`."
    } else if !built_this {
        "That is not what is here now: build again with `make`."
    } else if run.state == RunState::Ended(EndState::Succeeded) {
        "That is what is here now."
    } else {
        "Mend that first: `diagnostics` and `run_log` say what is wrong."
    };
    let (id, what, how, at) = (run.run_id, subject(run), verdict(run), commit(run));
    format!("Build and test: the last run, {id} ({what}), {how} {at}. {advice}")
}

fn commit_left(now: &Description) -> String {
    match (now.dirty, now.untracked) {
        (false, 0) => "Commit: there is nothing to commit.".to_owned(),
        (false, untracked) => format!(
            "Commit: only untracked files are left ({untracked}). Add those that belong to the work (`git add`), \
and commit them."
        ),
        (true, _) => "Commit: add what belongs to the work (`git add`), and commit it with a message that says why."
            .to_owned(),
    }
}

fn changelog(release: &Value) -> String {
    let commits = &release["commits"];
    let since = match release["from"]["name"].as_str() {
        Some(last) => format!("since {last}"),
        None => "in all, for there is no tag yet".to_owned(),
    };
    let breaking = match release["breaking_total"].as_u64() {
        None | Some(0) => "none of them breaking",
        Some(_) => "some of them breaking",
    };
    format!(
        "Changelog: {commits} commit(s) {since}, {breaking}. If the project keeps a changelog, bring it up to \
date and commit that too: `git_changelog` sorts them by type and scope."
    )
}

fn tag(release: &Value) -> String {
    let next = &release["next_version"];
    let which = match (next["suggested"].as_str(), next["bump"].as_str()) {
        (Some(version), Some(bump)) => {
            format!("the next version would be {version} ({bump})")
        }
        _ => "no earlier version says what the next would be".to_owned(),
    };
    format!(
        "Tag: only if this is a release; {which}. `git_tag` with action create and a message makes it, \
and `git_push` takes it along in tags."
    )
}

fn push(now: &Description, is_protected: bool) -> String {
    let asked = now.fetched_at.map_or_else(
        || "the remote was never asked".to_owned(),
        |at| format!("the remote was last asked at {at:.0}"),
    );
    let standing = match (now.ahead, now.behind) {
        (0, 0) => "the remote has all commits that are here".to_owned(),
        (ahead, 0) => format!("{ahead} commit(s) are not on the remote"),
        (0, behind) => format!("the remote has {behind} commit(s) that are not here"),
        (ahead, behind) => format!(
            "{ahead} commit(s) are not on the remote, which has {behind} that are not here: bring them together first"
        ),
    };
    let gone = match now.gone_upstream {
        true => " The branch is not on the remote any more.",
        false => "",
    };
    let how = match is_protected {
        true => {
            " The branch is protected: push a branch of your own (`git_clone`), and have it merged."
        }
        false => " What is committed is safe for others once `git_push` says that it has arrived.",
    };
    format!("Push: {standing} ({asked}).{gone}{how}")
}
