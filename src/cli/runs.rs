//! `runs`: a page of the history, the latest first.

use jiff::Timestamp;
use serde::Deserialize;

use super::Context;
use super::args::RunsArgs;
use super::client::Query;
use super::exit::{self, Failure};
use super::finding::{Finding, Findings};
use super::render::{Cell, Listing, Tone, human_duration};
use super::stream::RunError;
use branchyard_model::RunId;

/// Of a reason, more than this is in nobody's way to how the run ended.
const SHORT: usize = 40;

#[derive(Deserialize)]
struct RunsPage {
    items: Vec<ListedRun>,
    /// Where the next page begins.
    #[serde(default)]
    next: Option<RunId>,
}

/// A run, as far as a list shows it.
#[derive(Deserialize)]
struct ListedRun {
    run_id: String,
    repo: String,
    branch: String,
    #[serde(default)]
    argv: Vec<String>,
    state: String,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    duration_ms: Option<u64>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    error: Option<RunError>,
    #[serde(default)]
    diagnostics: Option<Findings>,
}

pub(super) async fn list(context: &Context, args: &RunsArgs) -> Result<u8, Failure> {
    let mut query = Query::default();
    for (name, value) in filters(args) {
        query.add(name, &value);
    }
    if let Some(before) = args.before {
        query.add("before", &before.to_string());
    }
    let console = &context.console;
    let answer = context.client.get(&query.after("/api/runs")).await?;
    if console.json() {
        console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let page: RunsPage = answer.parse()?;
    let next = page.next;
    let listing = listing(page);
    if listing.is_empty() {
        console.note("no runs");
    } else {
        console.print_listing(&listing)?;
    }
    if let Some(next) = next {
        console.note(&format!("there are more: `{}`", next_page(args, next)));
    }
    Ok(exit::OK)
}

/// What was asked for, by the daemon's names, which are those of the flags.
fn filters(args: &RunsArgs) -> Vec<(&'static str, String)> {
    let some = [
        ("limit", Some(args.limit.to_string())),
        (
            "repo",
            args.repo.as_ref().map(|repo| repo.as_str().to_owned()),
        ),
        (
            "branch",
            args.branch
                .as_ref()
                .map(|branch| branch.as_str().to_owned()),
        ),
        ("state", args.state.clone()),
        ("kind", args.kind.clone()),
        ("since", args.since.clone()),
        ("group", args.group.map(|group| group.to_string())),
    ];
    some.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The same command again, for what comes after.
fn next_page(args: &RunsArgs, next: RunId) -> String {
    let mut words = vec!["branchyard".to_owned(), "runs".to_owned()];
    for (name, value) in filters(args) {
        words.extend([format!("--{name}"), value]);
    }
    words.extend(["--before".to_owned(), next.to_string()]);
    command_line(&words)
}

fn listing(page: RunsPage) -> Listing {
    let mut listing = Listing::new(&[
        "RUN",
        "STATE",
        "EXIT",
        "REPO",
        "BRANCH",
        "COMMAND",
        "ASKED",
        "TOOK",
        "FIRST ERROR",
    ]);
    for run in page.items {
        let tone = match run.state.as_str() {
            "succeeded" => Tone::Good,
            "queued" | "preparing" | "running" => Tone::Warn,
            "cancelled" => Tone::Faint,
            _ => Tone::Bad,
        };
        let exit_code = run.exit_code.map(|code| code.to_string());
        let took = run.duration_ms;
        let state = state_in_words(&run);
        let first_error = first_error(&run);
        listing.row(vec![
            Cell::whole(run.run_id),
            Cell::text(run.state).shown_as(state).tone(tone),
            // For people it is part of the state.
            Cell::number(exit_code.unwrap_or_default()).shown_as(""),
            Cell::text(run.repo),
            Cell::text(run.branch),
            Cell::text(command_line(&run.argv)),
            Cell::moment(run.created_at),
            Cell::number(took.map(|millis| millis.to_string()).unwrap_or_default())
                .shown_as(took.map(human_duration).unwrap_or_default()),
            Cell::text(first_error.unwrap_or_default()),
        ]);
    }
    listing
}

/// `failed (2)`, `lost: its supervisor is gone`
fn state_in_words(run: &ListedRun) -> String {
    let state = &run.state;
    match (run.exit_code, &run.reason) {
        (Some(code), _) if state == "failed" => format!("{state} ({code})"),
        (_, Some(reason)) if reason.chars().count() > SHORT => {
            let start: String = reason.chars().take(SHORT).collect();
            format!("{state}: {start}…")
        }
        (_, Some(reason)) => format!("{state}: {reason}"),
        _ => state.clone(),
    }
}

/// Why it was refused, or what its output complains about first. That of a run that succeeded was not
/// meant.
fn first_error(run: &ListedRun) -> Option<String> {
    let refused = run.error.as_ref().map(|error| error.detail.clone());
    let found = run.diagnostics.as_ref().and_then(Findings::first_error);
    refused
        .or_else(|| found.map(Finding::to_string))
        .filter(|_| run.state != "succeeded")
}

/// As one would type it.
pub(super) fn command_line(argv: &[String]) -> String {
    shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_else(|_| argv.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::args::{Cli, ClientCommand, Command};
    use super::*;

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    #[test]
    fn a_record_is_one_line_with_its_numbers() {
        let page = || {
            serde_json::from_str(
                r#"{"items":[{"run_id":"r","kind":"make","repo":"app","branch":"feature/x","argv":["make","A=b c"],
                    "state":"failed","exit_code":2,"created_at":"2024-05-06T07:08:09Z","duration_ms":1500,"about":null,
                    "diagnostics":{"errors":1,"warnings":0,"first":{"file":"a.c","line":1,"severity":"error",
                    "message":"no","tool":"gcc","log_line":4}}}],"next":null}"#,
            )
            .unwrap()
        };
        assert_eq!(
            listing(page()).plain(),
            "r\tfailed\t2\tapp\tfeature/x\tmake 'A=b c'\t2024-05-06T07:08:09Z\t1500\ta.c:1: error: no\n"
        );
        let table = listing(page()).table(None, false);
        assert!(table.contains("failed (2)"), "{table}");
        assert!(!table.contains("EXIT"), "{table}");
    }

    #[test]
    fn the_next_page_is_the_same_command_with_a_place() {
        let words = [
            "branchyard",
            "runs",
            "--repo",
            "app",
            "--state",
            "failed",
            "--since",
            "2h 5m",
            "--limit",
            "3",
        ];
        let cli = Cli::read(words.iter().map(Into::into).collect()).unwrap();
        let Command::Client(ClientCommand::Runs(args)) = cli.command else {
            panic!("not runs");
        };
        assert_eq!(
            next_page(&args, RunId::parse(RUN).unwrap()),
            format!(
                "branchyard runs --limit 3 --repo app --state failed --since '2h 5m' --before {RUN}"
            )
        );
    }
}
