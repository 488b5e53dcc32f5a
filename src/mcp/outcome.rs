//! How a run stands, for an agent: its state, what it complained about, the end of its output, and how to
//! go on.

use std::collections::BTreeMap;

use rmcp::model::Resource;
use schemars::JsonSchema;
use serde::Serialize;

use super::call::Call;
use super::complaints::{self, Complaint};
use super::failed_tests::{self, FailedTests};
use super::log_cursor::LogCursor;
use super::log_matches::LogMatches;
use super::reply::{self, Reply, cut, fitted};
use super::window::Window;
use crate::app::runs;
use branchyard_journal::{Query, Stream, Totals};
use branchyard_model::{
    BranchName, CommitId, EndState, Problem, RepoName, RunId, RunKind, RunRecord, RunState,
    TestCase, TestCounts, Warning,
};
use branchyard_runs::View;

/// So many complaints are shown at once; `diagnostics` has them all.
const MOST_COMPLAINTS: usize = 5;
/// So many files are named that were changed meanwhile.
const MOST_EDITED: usize = 10;
/// What is shown of a command line and of a reason.
const COMMAND: usize = 200;
const REASON: usize = 1_000;
/// What complaints and output may take together, in each form: an agent reads all of it, and `run_log` has the rest.
const ROOM: usize = 4_000;
/// The same of a run that tests, whose failures are what was asked for.
const ROOM_OF_TESTS: usize = 8_000;
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
    /// Of a command in the background: whether it can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<bool>,
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
    /// Files that were changed through the yard while the command ran: it may have seen either content.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    edited_meanwhile: &'a [String],
    /// What to know of how the run was made ready and ended, such as work that was left alone or saved.
    notices: &'a [Warning],
    /// Why it was refused or ended as it did, where the state does not say all.
    reason: Option<String>,
    /// Of a run that tests: how many there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, u64>>")]
    tests: Option<TestCounts>,
    /// The first that failed, each with suite, name, verdict, message, file and line: new, then flaky, then known ones.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    failed_tests: &'a [TestCase],
    errors: usize,
    warnings: usize,
    /// The first that matter, each with the log around it.
    diagnostics: &'a [Complaint],
    /// The end of what it printed, since the cursor that was given; or the lines that were asked for.
    output: String,
    /// Of a script, in place of output: what it printed on each.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
    /// Output or diagnostics were left out here: `run_log` and `diagnostics` have all that was kept, and a notice
    /// `output_limit` says what was not.
    truncated: bool,
    /// Where the output shown ends: `run_wait` and `run_log` go on from there.
    next_cursor: String,
    /// What to do next.
    next: Option<String>,
}

/// What the schemas of further tools tell of a [`RunOutcome`], all of whose fields `make` lists: the list of tools is
/// read by every agent before it asks anything.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
pub(super) struct RunOutcomeInShort {
    run_id: RunId,
    state: String,
    ended: bool,
    exit_code: Option<i32>,
    output: String,
    next_cursor: String,
    next: Option<String>,
}

/// What of the output is to be shown.
#[derive(Debug)]
pub(super) enum Wanted {
    /// The end, but nothing before this byte.
    Since(u64),
    /// So many of the last lines.
    Tail(u64),
    Matching(Query),
}

/// What is shown of the output.
enum Printed {
    Together(Window),
    Apart { stdout: Window, stderr: Window },
}

impl Printed {
    async fn of(view: &View, record: &RunRecord, wanted: Wanted) -> Result<Self, Problem> {
        Ok(match wanted {
            Wanted::Since(since) if record.spec.code_sha256.is_some() => Self::Apart {
                stdout: Window::of_stream(view, Stream::Stdout, since).await?,
                stderr: Window::of_stream(view, Stream::Stderr, since).await?,
            },
            Wanted::Since(since) => Self::Together(Window::before_end(view, since).await?),
            Wanted::Tail(lines) => Self::Together(Window::last_lines(view, lines).await?),
            Wanted::Matching(query) => Self::Together(LogMatches::window(view, query).await?),
        })
    }

    fn total(&self) -> Totals {
        match self {
            Self::Together(window) | Self::Apart { stdout: window, .. } => window.total(),
        }
    }

    /// The output, or stdout and stderr, within `room`; and whether there is more.
    fn fill(&self, room: usize) -> (String, Option<[String; 2]>, bool) {
        match self {
            Self::Together(window) => {
                let shown = window.tail(room);
                (shown.text, None, shown.cut)
            }
            Self::Apart { stdout, stderr } => {
                // What went wrong comes first, and leaves half to what was asked for.
                let wrong = stderr.tail(room / 2);
                let shown = stdout.tail(room - wrong.text.len().min(room));
                let cut = wrong.cut || shown.cut;
                (String::new(), Some([shown.text, wrong.text]), cut)
            }
        }
    }
}

