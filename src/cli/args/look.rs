//! The arguments of what looks at runs and ends them.

use clap::Args;

use super::values::{self, EitherId};
use branchyard_model::{BranchName, GroupId, RepoName, RunId};

#[derive(Debug, Args)]
pub(crate) struct FollowArgs {
    /// The id of a run, or of a group
    #[arg(value_parser = values::either)]
    pub id: EitherId,
    /// It is a group's
    #[arg(long)]
    pub group: bool,
    /// Of a group: show what its runs print too
    #[arg(long)]
    pub output: bool,
    /// Begin after this event: the "id" of a line that --json printed
    #[arg(long, value_name = "CURSOR")]
    pub from: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The ids of the runs
    #[arg(value_name = "RUN", value_parser = values::run, required_unless_present = "group")]
    pub runs: Vec<RunId>,
    /// Cancel all runs of this group
    #[arg(long, value_name = "ID", value_parser = values::group)]
    pub group: Option<GroupId>,
    /// End the runs even if others asked for them too
    #[arg(long, conflicts_with = "group")]
    pub force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Only runs of this repository
    #[arg(long, value_name = "REPO", value_parser = values::repo)]
    pub repo: Option<RepoName>,
    /// Only runs of this branch
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    pub branch: Option<BranchName>,
    /// Only runs in this state
    #[arg(long, value_parser = [
        "queued", "preparing", "running", "succeeded", "failed", "signalled", "timed_out",
        "cancelled", "lost", "rejected",
    ])]
    pub state: Option<String>,
    /// Only runs of this kind
    #[arg(long, value_parser = ["make", "git", "task"])]
    pub kind: Option<String>,
    /// Only runs asked for since then, such as 2h or 2026-11-15T08:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = values::since)]
    pub since: Option<String>,
    /// Only runs of this group
    #[arg(long, value_name = "ID", value_parser = values::group)]
    pub group: Option<GroupId>,
    /// Only runs asked for before this one: the next page
    #[arg(long, value_name = "RUN", value_parser = values::run)]
    pub before: Option<RunId>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The run's id
    #[arg(value_parser = values::run)]
    pub run: RunId,
    /// Only the last lines
    #[arg(long, value_name = "N")]
    pub tail: Option<u64>,
    /// Only these lines, such as 10-40; counted from 1, both ends included
    #[arg(long, value_name = "A-B", value_parser = values::span)]
    pub lines: Option<String>,
    /// Only lines that match this regular expression
    #[arg(long, value_name = "REGEX")]
    pub grep: Option<String>,
    /// With --grep: lines around each match
    #[arg(short = 'C', long, value_name = "N", requires = "grep")]
    pub context: Option<u64>,
    /// With --grep: at most this many matches
    #[arg(long, value_name = "N", requires = "grep")]
    pub limit: Option<u64>,
    /// With --grep: upper and lower case are the same
    #[arg(short, long, requires = "grep")]
    pub ignore_case: bool,
    /// Without colours and other escape sequences
    #[arg(long)]
    pub strip_ansi: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiagnosticsArgs {
    /// The run's id
    #[arg(value_parser = values::run)]
    pub run: RunId,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// A run whose output is to be shown; else the whole yard
    #[arg(value_name = "RUN", value_parser = values::run)]
    pub run: Option<RunId>,
    /// Print the link and start no browser
    #[arg(long)]
    pub print: bool,
}
