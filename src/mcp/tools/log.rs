//! What a run printed: run_log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::runs;
use crate::mcp::call::Call;
use crate::mcp::log_cursor::LogCursor;
use crate::mcp::log_matches::{LogMatches, Match};
use crate::mcp::outcome;
use crate::mcp::reply::{Reply, fitted, fitted_items};
use crate::mcp::tool::{Tool, ToolEntry};
use crate::mcp::window::Window;
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_journal::{Query, pattern};
use branchyard_model::{Problem, RunId, RunRecord, Scope, Warning};
use branchyard_runs::View;

/// What is shown of a log at once.
const ROOM: usize = 8_000;
/// Lines of a tail that was not counted.
const TAIL: u64 = 100;
/// Matches that are looked for at once.
const MATCHES: usize = 200;
const MOST_CONTEXT: usize = 20;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new::<RunLog, Logged, _>(
        &ToolEntry {
            name: "run_log",
            title: "Read a run's log",
            description: "Reads what a run printed, live or ended: its last lines, a range of lines, the lines that match \
                a regular expression, or all of it from a cursor on. Go on with next_cursor.",
            set: Toolset::Build,
            right: Scope::RepoRead,
            effect: Effect::READS,
        },
        run_log,
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunLog {
    run_id: RunId,
    /// Only the last so many lines. Without any of tail, start_line, pattern and cursor: the last 100.
    tail: Option<u64>,
    /// From this line on, counted from 1, as log_line of a diagnostic.
    #[serde(default, alias = "first_line")]
    start_line: Option<u64>,
    /// With start_line: the last line wanted.
    #[serde(default, alias = "last_line")]
    end_line: Option<u64>,
    /// Only lines that match this regular expression.
    #[serde(default, alias = "grep")]
    pattern: Option<String>,
    /// With pattern: lines to show around each match, 20 at most.
    #[serde(default)]
    context: usize,
    /// With pattern: small and capital letters are the same.
    #[serde(default)]
    ignore_case: bool,
    /// The next_cursor of an answer about this run: reads on from there. "b0" is the beginning.
    cursor: Option<LogCursor>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Logged {
    run_id: RunId,
    /// Whether the run has ended, so that nothing more comes.
    ended: bool,
    /// What to know of how the run was made ready and ended, such as work that was left alone or saved.
    notices: Vec<Warning>,
    /// What was printed, without terminal escapes; a search leaves it empty.
    text: String,
    /// Lines that match, with their numbers.
    matches: Vec<Match>,
    /// There is more than this.
    truncated: bool,
    /// Where to go on: after what is shown here, also for what a live run prints later.
    next_cursor: Option<String>,
}

async fn run_log(call: Call, asked: RunLog) -> Result<Reply, Problem> {
    let record = runs::get(call.app(), asked.run_id)?;
    let ended = record.state.is_ended();
    let view = runs::view_run(call.app(), asked.run_id)?;
    check(&asked)?;
    if let Some(wanted) = &asked.pattern {
        return search(&call, &asked, &view, wanted, &record).await;
    }
    let window = match (asked.start_line, asked.cursor) {
        (Some(first), _) => {
            let last = asked.end_line.unwrap_or(u64::MAX);
            let count = (last - first).saturating_add(1);
            Window::lines(&view, first, count).await?
        }
        (None, Some(LogCursor::Byte(byte))) => Window::after(&view, byte).await?,
        (None, Some(LogCursor::Line(_))) => return Err(LogCursor::of_a_search()),
        (None, None) => Window::last_lines(&view, asked.tail.unwrap_or(TAIL)).await?,
    };
    fitted(call.room(ROOM), |room| {
        let shown = match (asked.start_line, asked.cursor) {
            (None, None) => window.tail(room),
            _ => window.head(room),
        };
        let more = shown.to < window.total().bytes || !ended;
        let logged = Logged {
            run_id: asked.run_id,
            ended,
            notices: record.warnings.clone(),
            text: shown.text.clone(),
            matches: Vec::new(),
            truncated: shown.cut,
            next_cursor: more.then(|| LogCursor::Byte(shown.to).to_string()),
        };
        let notices = outcome::notices(&record.warnings);
        call.reply(&logged, notices + &shown.text)
    })
}

fn check(asked: &RunLog) -> Result<(), Problem> {
    let ways = [
        ("tail", asked.tail.is_some()),
        ("start_line", asked.start_line.is_some()),
        ("pattern", asked.pattern.is_some()),
        // A search goes on at its own cursor.
        ("cursor", asked.cursor.is_some() && asked.pattern.is_none()),
    ];
    let mut given = ways.iter().filter(|(_, given)| *given);
    if let (Some((first, _)), Some((second, _))) = (given.next(), given.next()) {
        let detail = format!("{second} and {first} cannot be had together");
        return Err(Problem::unprocessable(second, detail));
    }
    let first = asked.start_line.unwrap_or(1);
    let (field, detail) = if first == 0 {
        ("start_line", "lines are counted from 1")
    } else if asked.end_line.is_some_and(|last| last < first) {
        ("end_line", "end_line is before start_line")
    } else if asked.end_line.is_some() && asked.start_line.is_none() {
        ("end_line", "end_line goes with start_line")
    } else if asked.context > 0 && asked.pattern.is_none() {
        ("context", "context goes with pattern")
    } else if asked.ignore_case && asked.pattern.is_none() {
        ("ignore_case", "ignore_case goes with pattern")
    } else if asked.context > MOST_CONTEXT {
        let detail = format!("context is at most {MOST_CONTEXT}");
        return Err(Problem::unprocessable("context", detail));
    } else {
        return Ok(());
    };
    Err(Problem::unprocessable(field, detail))
}

async fn search(
    call: &Call,
    asked: &RunLog,
    view: &View,
    wanted: &str,
    record: &RunRecord,
) -> Result<Reply, Problem> {
    let ended = record.state.is_ended();
    let first = match asked.cursor {
        Some(LogCursor::Line(line)) => line,
        Some(LogCursor::Byte(_)) => return Err(LogCursor::of_the_output()),
        None => 1,
    };
    let query = Query {
        pattern: pattern(wanted, asked.ignore_case)
            .map_err(|error| Problem::unprocessable("pattern", error))?,
        context: asked.context,
        limit: MATCHES,
    };
    let found = LogMatches::find(view, query, first).await?;
    fitted_items(found.items.len(), |count| {
        let shown = &found.items[..count];
        let truncated = count < found.items.len() || found.truncated;
        let next = match truncated {
            true => shown.last().map(|last| last.line + 1),
            false => (!ended).then_some(found.next_line),
        };
        let logged = Logged {
            run_id: asked.run_id,
            ended,
            notices: record.warnings.clone(),
            text: String::new(),
            matches: shown.to_vec(),
            truncated,
            next_cursor: next.map(|line| LogCursor::Line(line).to_string()),
        };
        let mut text = outcome::notices(&record.warnings);
        text.extend(shown.iter().map(Match::text));
        call.reply(&logged, text)
    })
}
