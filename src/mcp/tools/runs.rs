//! Runs that were started: wait, list, cancel, and what they complained about.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::app::runs;
use crate::mcp::call::Call;
use crate::mcp::complaints::{self, Complaint};
use crate::mcp::cursor;
use crate::mcp::log_cursor::LogCursor;
use crate::mcp::outcome::{self, RunOutcomeInShort, Wanted};
use crate::mcp::reply::{Reply, fitted_items};
use crate::mcp::tool::{Tool, ToolEntry};
use crate::mcp::waiting::{OnCancel, Until, Wait, until_ended};
use branchyard_config::Toolset;
use branchyard_db::run_index::Filter;
use branchyard_git::verbs::Effect;
use branchyard_model::{
    BranchName, CommitId, Problem, RepoName, RunId, RunKind, RunRecord, RunState, Scope, Severity,
};

/// Runs on one page, where they fit.
const PAGE: usize = 50;
/// Complaints whose log is looked at for one answer.
const COMPLAINTS: usize = 30;

pub(super) fn tools() -> Vec<Tool> {
    let entry = |name, title, description, right, effect| ToolEntry {
        name,
        title,
        description,
        set: Toolset::Build,
        right,
        effect,
    };
    vec![
        Tool::new::<RunWait, RunOutcomeInShort, _>(
            &entry(
                "run_wait",
                "Wait for a run",
                "Waits for the end of a run, at most `wait`, and answers as make does, with the output since the \
                 cursor. Call it again with next_cursor until `ended`; a run survives restarts of the daemon.",
                Scope::RepoRead,
                Effect::READS,
            ),
            run_wait,
        ),
        Tool::new::<RunCancel, Cancelled, _>(
            &entry(
                "run_cancel",
                "Cancel a run",
                "Stops a run that is queued or under way; one that has ended stays as it is. Where several asked \
                 for it, it goes on for the others, unless force is given.",
                Scope::BuildRun,
                Effect::DESTROYS.repeatable(),
            ),
            run_cancel,
        ),
        Tool::new::<Runs, ListedRuns<'_>, _>(
            &entry(
                "runs",
                "List runs",
                "Lists runs, newest first: of a repo, a branch, a state. Go on with next_cursor.",
                Scope::RepoRead,
                Effect::READS,
            ),
            runs,
        ),
        Tool::new::<DiagnosticsOf, Complaints<'_>, _>(
            &entry(
                "diagnostics",
                "Errors and warnings of a run",
                "Lists what a run complained about, errors first, each with file, line, message and the log around it. \
                 Call it when make's answer was cut.",
                Scope::RepoRead,
                Effect::READS,
            ),
            diagnostics,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunWait {
    run_id: RunId,
    /// How many seconds to wait for the end, 50 at most (the default); 0 only looks.
    #[serde(default)]
    wait: Wait,
    /// The next_cursor of the answer before: only output after it is shown.
    cursor: Option<LogCursor>,
}

async fn run_wait(call: Call, asked: RunWait) -> Result<Reply, Problem> {
    let began = Instant::now();
    let since = match asked.cursor {
        Some(LogCursor::Byte(byte)) => byte,
        Some(LogCursor::Line(_)) => return Err(LogCursor::of_a_search()),
        None => 0,
    };
    // One that is ready already is waited for no more but for its end.
    let until = match runs::get(call.app(), asked.run_id)?.ready_at {
        Some(_) => Until::Ended,
        None => Until::Ready,
    };
    let wait = (began, asked.wait);
    let record = until_ended(&call, asked.run_id, wait, OnCancel::Detach, until).await?;
    outcome::of(&call, &record, Wanted::Since(since)).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunCancel {
    run_id: RunId,
    /// End it even if others asked for it too.
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Cancelled {
    run_id: RunId,
    /// As it is now: ended, unless others want it or it takes its time to stop.
    state: &'static str,
    /// How many others still want it: it goes on for them.
    wanted_by: usize,
}

async fn run_cancel(call: Call, asked: RunCancel) -> Result<Reply, Problem> {
    let run_id = asked.run_id;
    let (mut record, wanted_by) = runs::cancel_run(call.app(), run_id, asked.force)?;
    if wanted_by == 0 {
        // A command is given a moment to end by itself, and no longer.
        let wait = (Instant::now(), Wait::default());
        record = until_ended(&call, run_id, wait, OnCancel::Detach, Until::Ended).await?;
    }
    let state = record.state.as_str();
    let text = match wanted_by {
        0 if !record.state.is_ended() => format!("run {run_id} is being stopped"),
        0 => format!("run {run_id} is {state}"),
        others => format!("run {run_id} goes on for {others} others who asked for it"),
    };
    let cancelled = Cancelled {
        run_id,
        state,
        wanted_by,
    };
    call.reply(&cancelled, text)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Runs {
    /// Only runs of this repo.
    repo: Option<RepoName>,
    /// Only runs of this branch.
    branch: Option<BranchName>,
    /// Only of this kind.
    kind: Option<RunKind>,
    /// Only in this state.
    state: Option<RunState>,
    /// An answer's next_cursor.
    cursor: Option<RunId>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedRuns<'a> {
    runs: Vec<ListedRun<'a>>,
    /// There are older ones.
    truncated: bool,
    next_cursor: Option<RunId>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedRun<'a> {
    run_id: RunId,
    repo: &'a RepoName,
    branch: &'a BranchName,
    command: String,
    state: &'static str,
    exit_code: Option<i32>,
    commit: Option<&'a CommitId>,
    created_at: Timestamp,
    duration_ms: Option<u64>,
    errors: Option<usize>,
}

async fn runs(call: Call, asked: Runs) -> Result<Reply, Problem> {
    let filter = Filter {
        repo: asked.repo,
        branch: asked.branch,
        kind: asked.kind,
        state: asked.state,
        before: asked.cursor,
        ..Filter::default()
    };
    let (found, more) = runs::runs_by(call.app(), filter, PAGE).await?;
    fitted_items(found.len(), |count| {
        let shown = &found[..count];
        let truncated = more || count < found.len();
        let listed = ListedRuns {
            runs: shown.iter().map(item).collect(),
            truncated,
            next_cursor: shown.last().filter(|_| truncated).map(|run| run.run_id),
        };
        let lines = listed.runs.iter().map(|run| {
            format!(
                "{} {}/{} {}: {}\n",
                run.run_id, run.repo, run.branch, run.command, run.state
            )
        });
        call.reply(&listed, lines.collect::<String>())
    })
}

fn item(run: &RunRecord) -> ListedRun<'_> {
    ListedRun {
        run_id: run.run_id,
        repo: &run.spec.repo,
        branch: &run.spec.branch,
        command: outcome::command(run),
        state: run.state.as_str(),
        exit_code: run.exit_code,
        commit: run.about.as_ref().map(|about| &about.commit),
        created_at: run.created_at,
        duration_ms: run.duration_ms,
        errors: run.diagnostics.as_ref().map(|found| found.errors),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DiagnosticsOf {
    run_id: RunId,
    /// Only error, or only warning.
    severity: Option<Severity>,
    /// An answer's next_cursor.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Complaints<'a> {
    run_id: RunId,
    commit: Option<&'a CommitId>,
    /// How many there were in all.
    errors: usize,
    warnings: usize,
    diagnostics: &'a [Complaint],
    /// The run goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    so_far: bool,
    /// There are more than these.
    truncated: bool,
    /// Where to go on, where this was cut. Beyond the first 500 they are only counted.
    next_cursor: Option<String>,
}

async fn diagnostics(call: Call, asked: DiagnosticsOf) -> Result<Reply, Problem> {
    let first = cursor::read(asked.cursor.as_deref())?;
    let record = runs::get(call.app(), asked.run_id)?;
    let found = runs::diagnostics(call.app(), asked.run_id).await?;
    let is_wanted = |severity| asked.severity.is_none_or(|wanted| severity == wanted);
    let mut wanted = found.items;
    wanted.retain(|item| is_wanted(item.severity));
    let rest = &wanted[first.min(wanted.len())..];
    let view = runs::view_run(call.app(), asked.run_id)?;
    let shown = complaints::with_context(&view, &rest[..rest.len().min(COMPLAINTS)]).await?;
    fitted_items(shown.len(), |count| {
        let cut = count < rest.len();
        let answer = Complaints {
            run_id: asked.run_id,
            commit: record.about.as_ref().map(|about| &about.commit),
            errors: found.summary.errors,
            warnings: found.summary.warnings,
            diagnostics: &shown[..count],
            so_far: found.so_far,
            truncated: cut || found.truncated,
            next_cursor: cut.then(|| (first + count).to_string()),
        };
        let so_far = if answer.so_far { " so far" } else { "" };
        let mut text = format!(
            "errors: {}, warnings: {}{so_far}\n",
            answer.errors, answer.warnings
        );
        text.extend(answer.diagnostics.iter().map(Complaint::text));
        call.reply(&answer, text)
            .map(|reply| reply.link(outcome::log_of(&record)))
    })
}
