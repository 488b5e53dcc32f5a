//! The arguments of what starts, follows, lists and ends runs.

use clap::{Args, ValueEnum};

use super::values;
use crate::model::{BranchName, CommitId, RepoName, RunId};

#[derive(Debug, Args)]
pub struct MakeArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = values::branch)]
    pub branch: BranchName,
    /// Targets, variables and options for make; options need `--` before them
    #[arg(value_name = "ARGS")]
    pub args: Vec<String>,
    #[command(flatten)]
    pub flags: RunFlags,
}

#[derive(Debug, Args)]
pub struct GitArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = values::branch)]
    pub branch: BranchName,
    // One list, so that everything after its first word is left alone, our own flags too.
    /// The git operation, such as status, and its arguments
    #[arg(value_name = "OPERATION", required = true, num_args = 1..)]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
    #[command(flatten)]
    pub flags: RunFlags,
}

#[derive(Debug, Args)]
pub struct TaskArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = values::branch)]
    pub branch: BranchName,
    /// The task's name in the daemon's configuration
    pub task: String,
    /// Arguments for the task; options need `--` before them
    #[arg(value_name = "ARGS")]
    pub args: Vec<String>,
    #[command(flatten)]
    pub flags: RunFlags,
}

/// How a run is prepared and watched, whatever it runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run options")]
pub struct RunFlags {
    /// How the workspace is brought up to date first [default: auto]
    #[arg(long, value_enum, value_name = "MODE", conflicts_with = "commit")]
    pub sync: Option<SyncArg>,
    /// Build exactly this commit of the remote branch (40 hex digits)
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    pub commit: Option<CommitId>,
    /// Remove untracked and ignored files first (refused by this version)
    #[arg(long)]
    pub clean: bool,
    /// Go on with what is there if the remote cannot be asked
    #[arg(long)]
    pub stale: bool,
    /// End the run after this long, such as 90s, 10m or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub timeout: Option<String>,
    /// Add a variable to the command's environment; may be repeated
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = values::variable)]
    pub env: Vec<(String, String)>,
    /// Print the run's id and leave; the run goes on without us
    #[arg(long)]
    pub detach: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SyncArg {
    /// Follow the remote, unless that would touch somebody's work
    Auto,
    /// Touch nothing, not even the network
    None,
    /// Save all work aside, then match the remote exactly (refused by this version)
    Reset,
}

#[derive(Debug, Args)]
pub struct FollowArgs {
    /// The run's id
    #[arg(value_parser = values::run)]
    pub run: RunId,
    /// Begin after this event: the "id" of a line that --json printed
    #[arg(long, value_name = "CURSOR")]
    pub from: Option<String>,
}

#[derive(Debug, Args)]
pub struct CancelArgs {
    /// The run's id
    #[arg(value_parser = values::run)]
    pub run: RunId,
}

#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Only runs of this repository
    #[arg(long, value_name = "REPO", value_parser = values::repo)]
    pub repo: Option<RepoName>,
    /// Only runs of this branch
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    pub branch: Option<BranchName>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

impl SyncArg {
    /// As the wire spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Reset => "reset",
        }
    }
}
