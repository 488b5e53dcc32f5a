//! How a run stands, for an agent: its state, what it complained about, the end of its output, and how to
//! go on.

use rmcp::model::Resource;
use schemars::JsonSchema;
use serde::Serialize;

use super::call::Call;
use super::complaints::{self, Complaint};
use super::log_cursor::LogCursor;
use super::reply::{self, Reply, cut, fitted};
use super::window::Window;
use crate::app::runs;
use branchyard_model::{
    BranchName, CommitId, EndState, Problem, RepoName, RunId, RunRecord, RunState, Warning,
};

/// So many complaints are shown at once; `diagnostics` has them all.
const MOST_COMPLAINTS: usize = 5;
/// What is shown of a command line and of a reason.
const COMMAND: usize = 200;
const REASON: usize = 1_000;
/// What complaints and output may take together, in each form: an agent reads all of it, and `run_log` has the rest.
const ROOM: usize = 4_000;
/// The output of a run that went well matters less.
const ROOM_IF_WELL: usize = 2_000;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunOutcome<'a> {
    run_id: RunId,
    repo: &'a RepoName,
    branch: &'a BranchName,
    /// The command as it was executed, cut after 200 characters.
    command: String,
    /// queued, preparing or running; or how it ended: succeeded, failed, signalled, timed_out, cancelled,
    /// lost or rejected.
    state: &'static str,
    ended: bool,
    /// Of a command that ended by itself.
    exit_code: Option<i32>,
    /// The commit that was built; null while the workspace is made ready.
    commit: Option<&'a CommitId>,
    /// Whether tracked files differed from that commit.
    dirty: Option<bool>,
    duration_ms: Option<u64>,
    /// The earlier run that answered for this one, whose command was not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    cached: Option<RunId>,
    /// The branch whose workspace this one was made from, with what was built there, if this run had it made.
    warm_from: Option<&'a BranchName>,
    /// Whether something that was built earlier was there when the command started; `clean` makes a clean verdict.
    incremental: Option<bool>,
    /// Whether the branch was moved while the command ran, as by a commit: it may have seen either.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    head_moved: bool,
    /// What to know of how the run was made ready and ended, such as work that was left alone or saved.
    notices: &'a [Warning],
    /// Why it was refused or ended as it did, where the state does not say all.
    reason: Option<String>,
    errors: usize,
    warnings: usize,
    /// The first that matter, each with the log around it.
    diagnostics: &'a [Complaint],
    /// The end of what it printed, since the cursor that was given.
    output: String,
    /// Output or diagnostics were left out: `run_log` and `diagnostics` have all of it.
    truncated: bool,
    /// Where the output shown ends: `run_wait` and `run_log` go on from there.
    next_cursor: String,
    /// What to do next.
    next: Option<String>,
}

/// The run as it is now, with the output after byte `since`.
pub(super) async fn of(call: &Call, record: &RunRecord, since: u64) -> Result<Reply, Problem> {
    let id = record.run_id;
    let view = runs::view_run(call.app(), id)?;
    let found = match record.state.is_ended() {
        true => runs::diagnostics(call.app(), id).await?,
        false => Default::default(),
    };
    let first = &found.items[..found.items.len().min(MOST_COMPLAINTS)];
    let shown = complaints::with_context(&view, first).await?;
    let window = Window::before_end(&view, since).await?;
    let room = match record.state {
        RunState::Ended(EndState::Succeeded) => ROOM_IF_WELL,
        _ => ROOM,
    };
    fitted(room, |room| {
        // Complaints first, as long as they leave half of it to the output.
        let (mut count, mut spent) = (0, 0);
        while count < shown.len() && spent + shown[count].size() <= room / 2 {
            spent += shown[count].size();
            count += 1;
        }
        let output = window.tail(room - spent);
        let truncated = output.cut || count < found.items.len();
        let outcome = RunOutcome {
            run_id: id,
            repo: &record.spec.repo,
            branch: &record.spec.branch,
            command: command(record),
            state: record.state.as_str(),
            ended: record.state.is_ended(),
            exit_code: record.exit_code,
            commit: record.about.as_ref().map(|about| &about.commit),
            dirty: record.about.as_ref().and_then(|about| about.dirty),
            duration_ms: record.duration_ms,
            cached: record.cached,
            warm_from: record.warm.as_ref().map(|warm| &warm.branch),
            incremental: record.incremental,
            head_moved: record.head_moved,
            notices: &record.warnings,
            reason: reason(record),
            errors: found.summary.errors,
            warnings: found.summary.warnings,
            diagnostics: &shown[..count],
            output: output.text,
            truncated,
            next_cursor: LogCursor::Byte(output.to).to_string(),
            next: next(call, record, found.items.len() > count),
        };
        call.reply(&outcome, text(&outcome))
            .map(|reply| reply.link(log_of(record)))
    })
}

