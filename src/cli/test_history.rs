//! `test-history`: the tests of a repository, as they went of late.

use super::Context;
use super::client::{Query, repo_path};
use super::exit::Failure;
use super::render::{Cell, Tone, human_duration};
use super::values;
use branchyard_model::{BranchName, CommitId, RepoName, TestHistory, TestState, TestedBy};

/// List the tests of a repository, and which of them fail or are flaky
///
/// Those that fail come first, then flaky ones: tests that passed and failed on the same files. It tells them by the latest
/// results of pipelines, and of runs that test. A test that several jobs run is told for each. `branchyard tests` prints
/// the tests of one run or job.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard test-history app --flaky
  branchyard test-history app --failed --branch main
  branchyard test-history app --match login --json")]
pub(crate) struct Args {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    repo: RepoName,
    /// Only tests that are flaky
    #[arg(long)]
    flaky: bool,
    /// Only tests that failed last
    #[arg(long)]
    failed: bool,
    /// Only results of this branch count
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    branch: Option<BranchName>,
    /// Only tests with this in their suite or name
    #[arg(long = "match", value_name = "TEXT")]
    text: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Where to go on: the `next` of an earlier answer
    #[arg(long, value_name = "NUMBER")]
    from: Option<usize>,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let query = Query::default()
        .flag("flaky", args.flaky)
        .with("state", args.failed.then_some("failed"))
        .with("branch", args.branch.as_ref())
        .with("q", args.text.as_ref())
        .with("limit", Some(args.limit))
        .with("from", args.from);
    let path = query.after(&repo_path(&args.repo, "/tests"));
    let answer = context.client.get(&path).await?;
    context.page(
        &answer,
        "no tests",
        TITLES,
        |test| row(&test),
        |next: usize| next_page(args, next),
    )
}

/// The same command again, for what comes after.
fn next_page(args: &Args, next: usize) -> String {
    let flags = [(args.flaky, "--flaky"), (args.failed, "--failed")];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set);
    let mut words = vec!["test-history", args.repo.as_str()];
    words.extend(flags.map(|(_, flag)| flag));
    Query::default()
        .with("branch", args.branch.as_ref())
        .with("match", args.text.as_ref())
        .with("limit", Some(args.limit))
        .with("from", Some(next))
        .command(&words)
}

const TITLES: &str = "STATE, FLAKY, TEST, SUITE, BRANCH, SINCE, PASSED, FAILED, TOOK, LAST, JOB, PIPELINE OR RUN; \
     TOOK, JOB, LAST, PIPELINE OR RUN, SUITE, SINCE, PASSED, FAILED, FLAKY";

fn row(test: &TestHistory) -> Vec<Cell> {
    let (state, tone) = match test.state {
        TestState::Failed if test.new => ("failed (new)", Tone::Bad),
        TestState::Failed => ("failed", Tone::Bad),
        TestState::Passed => ("passed", Tone::Good),
        TestState::Skipped => ("skipped", Tone::Faint),
    };
    let since = test
        .failing_since
        .as_ref()
        .and_then(|first| first.commit.as_ref());
    let place = match &test.last.by {
        TestedBy::Job { pipeline_id, .. } => Cell::id(pipeline_id),
        TestedBy::Run { run_id } => Cell::id(run_id),
    };
    vec![
        Cell::whole(state).tone(tone),
        Cell::text(if test.flaky { "flaky" } else { "" }).tone(Tone::Warn),
        Cell::sentence(Some(&test.name)),
        Cell::text(&test.suite),
        Cell::branch(&test.last.branch),
        Cell::commit(since.map(CommitId::as_str)),
        Cell::number(Some(test.passed)),
        Cell::number(Some(test.failed)),
        Cell::number(test.median_ms)
            .shown_as(test.median_ms.map(human_duration).unwrap_or_default()),
        Cell::moment(Some(test.last.at)),
        Cell::text(&test.last.by),
        place,
    ]
}
