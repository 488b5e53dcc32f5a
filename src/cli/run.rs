//! What `make`, `git`, `task` and `rerun` share: they start a run, or one on each of many branches, and watch it to its
//! end.

use clap::ValueEnum;
use serde::de::DeserializeOwned;

use super::Context;
use super::board::Board;
use super::client::{Answer, Start, encode};
use super::exit::{self, Failure};
use super::follow;
use super::progress::Progress;
use super::signals::{Interrupts, Role};
use super::stream::EventStream;
use super::values;
use super::watch::watch;
use branchyard_model::{BranchName, CommitId, GroupRecord, RepoName, RunRecord};
use branchyard_runs::argv::Args;
use branchyard_runs::{RunBody, Sync};

/// How a run is prepared and watched, whatever it runs.
#[derive(Debug, clap::Args)]
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

impl RunFlags {
    /// Asks for a run of `args` on one branch; `what` says of which kind it is.
    pub(super) fn on_branch(
        &self,
        (repo, branch): (&RepoName, &BranchName),
        verb: &str,
        args: &[String],
        what: RunBody,
    ) -> Start {
        let (repo, branch) = (encode(repo.as_str()), encode(branch.as_str()));
        let path = format!("/stream/repos/{repo}/branches/{branch}/{verb}");
        self.start(path, args, what)
    }

    /// Asks for a run on each of many branches; `what` names them.
    pub(super) fn on_branches(
        &self,
        repo: &RepoName,
        verb: &str,
        args: &[String],
        what: RunBody,
    ) -> Start {
        let path = format!("/stream/repos/{}/{verb}", encode(repo.as_str()));
        self.start(path, args, what)
    }

    fn start(&self, path: String, args: &[String], what: RunBody) -> Start {
        let body = RunBody {
            args: Args::List(args.to_vec()),
            env: self.env.iter().cloned().collect(),
            timeout: self.timeout.clone(),
            sync: match (&self.commit, self.sync) {
                (Some(_), _) => Sync::Commit,
                (None, Some(SyncArg::None)) => Sync::None,
                (None, Some(SyncArg::Reset)) => Sync::Reset,
                (None, Some(SyncArg::Auto) | None) => Sync::Auto,
            },
            commit: self.commit.clone(),
            clean: self.clean,
            cold: self.cold,
            stale: self.stale,
            coalesce: self.coalesce,
            supersede: self.supersede,
            reuse: self.reuse,
            detach: self.detach,
            ..what
        };
        Start::new(path, &body, self.idempotency_key.as_ref())
    }
}

/// Starts one run.
pub(super) async fn start(context: &Context, request: &Start, detach: bool) -> Result<u8, Failure> {
    if detach {
        let answer = context.client.start_detached(request).await?;
        return print_id(context, &answer, |run: RunRecord| run.run_id.to_string());
    }
    let progress = Progress::new(&context.console);
    let clear = progress.clearing();
    let role = Role::Initiator;
    let interrupts = Interrupts::listen(role, &context.client, context.console, clear)?;
    match started(context, request, &interrupts, false).await? {
        Some(stream) => follow::watch_one(context, stream, &interrupts, progress).await,
        None => Ok(exit::CANCELLED),
    }
}

/// Starts a group of runs; `output` says whether to show what they print.
pub(super) async fn start_group(
    context: &Context,
    request: &Start,
    output: bool,
    detach: bool,
) -> Result<u8, Failure> {
    if detach {
        let answer = context.client.start_detached(request).await?;
        return print_id(context, &answer, |group: GroupRecord| {
            group.group_id.to_string()
        });
    }
    let mut board = Board::new(context.console, output);
    let clear = board.clearing();
    let role = Role::Initiator;
    let interrupts = Interrupts::listen(role, &context.client, context.console, clear)?;
    match started(context, request, &interrupts, output).await? {
        Some(stream) => watch(stream, &interrupts, &mut board).await,
        None => Ok(exit::CANCELLED),
    }
}

/// Nothing where a signal came before the daemon accepted it: it sees that who asked is gone.
async fn started(
    context: &Context,
    request: &Start,
    interrupts: &Interrupts,
    output: bool,
) -> Result<Option<EventStream>, Failure> {
    let client = &context.client;
    let (subject, response) = tokio::select! {
        started = client.start(request) => started?,
        () = interrupts.wait() => return Ok(None),
    };
    let client = client.clone();
    let stream = EventStream::started(client, subject, response, output);
    Ok(Some(stream))
}

fn print_id<T: DeserializeOwned>(
    context: &Context,
    answer: &Answer,
    id: impl FnOnce(T) -> String,
) -> Result<u8, Failure> {
    context.show(answer, |started| context.console.print_line(&id(started)))
}
