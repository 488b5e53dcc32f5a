//! `pipeline list`: a page of the pipelines of a repository, the latest first.

use super::words;
use crate::cli::Context;
use crate::cli::client::{Query, repo_path};
use crate::cli::exit::Failure;
use crate::cli::render::{Cell, Tone, human_duration};
use crate::cli::values;
use branchyard_model::{BranchName, CommitId, PipelineId, PipelineRecord, PipelineState, RepoName};

/// List the pipelines of a repository, the latest first
///
/// Where there are more than --limit, a note on stderr says how to see them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pipeline list app
  branchyard pipeline list app --branch main --state failed --limit 5
  branchyard pipeline list app --file release.yml --json")]
pub(crate) struct Args {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    repo: RepoName,
    /// Only pipelines of this branch
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    branch: Option<BranchName>,
    /// Only pipelines at this commit
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<CommitId>,
    /// Only pipelines in this state
    #[arg(long, value_parser = ["queued", "running", "succeeded", "failed", "cancelled", "rejected"])]
    state: Option<String>,
    /// Only pipelines of this workflow file: its path, or its name alone
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
    /// Only pipelines asked for before this one: the next page
    #[arg(long, value_name = "PIPELINE", value_parser = values::pipeline)]
    before: Option<PipelineId>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let query = filters(args).with("before", args.before);
    let path = query.after(&repo_path(&args.repo, "/pipelines"));
    let answer = context.client.get(&path).await?;
    context.page(
        &answer,
        "no pipelines",
        TITLES,
        |record| row(&record),
        |next: PipelineId| next_page(args, next),
    )
}

fn filters(args: &Args) -> Query {
    Query::default()
        .with("limit", Some(args.limit))
        .with("branch", args.branch.as_ref())
        .with("commit", args.commit.as_ref())
        .with("state", args.state.as_ref())
        .with("file", args.file.as_ref())
}

/// The same command again, for what comes after.
fn next_page(args: &Args, next: PipelineId) -> String {
    let query = filters(args).with("before", Some(next));
    query.command(&["pipeline", "list", args.repo.as_str()])
}

const TITLES: &str = "PIPELINE, STATE, BRANCH, COMMIT, FILE, EVENT, JOBS, ASKED, TOOK, BY; BY, EVENT, COMMIT, ASKED, TOOK, FILE";

fn row(record: &PipelineRecord) -> Vec<Cell> {
    let took = record.duration_ms;
    let file = record.file.rsplit('/').next().unwrap_or_default();
    vec![
        Cell::id(record.pipeline_id),
        Cell::whole(record.state.as_str()).tone(tone(record.state)),
        Cell::branch(&record.branch),
        Cell::commit(Some(record.commit.as_str())),
        Cell::text(&record.file).shown_as(file),
        Cell::text(&record.event),
        Cell::whole(jobs(record)),
        Cell::moment(Some(record.created_at)),
        Cell::number(took).shown_as(took.map(human_duration).unwrap_or_default()),
        Cell::text(&record.principal),
    ]
}

/// `3/4`, or `3/4, 1 failed`
fn jobs(record: &PipelineRecord) -> String {
    let ended = record.jobs.iter().filter(|job| job.state.is_ended());
    let counts = format!("{}/{}", ended.count(), record.jobs.len());
    match words::failures(record).count() {
        0 => counts,
        failed => format!("{counts}, {failed} failed"),
    }
}

fn tone(state: PipelineState) -> Tone {
    match state {
        PipelineState::Succeeded => Tone::Good,
        PipelineState::Queued | PipelineState::Running => Tone::Warn,
        PipelineState::Cancelled => Tone::Faint,
        PipelineState::Failed | PipelineState::Rejected => Tone::Bad,
    }
}
