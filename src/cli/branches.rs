//! `branches`: the workspaces of a repository.

use super::Context;
use super::client::{Answer, Query, repo_path};
use super::exit::Failure;
use super::progress::patiently;
use super::render::{Cell, Listing, Tone};
use super::runs;
use super::values;
use branchyard::app::LastRun;
use branchyard::http::{Shown, Workspaces};
use branchyard_model::{EndState, RepoName, RunState};
use branchyard_workspace::Description;
use serde_json::{Value, json};

/// List the workspaces of a repository
///
/// With --remote also the branches that have no workspace yet.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard branches app
  branchyard branches app --remote --json")]
pub(crate) struct Args {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    repo: RepoName,
    /// Also the remote's branches that have no workspace
    #[arg(long)]
    remote: bool,
}

/// All pages of the list, as one.
async fn all(context: &Context, args: &Args) -> Result<Answer, Failure> {
    let (mut items, mut unavailable) = (Vec::new(), Vec::new());
    let mut after = None;
    loop {
        let query = Query::default().flag("remote", args.remote);
        let path = query.with("after", after).after("/branches");
        let answer = context
            .client
            .get_slowly(&repo_path(&args.repo, &path))
            .await?;
        // As it came: it may hold more than this version knows.
        let mut page: Value = answer.parse()?;
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() && items.is_empty() {
            return Ok(answer);
        }
        let mut take = |field: &str, all: &mut Vec<Value>| {
            if let Value::Array(more) = page[field].take() {
                all.extend(more);
            }
        };
        take("items", &mut items);
        take("unavailable", &mut unavailable);
        if after.is_none() {
            let mut body = json!({"items": items, "next": null});
            if !unavailable.is_empty() {
                body["unavailable"] = unavailable.into();
            }
            return Ok(Answer::ours(&body));
        }
    }
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let console = &context.console;
    let answer = patiently(console, "asking the remote", all(context, args)).await?;
    context.show(&answer, |list: Workspaces| {
        for missing in &list.unavailable {
            console.warning(&format!("{}: {}", missing.branch, missing.reason));
        }
        if let Some(notice) = &list.notice {
            console.warning(notice);
        } else if list.page.items.is_empty() {
            console.note("no workspaces; --remote lists the branches that could have one");
        }
        console.print_listing(Listing::of(TITLES, list.page.items, row))
    })
}

const TITLES: &str = "BRANCH, COMMIT, STATE, AHEAD, BEHIND, SIZE, USED, HELD BY, PINNED BY, PATH, LAST RUN, FIRST ERROR; \
     PATH, PINNED BY, COMMIT, SIZE, USED, BEHIND, AHEAD, HELD BY";

fn row(
    Shown {
        workspace,
        last_run,
    }: Shown,
) -> Vec<Cell> {
    let (state, tone) = state(&workspace);
    let path = workspace
        .path
        .map(|path| path.to_string_lossy().into_owned());
    let holder = workspace.holder.map(|holder| holder.what);
    vec![
        Cell::branch(workspace.branch),
        Cell::commit(workspace.commit.as_ref().map(|commit| commit.as_str())),
        Cell::text(state).tone(tone),
        Cell::number(Some(workspace.ahead)),
        Cell::number(Some(workspace.behind)),
        Cell::size(workspace.size),
        Cell::moment(workspace.last_used),
        Cell::text(holder.unwrap_or_default()),
        Cell::text(workspace.pins.join(", ")),
        Cell::path(path.unwrap_or_default()).tone(Tone::Faint),
        last_run.as_ref().map(how).unwrap_or_default(),
        Cell::sentence(last_run.as_ref().and_then(first_error)),
    ]
}

/// How the last run here ended, or that it is under way.
fn how(run: &LastRun) -> Cell {
    let state = run.state.as_str();
    let shown = Cell::whole(state).shown_as(state.replace('_', " "));
    shown.tone(runs::tone(run.state))
}

/// That of a run that succeeded was not meant.
fn first_error(run: &LastRun) -> Option<String> {
    let found = run.diagnostics.as_ref()?.first_error()?;
    let is_meant = run.state != RunState::Ended(EndState::Succeeded);
    is_meant.then(|| found.to_string())
}

/// What a glance should tell: `dirty,untracked`, `clean`, `remote`.
fn state(workspace: &Description) -> (String, Tone) {
    let words: Vec<_> = [
        (workspace.dirty, "dirty"),
        (workspace.untracked > 0, "untracked"),
        (workspace.gone_upstream, "gone upstream"),
    ]
    .iter()
    .filter(|(is_so, _)| *is_so)
    .map(|(_, word)| *word)
    .collect();
    match (words.is_empty(), workspace.path.is_some()) {
        (true, true) => ("clean".to_owned(), Tone::Good),
        (true, false) => ("remote".to_owned(), Tone::Faint),
        (false, _) => (words.join(","), Tone::Warn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_and_remote_branches_are_told_apart() {
        let commit = "1a2b3c4d5e1a2b3c4d5e1a2b3c4d5e1a2b3c4d5e";
        let list: Workspaces = serde_json::from_value(json!({"items": [
            {"repo": "app", "branch": "main", "path": "/w/app/main", "commit": commit, "tree": commit, "dirty": true,
             "untracked": 2, "ahead": 1, "behind": 0, "fetched_at": null, "gone_upstream": false,
             "pins": ["unpushed commits"], "size": 2048, "last_used": "2024-05-06T07:08:09Z",
             "holder": {"what": "make test", "run_id": null, "who": "ci", "since": "2024-05-06T07:08:09Z"},
             "last_run": {"run_id": "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b", "kind": "make", "argv": ["make"], "task": null,
                "state": "failed", "exit_code": 2, "created_at": "2024-05-06T07:08:09Z", "ended_at": null, "duration_ms": 5,
                "diagnostics": {"errors": 1, "warnings": 0, "first": {"file": "a.c", "line": 3, "severity": "error",
                "message": "no"}}}},
            {"repo": "app", "branch": "next", "path": null, "commit": commit, "untracked": 0, "pins": [],
             "size": null}
        ], "next": null}))
        .unwrap();
        assert_eq!(
            Listing::of(TITLES, list.page.items, row).plain(),
            format!(
                "main\t{commit}\tdirty,untracked\t1\t0\t2048\t2024-05-06T07:08:09Z\tmake test\tunpushed commits\t/w/app/main\tfailed\ta.c:3: error: no\n\
                 next\t{commit}\tremote\t0\t0\t\t\t\t\t\t\t\n"
            )
        );
    }
}
