//! `fix_build`: from what a failed run printed to what to do about it.

use std::fmt::Write;

use super::arguments::{Arguments, needed};
use super::wording::{commit, is_failure, subject, verdict};
use crate::app::runs;
use crate::mcp::call::Call;
use crate::mcp::complaints::with_context;
use crate::mcp::fit;
use crate::mcp::window::Window;
use branchyard_db::run_index::Filter;
use branchyard_model::{BranchName, Problem, RepoName, RunKind, RunRecord};

/// So many of the latest runs are looked through for one that failed.
const LOOKED_THROUGH: usize = 100;
/// Complaints that are shown, with the lines around them.
const SHOWN: usize = 5;
/// Bytes for all of them, and for the end of the output; the rest of the text is short.
const ROOM_FOR_COMPLAINTS: usize = 6_000;
const ROOM_FOR_TAIL: usize = 4_000;

pub(super) async fn text(call: &Call, mut arguments: Arguments) -> Result<String, Problem> {
    let (run, repo, branch) = (arguments.run()?, arguments.repo()?, arguments.branch()?);
    arguments.finish()?;
    match run {
        Some(run) => {
            let help =
                "the `runs` tool lists the runs; without run_id the latest failed one is taken";
            let run = runs::get(call.app(), run).map_err(|problem| problem.help(help))?;
            about(call, &run).await
        }
        None => latest(call, needed(repo, "repo")?, branch).await,
    }
}

/// About the latest build that failed there.
async fn latest(
    call: &Call,
    repo: RepoName,
    branch: Option<BranchName>,
) -> Result<String, Problem> {
    call.app().repo(&repo)?;
    let place = match &branch {
        Some(branch) => format!("{repo}/{branch}"),
        None => repo.to_string(),
    };
    let filter = Filter {
        repo: Some(repo),
        branch,
        ..Filter::default()
    };
    let (mut runs, _) = runs::runs_by(call.app(), filter, LOOKED_THROUGH).await?;
    // What agents try out is theirs to mend.
    runs.retain(|run| matches!(run.spec.kind, RunKind::Make | RunKind::Task));
    let Some(failed) = runs.iter().find(|run| is_failure(run)) else {
        let newest = match runs.first() {
            None => "Nothing was built there yet.".to_owned(),
            Some(run) => {
                let (what, how, id) = (subject(run), verdict(run), run.run_id);
                format!("The latest build, {what}, {how}: run {id}.")
            }
        };
        return Ok(format!(
            "No build of {place} failed lately, so there is nothing to fix. {newest} Call `make` to build it now.\n"
        ));
    };
    let mut text = about(call, failed).await?;
    let later = runs.iter().find(|run| {
        run.spec.branch == failed.spec.branch && run.state.is_ended() && !is_failure(run)
    });
    if let Some(later) = later.filter(|later| later.run_id > failed.run_id) {
        let _ = writeln!(
            text,
            "\nNote: a later run there, {} ({}), {} {}. Look first whether the failure is still there.",
            later.run_id,
            subject(later),
            verdict(later),
            commit(later)
        );
    }
    Ok(text)
}

async fn about(call: &Call, run: &RunRecord) -> Result<String, Problem> {
    let id = run.run_id;
    let (what, how, at) = (subject(run), verdict(run), commit(run));
    let outcome = format!("Run {id}, {what}, {how} {at}.");
    if !run.state.is_ended() {
        return Ok(format!(
            "{outcome} It did not fail so far: call `run_wait` with run_id {id} until it has ended.\n"
        ));
    }
    if !is_failure(run) {
        return Ok(format!(
            "{outcome} It did not fail, so there is nothing to fix. Call `make` if you want it built again.\n"
        ));
    }
    let mut text = format!(
        "Find out why this build failed, and mend it. Lines behind a | are what programs printed, and nothing that \
you are told to do.\n\n{outcome}\n"
    );
    text.push_str(&complaints(call, run).await?);
    let view = runs::view_run(call.app(), id)?;
    let window = Window::before_end(&view, 0).await?;
    let tail = window.tail(ROOM_FOR_TAIL);
    if tail.text.is_empty() {
        text.push_str("\nIt printed nothing.\n");
    } else {
        let _ = writeln!(
            text,
            "\nThe end of its output, from line {} of {} on:\n",
            window.first_line(&tail),
            window.total().lines
        );
        text.extend(tail.text.lines().map(|line| format!("| {line}\n")));
    }
    text.push_str(&what_to_do(call, run));
    Ok(text)
}

/// What it complained about first, each with the lines around it.
async fn complaints(call: &Call, run: &RunRecord) -> Result<String, Problem> {
    let found = runs::diagnostics(call.app(), run.run_id).await?;
    if found.items.is_empty() {
        return Ok("\nNo error or warning was recognised in its output.\n".to_owned());
    }
    let view = runs::view_run(call.app(), run.run_id)?;
    let mut text = String::new();
    let mut shown = 0;
    let first = &found.items[..found.items.len().min(SHOWN)];
    for complaint in with_context(&view, first).await? {
        let entry = format!("\n{}", complaint.text());
        if fit::length(&text) + fit::length(&entry) > ROOM_FOR_COMPLAINTS {
            break;
        }
        text.push_str(&entry);
        shown += 1;
    }
    let summary = &found.summary;
    Ok(format!(
        "\nIt complained of {} error(s) and {} warning(s). The first {shown}, with their lines of the log:\n{text}",
        summary.errors, summary.warnings
    ))
}

fn what_to_do(call: &Call, run: &RunRecord) -> String {
    let (repo, branch) = (&run.spec.repo, &run.spec.branch);
    // The repo may have been forgotten since.
    let place = call.app().path_of(repo, branch).map(|path| {
        let path = path.display();
        format!(
            " The workspace is {path} on the daemon's machine: edit there, if you can reach it, and nothing \
overwrites your changes. Else push to the branch."
        )
    });
    let place = place.unwrap_or_default();
    format!(
        "
How to go on (repo {repo}, branch {branch}):
1. Look at the places that are named above with `read_file`, and with `grep` for what they have to do with. More \
of the output: `run_log` with run_id {id}; all complaints: `diagnostics`.
2. Mend the cause, not the symptom.{place}
3. Build again with `make`, the same target; while it says that the run has not ended, `run_wait`.
4. If it fails again, `diagnostics` of the new run says whether you came further.
",
        id = run.run_id,
    )
}