/// What to know of a run beside its output, a line each.
pub(super) fn notices(warnings: &[Warning]) -> String {
    let line = |warning: &Warning| format!("notice: {}: {}\n", warning.code, warning.message);
    warnings.iter().map(line).collect()
}

/// The link to all that a run prints.
pub(super) fn log_of(record: &RunRecord) -> Resource {
    Resource::new(format!("run://{}/log", record.run_id), "log")
        .with_title("The whole log")
        .with_mime_type("text/plain")
}

/// The command line, as far as anybody wants to read it.
pub(super) fn command(record: &RunRecord) -> String {
    cut(&record.spec.argv.join(" "), COMMAND)
}

fn reason(record: &RunRecord) -> Option<String> {
    let error = record.error.clone().map(reply::words);
    let reason = error.or_else(|| record.reason.clone());
    reason.map(|reason| cut(&reason, REASON))
}

fn next(call: &Call, record: &RunRecord, more: bool) -> Option<String> {
    let id = record.run_id;
    if let Some(ahead) = runs::ahead_of(call.app(), record) {
        return Some(format!(
            "It waits behind run {ahead}, which has the workspace. Call run_wait with run_id {id} and this next_cursor until it has ended."
        ));
    }
    match record.state {
        RunState::Queued | RunState::Preparing | RunState::Running => Some(format!(
            "It goes on by itself. Call run_wait with run_id {id} and this next_cursor until it has ended."
        )),
        RunState::Ended(_) if more => {
            Some(format!("Call diagnostics with run_id {id} for the others."))
        }
        RunState::Ended(_) => None,
    }
}

fn text(outcome: &RunOutcome<'_>) -> String {
    let mut text = format!(
        "{} on {}/{}: {}",
        outcome.command, outcome.repo, outcome.branch, outcome.state
    );
    if let Some(code) = outcome.exit_code {
        text.push_str(&format!(", exit code {code}"));
    }
    if let Some(commit) = outcome.commit {
        text.push_str(&format!(", commit {commit}"));
    }
    if outcome.dirty == Some(true) {
        text.push_str(" and uncommitted changes");
    }
    match (outcome.warm_from, outcome.incremental) {
        (Some(branch), _) => text.push_str(&format!(", warm: built upon what {branch} built")),
        (None, Some(true)) => text.push_str(", incremental"),
        (None, _) => {}
    }
    if outcome.head_moved {
        text.push_str(", and the branch was moved meanwhile");
    }
    if let Some(earlier) = outcome.cached {
        text.push_str(&format!(", cached: answered by run {earlier}"));
    }
    text.push_str(&format!(" (run_id {})\n", outcome.run_id));
    if let Some(reason) = &outcome.reason {
        text.push_str(&format!("{reason}\n"));
    }
    text.push_str(&notices(outcome.notices));
    let (errors, warnings) = (outcome.errors, outcome.warnings);
    if errors + warnings > 0 {
        text.push_str(&format!("errors: {errors}, warnings: {warnings}\n"));
    }
    text.extend(outcome.diagnostics.iter().map(Complaint::text));
    if !outcome.output.is_empty() {
        text.push_str(&format!("--- output\n{}", outcome.output));
    }
    if let Some(next) = &outcome.next {
        text.push_str(&format!("\n--- next\n{next}"));
    }
    text
}