/// The run as it is now, with what is `wanted` of the output.
pub(super) async fn of(call: &Call, record: &RunRecord, wanted: Wanted) -> Result<Reply, Problem> {
    let id = record.run_id;
    let view = runs::view_run(call.app(), id)?;
    let found = match record.state.is_ended() {
        true => runs::diagnostics(call.app(), id).await?,
        false => Default::default(),
    };
    let first = &found.items[..found.items.len().min(MOST_COMPLAINTS)];
    let shown = complaints::with_context(&view, first).await?;
    let failed = tests_of(call, record).await?;
    let printed = Printed::of(&view, record, wanted).await?;
    let room = match record.state {
        RunState::Ended(EndState::Succeeded) => ROOM_IF_WELL,
        _ if record.tests.is_some() => ROOM_OF_TESTS,
        _ => ROOM,
    };
    fitted(room, |room| {
        // Tests first, then complaints, as long as they leave half of it to the output.
        let (tests, mut spent) = failed.within(room / 2);
        let mut count = 0;
        while count < shown.len() && spent + shown[count].size() <= room / 2 {
            spent += shown[count].size();
            count += 1;
        }
        let (output, apart, cut) = printed.fill(room - spent);
        let [stdout, stderr] = apart.map_or([None, None], |apart| apart.map(Some));
        let truncated = cut || count < found.items.len() || tests.len() < failed.count();
        let wanting = missing_module(record, [&output, stderr.as_deref().unwrap_or_default()]);
        let next = wanting.or_else(|| next(call, record, found.items.len() > count));
        let outcome = RunOutcome {
            run_id: id,
            repo: &record.spec.repo,
            branch: &record.spec.branch,
            command: command(record),
            state: record.state.as_str(),
            ended: record.state.is_ended(),
            ready: (record.spec.background && !record.state.is_ended())
                .then_some(record.ready_at.is_some()),
            exit_code: record.exit_code,
            commit: record.about.as_ref().map(|about| &about.commit),
            dirty: record.about.as_ref().and_then(|about| about.dirty),
            duration_ms: record.duration_ms,
            cached: record.cached,
            warm_from: record.warm.as_ref().map(|warm| &warm.branch),
            incremental: record.incremental,
            head_moved: record.head_moved,
            edited_meanwhile: &record.edited_meanwhile
                [..record.edited_meanwhile.len().min(MOST_EDITED)],
            notices: &record.warnings,
            reason: reason(record),
            tests: record.tests,
            failed_tests: tests,
            errors: found.summary.errors,
            warnings: found.summary.warnings,
            diagnostics: &shown[..count],
            output,
            stdout,
            stderr,
            truncated,
            next_cursor: LogCursor::Byte(printed.total().bytes).to_string(),
            next,
        };
        call.reply(&outcome, text(&outcome))
            .map(|reply| reply.link(log_of(record)))
    })
}

async fn tests_of(call: &Call, record: &RunRecord) -> Result<FailedTests, Problem> {
    if record.tests.is_none_or(|counts| counts.failed == 0) {
        return Ok(FailedTests::default());
    }
    Ok(FailedTests::of(
        runs::tests(call.app(), record.run_id).await?,
    ))
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
        RunState::Running if record.ready_at.is_some() => Some(format!(
            "It is ready, and goes on in the background. run_log with run_id {id} has what it prints, run_cancel ends it."
        )),
        RunState::Queued | RunState::Preparing | RunState::Running => Some(format!(
            "It goes on by itself. Call run_wait with run_id {id} and this next_cursor until it has ended."
        )),
        RunState::Ended(_) if more => {
            Some(format!("Call diagnostics with run_id {id} for the others."))
        }
        RunState::Ended(_) => None,
    }
}

/// What to call where a command of the agent's own failed for want of a package.
fn missing_module(record: &RunRecord, printed: [&str; 2]) -> Option<String> {
    let is_failed = record.state == RunState::Ended(EndState::Failed);
    if record.spec.kind != RunKind::Exec || !is_failed {
        return None;
    }
    let named = |text: &str, mark: &str| {
        let (_, rest) = text.rsplit_once(mark)?;
        let (name, _) = rest.split_once('\'')?;
        Some(name.to_owned())
    };
    let mut printed = printed.into_iter();
    printed.find_map(|text| {
        let python = named(text, "No module named '").map(|name| {
            let package = name.split('.').next().unwrap_or_default();
            format!("{package} is not installed. If its package is called so, call install_dependencies with packages [\"{package}\"] and run it again.")
        });
        let node = || named(text, "Cannot find module '").map(|name| {
            format!("{name} is not installed. Call exec with argv [\"npm\", \"install\", \"{name}\"] and run it again.")
        });
        python.or_else(node)
    })
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
    if !outcome.edited_meanwhile.is_empty() {
        let edited = outcome.edited_meanwhile.join(", ");
        text.push_str(&format!(", and edited meanwhile: {edited}"));
    }
    if let Some(earlier) = outcome.cached {
        text.push_str(&format!(", cached: answered by run {earlier}"));
    }
    text.push_str(&format!(" (run_id {})\n", outcome.run_id));
    if let Some(reason) = &outcome.reason {
        text.push_str(&format!("{reason}\n"));
    }
    text.push_str(&notices(outcome.notices));
    if let Some(tests) = &outcome.tests {
        text.push_str(&format!("tests: {tests}\n"));
    }
    text.push_str(&failed_tests::text(outcome.failed_tests));
    let (errors, warnings) = (outcome.errors, outcome.warnings);
    if errors + warnings > 0 {
        text.push_str(&format!("errors: {errors}, warnings: {warnings}\n"));
    }
    text.extend(outcome.diagnostics.iter().map(Complaint::text));
    let parts = [
        ("output", Some(&outcome.output)),
        ("stdout", outcome.stdout.as_ref()),
        ("stderr", outcome.stderr.as_ref()),
    ];
    for (name, part) in parts {
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            text.push_str(&format!("{end}--- {name}\n{part}"));
        }
    }
    if let Some(next) = &outcome.next {
        text.push_str(&format!("\n--- next\n{next}"));
    }
    text
}
