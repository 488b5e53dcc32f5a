//! The commands that speak to a daemon.

use clap::Subcommand;

use super::audit::AuditArgs;
use super::look::{CancelArgs, DiagnosticsArgs, FollowArgs, LogArgs, OpenArgs, RunsArgs};
use super::make::MakeArgs;
use super::run::{GitArgs, RerunArgs, TaskArgs};
use super::salvage::SalvageArgs;
use super::token::TokenArgs;
use super::yard::{
    BranchesArgs, CatArgs, EnvArgs, LsArgs, PinArgs, PrepareArgs, ReapArgs, ReposArgs, RmArgs,
    UnpinArgs,
};

#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Run make in a branch's workspace, or in those of several
    ///
    /// Prepares the workspace if there is none, brings it up to date, runs make there and shows
    /// its output as it comes. Ends with make's own exit code. Ctrl-C cancels the run.
    ///
    /// Two hyphens part the branches from what make gets: everything before them is branches and
    /// options of branchyard, everything after them goes to make as it is. Without them there is
    /// one branch, or one glob, and plain words after it go to make.
    ///
    /// Several branches, or a glob, are a group: a run on each, side by side. In a glob * stays
    /// within a segment of a name and ** crosses them. A line says how each ended (piped: branch,
    /// state, exit code, run, milliseconds, first error, with tabs between), and at the end the
    /// failures are listed. Ends with 0 if all succeeded, else as the first that failed. Ctrl-C
    /// cancels them all.
    #[command(override_usage = "\
branchyard make [OPTIONS] <REPO> <BRANCH> [ARGS...]
       branchyard make [OPTIONS] <REPO> <BRANCHES...> -- [ARGS...]")]
    #[command(after_long_help = "\
Examples:
  branchyard make app main
  branchyard make app main test                        one branch; make gets: test
  branchyard make app feature/login -- -j8 test V=1    one branch; make gets: -j8 test V=1
  branchyard make app 'release/*' main -- -j8 test     a group: each of them gets: -j8 test
  branchyard make app '**' --output                    all branches, and what they print
  branchyard make app main --stale --timeout 10m --env CFLAGS=-O0 -- all
  branchyard make app main --coalesce -- test          join who builds the same already
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
  branchyard task app 'release/*' lint
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
    /// Prints exactly the file's bytes, or exactly the lines that were asked for, however large it
    /// is. With --json a large file is several answers, a line each: `end_byte` of one is
    /// `start_byte` of the next.
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
    /// Refuses if work would be lost: unpushed commits, changes, stashes, files of your own. With
    /// --force all of that is saved first, for `branchyard salvage`. The remote branch stays.
    #[command(after_long_help = "\
Examples:
  branchyard rm app feature/login
  branchyard rm app feature/login --force")]
    Rm(RmArgs),

    /// See, restore and let go of work that was saved
    ///
    /// Before `--sync reset`, `--clean` or `rm --force` discards anything, all work is saved: commits,
    /// index, changes, files of your own, an operation under way. It is kept for
    /// `reaper.salvage_ttl`, 30 days by default.
    #[command(after_long_help = "\
Examples:
  branchyard salvage list --repo app
  branchyard salvage show 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard salvage restore 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --branch rescued
  branchyard salvage drop 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b")]
    Salvage(SalvageArgs),

    /// Make, list and revoke tokens
    ///
    /// A token lets somebody else in, for as much as you may do yourself or less: some scopes, some
    /// repos and branches, for some time. The daemon keeps a hash of it only. Everybody lists and revokes
    /// the tokens of their own making; an admin all.
    #[command(after_long_help = "\
Examples:
  branchyard token create --role dev --repos 'app-*' --branches 'agent-7-*' --expires 12h
  branchyard token create --role ui --name wall-screen --expires 90d --output screen.key
  branchyard token list
  branchyard token revoke wall-screen")]
    Token(TokenArgs),

    /// Say who you are to the daemon, and what you may do there
    ///
    /// The name goes to stdout, what it is good for to stderr.
    #[command(after_long_help = "\
Examples:
  branchyard whoami
  branchyard --key-file screen.key whoami --json")]
    Whoami,

    /// Make room: remove what nobody uses and nobody would miss
    ///
    /// The daemon does this by itself, by the limits under [reaper] of its configuration; this does
    /// it now. Lists each workspace and clone with what is done and why. Piped, each line is action,
    /// repository, branch, bytes on disk, seconds idle and why, with tabs between.
    #[command(after_long_help = "\
