//! The commands that speak to a daemon.

use clap::Subcommand;

use super::run::{CancelArgs, FollowArgs, GitArgs, MakeArgs, RunsArgs, TaskArgs};
use super::yard::{BranchesArgs, CatArgs, EnvArgs, LsArgs, PrepareArgs, ReposArgs, RmArgs};

#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    /// Run make in a branch's workspace
    ///
    /// Prepares the workspace if there is none, brings it up to date, runs make there and shows
    /// its output as it comes. Ends with make's own exit code. Ctrl-C cancels the run.
    #[command(override_usage = "branchyard make [OPTIONS] <REPO> <BRANCH> [-- ARGS...]")]
    #[command(after_long_help = "\
Examples:
  branchyard make app main
  branchyard make app feature/login -- -j8 test V=1
  branchyard make app main --stale --timeout 10m --env CFLAGS=-O0 -- all
  branchyard follow \"$(branchyard make app main --detach)\"")]
    Make(MakeArgs),

    /// Run git in a branch's workspace
    ///
    /// What follows the operation goes to git as it is, options included; options for branchyard
    /// stand before it. Operations and arguments that could leave the workspace are refused.
    #[command(override_usage = "branchyard git [OPTIONS] <REPO> <BRANCH> <OPERATION> [ARGS...]")]
    #[command(after_long_help = "\
Examples:
  branchyard git app main status --short
  branchyard git app main --sync none log --oneline -n 5
  branchyard git app feature/login diff --stat -- src")]
    Git(GitArgs),

    /// Run a declared task in a branch's workspace
    ///
    /// Tasks are commands that the operator declared in the daemon's configuration. Ends with the
    /// task's own exit code. Ctrl-C cancels the run.
    #[command(override_usage = "branchyard task [OPTIONS] <REPO> <BRANCH> <TASK> [-- ARGS...]")]
    #[command(after_long_help = "\
Examples:
  branchyard task app main lint
  branchyard task app main bench -- --only parser")]
    Task(TaskArgs),

    /// List files of a branch
    ///
    /// Reads never wait for a build. Piped, each line is kind, mode, size, path and link target,
    /// with tabs between.
    #[command(after_long_help = "\
Examples:
  branchyard ls app main
  branchyard ls app main src --recursive
  branchyard ls app main -R | cut -f4")]
    Ls(LsArgs),

    /// Print a file of a branch
    ///
    /// Prints exactly the file's bytes, or exactly the lines that were asked for. A file that is
    /// larger than the daemon gives out at once ends with a warning and exit code 1.
    #[command(after_long_help = "\
Examples:
  branchyard cat app main Makefile
  branchyard cat app feature/login src/main.c --lines 10-40")]
    Cat(CatArgs),

    /// Show what a build of a branch finds: machine, tools and environment
    ///
    /// Prepares the workspace if there is none.
    #[command(after_long_help = "\
Example:
  branchyard env app main")]
    Env(EnvArgs),

    /// List, register and forget repositories
    ///
    /// Without an action, lists them. Registering clones nothing; the first use does.
    #[command(after_long_help = "\
Examples:
  branchyard repos
  branchyard repos add app https://example.org/app.git --default-branch main
  branchyard repos rm app")]
    Repos(ReposArgs),

    /// List the workspaces of a repository
    ///
    /// With --remote also the branches that have no workspace yet.
    #[command(after_long_help = "\
Examples:
  branchyard branches app
  branchyard branches app --remote --json")]
    Branches(BranchesArgs),

    /// Make a branch's workspace ready, and print where it is
    ///
    /// With --from the branch is created, from another branch or a commit, if nobody has it yet.
    #[command(after_long_help = "\
Examples:
  branchyard prepare app feature/login
  branchyard prepare app fix/typo --from main
  cd \"$(branchyard prepare app main)\"")]
    Prepare(PrepareArgs),

    /// Remove a branch's workspace
    ///
    /// Refuses if work would be lost: unpushed commits, changes, stashes, files of your own. The
    /// remote branch stays.
    #[command(after_long_help = "\
Example:
  branchyard rm app feature/login")]
    Rm(RmArgs),

    /// List runs, the latest first
    ///
    /// Shows what was run where, how it ended and how long it took.
    #[command(after_long_help = "\
Examples:
  branchyard runs
  branchyard runs --repo app --branch main --limit 5")]
    Runs(RunsArgs),

    /// Cancel a run
    ///
    /// Asks the command to stop, and after a grace period ends it and all that it started. Does
    /// not wait for that; `branchyard follow` does.
    #[command(after_long_help = "\
Example:
  branchyard cancel 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b")]
    Cancel(CancelArgs),

    /// Show a run's output, from the start or from a cursor
    ///
    /// Works for queued, running and finished runs alike, and ends with the run's exit code.
    /// Ctrl-C stops looking; the run goes on.
    #[command(after_long_help = "\
Examples:
  branchyard follow 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard follow 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --json")]
    Follow(FollowArgs),
}
