//! The arguments of what starts runs.

use clap::{Args, ValueEnum};

use super::values;
use branchyard_model::{BranchName, CommitId, RepoName, RunId};

#[derive(Debug, Args)]
pub(crate) struct GitArgs {
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
pub(crate) struct TaskArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it (main, feature/login), or a glob for several (release/*)
    #[arg(value_parser = values::branch_or_glob)]
    pub branch: String,
    /// The task's name in the daemon's configuration
    pub task: String,
    /// Arguments for the task; options need `--` before them
    #[arg(value_name = "ARGS")]
    pub args: Vec<String>,
    /// Of several branches: show what they print, each line after the name of its branch
    #[arg(long)]
    pub output: bool,
    #[command(flatten)]
    pub flags: RunFlags,
}

/// How a run is prepared and watched, whatever it runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run options")]
pub(crate) struct RunFlags {
    /// How the workspace is brought up to date first [default: auto]
    #[arg(long, value_enum, value_name = "MODE", conflicts_with = "commit")]
    pub sync: Option<SyncArg>,
    /// Build exactly this commit of the remote branch (40 hex digits)
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    pub commit: Option<CommitId>,
    /// Remove untracked and ignored files first, for a pristine build; what is work is saved
    #[arg(long)]
    pub clean: bool,
    /// Have no part of what was built in other workspaces: not made from a sibling, or cleaned first
    #[arg(long)]
    pub cold: bool,
    /// Go on with what is there if the remote cannot be asked
    #[arg(long)]
    pub stale: bool,
    /// End the run after this long, such as 90s, 10m or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub timeout: Option<String>,
    /// Add a variable to the command's environment; may be repeated
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = values::variable)]
    pub env: Vec<(String, String)>,
    /// Join an equal run that is under way, if its commit is still the remote's
    #[arg(long, conflicts_with = "supersede")]
    pub coalesce: bool,
    /// End older runs of the same branch and command in favour of this one
    #[arg(long)]
    pub supersede: bool,
    /// Answer from an earlier run that succeeded, if nothing that it saw differs; files are not brought back
    #[arg(long)]
    pub reuse: bool,
    /// A name for this request: sent again with the same one, it finds the same run
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Print the run's id and leave; the run goes on without us
    #[arg(long)]
    pub detach: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SyncArg {
    /// Follow the remote, unless that would touch somebody's work
    Auto,
    /// Touch nothing, not even the network
    None,
    /// Save all work aside, then match the remote exactly
    Reset,
}

#[derive(Debug, Args)]
pub(crate) struct RerunArgs {
    /// The id of the run to repeat
    #[arg(value_parser = values::run)]
    pub run: RunId,
    /// A variable of the run's environment again: values are not kept after a run's end; may be repeated
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = values::variable)]
    pub env: Vec<(String, String)>,
    /// Print the new run's id and leave; the run goes on without us
    #[arg(long)]
    pub detach: bool,
    /// A name for this request: sent again with the same one, it finds the same run
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

impl SyncArg {
    /// As the wire spells it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Reset => "reset",
        }
    }
}
