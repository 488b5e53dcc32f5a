//! `runs`: a page of the history, the latest first.

use super::Context;
use super::client::{Query, command_line};
use super::exit::Failure;
use super::render::{Cell, Tone, human_duration};
use super::values;
use branchyard_model::{
    BranchName, Diagnostic, EndState, GroupId, RepoName, RunId, RunRecord, RunState,
};

/// List runs, the latest first
///
/// Shows what was run where, how it ended, how long it took and the first error in its output.
/// Where there are more than --limit, a note on stderr says how to see them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard runs
  branchyard runs --repo app --branch main --limit 5
  branchyard runs --state failed --since 2h
  branchyard runs --before 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b")]
pub(crate) struct Args {
    /// Only runs of this repository
    #[arg(long, value_name = "REPO", value_parser = values::repo)]
    repo: Option<RepoName>,
    /// Only runs of this branch
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    branch: Option<BranchName>,
    /// Only runs in this state
    #[arg(long, value_parser = [
        "queued", "preparing", "running", "succeeded", "failed", "signalled", "timed_out",
        "cancelled", "lost", "rejected",
    ])]
    state: Option<String>,
    /// Only runs of this kind
    #[arg(long, value_parser = ["make", "git", "task", "exec"])]
    kind: Option<String>,
    /// Only runs that this principal asked for
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// Only runs whose command line has this text in it
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// Only runs asked for since then, such as 2h or 2026-11-15T08:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = values::since)]
    since: Option<String>,
    /// Only runs of this group
    #[arg(long, value_name = "ID", value_parser = values::group)]
    group: Option<GroupId>,
    /// Only runs asked for before this one: the next page
    #[arg(long, value_name = "RUN", value_parser = values::run)]
    before: Option<RunId>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let path = filters(args).with("before", args.before).after("/api/runs");
    let answer = context.client.get(&path).await?;
    context.page(&answer, "no runs", TITLES, row, |next: RunId| {
        next_page(args, next)
    })
}

fn filters(args: &Args) -> Query {
    Query::default()
        .with("limit", Some(args.limit))
        .with("repo", args.repo.as_ref())
        .with("branch", args.branch.as_ref())
        .with("state", args.state.as_ref())
        .with("kind", args.kind.as_ref())
        .with("since", args.since.as_ref())
        .with("group", args.group)
        .with("principal", args.principal.as_ref())
        .with("command", args.command.as_ref())
}

/// The same command again, for what comes after.
fn next_page(args: &Args, next: RunId) -> String {
    filters(args).with("before", Some(next)).command(&["runs"])
}

const TITLES: &str = "RUN, STATE, EXIT, REPO, BRANCH, COMMAND, ASKED, TOOK, FIRST ERROR; \
     TOOK, ASKED, REPO, COMMAND";

fn row(run: RunRecord) -> Vec<Cell> {
    let tone = tone(run.state);
    let (state, first_error, why) = (state_in_words(&run), first_error(&run), why(&run));
    let took = run.duration_ms;
    vec![
        Cell::id(run.run_id),
        Cell::whole(run.state.as_str()).shown_as(state).tone(tone),
        // For people it is part of the state.
        Cell::number(run.exit_code).shown_as(""),
        Cell::text(run.spec.repo),
        Cell::branch(run.spec.branch),
        Cell::text(command_line(&run.spec.argv)),
        Cell::moment(Some(run.created_at)),
        Cell::number(took).shown_as(took.map(human_duration).unwrap_or_default()),
        Cell::sentence(first_error).shown_as(why.unwrap_or_default()),
    ]
}

pub(super) fn tone(state: RunState) -> Tone {
    match state {
        RunState::Ended(EndState::Succeeded) => Tone::Good,
        RunState::Ended(EndState::Cancelled) => Tone::Faint,
        RunState::Ended(_) => Tone::Bad,
        RunState::Queued | RunState::Preparing | RunState::Running => Tone::Warn,
    }
}

/// `failed (2)`, `timed out`
pub(super) fn state_in_words(run: &RunRecord) -> String {
    let state = run.state.as_str();
    match run.exit_code {
        Some(code) if state == "failed" => format!("{state} ({code})"),
        _ => state.replace('_', " "),
    }
}

/// Why it was refused, or what its output complains about first. That of a run that succeeded was not
/// meant.
fn first_error(run: &RunRecord) -> Option<String> {
    let refused = run.error.as_ref().map(|error| error.detail.clone());
    let found = run.diagnostics.as_ref();
    let found = found.and_then(|found| found.first_error());
    refused
        .or_else(|| found.map(Diagnostic::to_string))
        .filter(|_| run.state != RunState::Ended(EndState::Succeeded))
}

/// The first error, or else why it ended: people would like to know that, too.
pub(super) fn why(run: &RunRecord) -> Option<String> {
    first_error(run).or_else(|| run.reason.clone())
}

#[cfg(test)]
mod tests {
    use super::super::render::Listing;
    use super::super::tests::parse;
    use super::super::{ClientCommand, Command};
    use super::*;

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    #[test]
    fn a_record_is_one_line_with_its_numbers() {
        let page = || {
            let page: branchyard::http::Listed<RunRecord, RunId> = serde_json::from_str(
                r#"{"items":[{"run_id":"0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b","kind":"make","repo":"app","branch":"feature/x","argv":["make","A=b c"],
                    "timeout_ms":1,"sync":"auto","stale":false,"on_disconnect":"cancel","principal":"session",
                    "state":"failed","exit_code":2,"created_at":"2024-05-06T07:08:09Z","duration_ms":1500,"about":null,
                    "diagnostics":{"errors":1,"warnings":0,"first":{"file":"a.c","line":1,"severity":"error",
                    "message":"no","tool":"gcc","log_line":4}}}],"next":null}"#,
            )
            .unwrap();
            page.items
        };
        assert_eq!(
            Listing::of(TITLES, page(), row).plain(),
            "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b\tfailed\t2\tapp\tfeature/x\tmake 'A=b c'\t2024-05-06T07:08:09Z\t1500\ta.c:1: error: no\n"
        );
        let table = Listing::of(TITLES, page(), row).table(None, false);
        assert!(table.contains("failed (2)"), "{table}");
        assert!(!table.contains("EXIT"), "{table}");
        assert!(
            table.lines().nth(1).unwrap().starts_with("3e4f5a6b  "),
            "{table}"
        );
    }

    #[test]
    fn the_next_page_is_the_same_command_with_a_place() {
        let words = [
            "runs", "--repo", "app", "--state", "failed", "--since", "2h 5m", "--limit", "3",
        ];
        let cli = parse(&words);
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