Examples:
  branchyard reap --dry-run
  branchyard reap --repo app
  branchyard reap --dry-run | grep -v ^keep")]
    Reap(ReapArgs),

    /// Keep a branch's workspace from being reaped or removed
    #[command(after_long_help = "\
Examples:
  branchyard pin app release/1.0
  branchyard pin app main --reason 'for the demo on friday'")]
    Pin(PinArgs),

    /// Let a pinned workspace go by the usual rules again
    #[command(after_long_help = "\
Example:
  branchyard unpin app main")]
    Unpin(UnpinArgs),

    /// Run again what a run ran, as it was asked for then
    ///
    /// The branch is brought up to date first, as it was then. Shows the new run's output and ends
    /// with its exit code. Ctrl-C cancels it.
    #[command(after_long_help = "\
Examples:
  branchyard rerun 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard rerun 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --detach")]
    Rerun(RerunArgs),

    /// List runs, the latest first
    ///
    /// Shows what was run where, how it ended, how long it took and the first error in its output.
    /// Where there are more than --limit, a note on stderr says how to see them.
    #[command(after_long_help = "\
Examples:
  branchyard runs
  branchyard runs --repo app --branch main --limit 5
  branchyard runs --state failed --since 2h
  branchyard runs --before 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b")]
    Runs(RunsArgs),

    /// Cancel runs
    ///
    /// Asks the command to stop, and after a grace period ends it and all that it started. Does
    /// not wait for that; `branchyard follow` does. A run that others joined goes on for them,
    /// unless --force is given.
    #[command(after_long_help = "\
Examples:
  branchyard cancel 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard cancel --group 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6c")]
    Cancel(CancelArgs),

    /// Show a run's output, or how a group goes, from the start or from a cursor
    ///
    /// Works for queued, running and finished runs alike, and ends with the run's exit code. Goes
    /// on where it was when the daemon is started anew meanwhile. Ctrl-C stops looking; the run
    /// goes on.
    #[command(after_long_help = "\
Examples:
  branchyard follow 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard follow 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --json
  branchyard follow --group 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6c --output")]
    Follow(FollowArgs),

    /// Print a run's log, or some of its lines
    ///
    /// Prints exactly what the daemon sends: without options, exactly what the run printed. The log
    /// of a run that goes on is printed until it ends. Ends with 0 however the run ended.
    #[command(after_long_help = "\
Examples:
  branchyard log 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --tail 50
  branchyard log 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --lines 100-140
  branchyard log 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --grep 'error|warning' -i -C 3")]
    Log(LogArgs),

    /// Print the errors and warnings in a run's output
    ///
    /// One on each line, spelt as compilers do, so that editors find the place:
    /// file:line:column: error: message.
    #[command(after_long_help = "\
Examples:
  branchyard diagnostics 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  vim -q <(branchyard diagnostics 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b)")]
    Diagnostics(DiagnosticsArgs),

    /// Open the page in a browser, logged in
    ///
    /// The browser gets a link that is good once, for a minute; the key stays here. Where no browser
    /// can be started, the link is printed.
    #[command(after_long_help = "\
Examples:
  branchyard open
  branchyard open 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b    a run's output
  branchyard open --print                                 for a browser elsewhere")]
    Open(OpenArgs),

    /// Show what happens in the yard, live
    ///
    /// On a terminal: how busy the machine is, the runs under way and the latest that ended; Ctrl-C
    /// leaves. Piped, there is a line for each change: time, kind, change, repository, branch and
    /// what else there is to say, with tabs between. With --json, the events themselves.
    #[command(after_long_help = "\
Examples:
  branchyard top
  branchyard top | grep -w failed
  branchyard top --json")]
    Top,

    /// Show who did what, the latest first
    ///
    /// Every call that changed something is there, with who made it, where, and what came of it; and
    /// everybody whom the daemon refused. Needs the right admin. Piped, each line is id, time,
    /// principal, address, face, action, repository, branch, outcome, code, count and run, with tabs
    /// between.
    #[command(after_long_help = "\
Examples:
  branchyard audit
  branchyard audit --repo app --branch main --since 1d
  branchyard audit --outcome refused --limit 100
  branchyard audit --export ndjson --since 1d > audit.ndjson")]
    Audit(AuditArgs),
}
