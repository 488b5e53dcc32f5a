//! What `make`, `git`, `task` and `rerun` share: they start a run, or one on each of many branches, and watch it to its
//! end.

use clap::ValueEnum;
use serde::Deserialize;

use super::Context;
use super::client::{Start, encode};
use super::exit::{self, Failure};
use super::follow::Watcher;
use super::signals::Role;
use super::stream::EventStream;
use super::subject::Subject;
use super::values;
use branchyard_model::{BranchName, CommitId, GroupRecord, RepoName, RunRecord};
use branchyard_runs::argv::Args;
use branchyard_runs::{RunBody, Sync};

/// How a run is prepared and watched, whatever it runs.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
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
    /// Go without the set-up of the repo, as to mend what makes that fail
    #[arg(long)]
    pub without_setup: bool,
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
    /// Asks for a run of `args` on a branch, or on each of those that `what` names.
    pub(super) fn request(
        &self,
        (repo, branch): (&RepoName, Option<&BranchName>),
        verb: &str,
        args: &[String],
        what: RunBody,
    ) -> Start {
        let repo = encode(repo.as_str());
        let path = match branch.map(|branch| encode(branch.as_str())) {
            Some(branch) => format!("/stream/repos/{repo}/branches/{branch}/{verb}"),
            None => format!("/stream/repos/{repo}/{verb}"),
        };
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
            without_setup: self.without_setup,
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

/// The answer to a run that is started and not followed.
#[derive(Deserialize)]
#[serde(untagged)]
enum Started {
    Group(GroupRecord),
    Run(Box<RunRecord>),
}

/// Starts a run or a group of them; of a group, `output` says whether to show what its runs print.
pub(super) async fn start(
    context: &Context,
    request: &Start,
    output: bool,
    detach: bool,
) -> Result<u8, Failure> {
    if detach {
        let client = &context.client;
        let answer = client.start_detached(request).await?;
        return context.show(&answer, |started| {
            let id = match started {
                Started::Group(group) => group.group_id.to_string(),
                Started::Run(run) => run.run_id.to_string(),
            };
            context.console.print_line(&id)
        });
    }
    let (code, _) = start_and_watch(context, request, output).await?;
    Ok(code)
}

/// Starts it and watches it to its end; what was started, unless that was called off before.
pub(super) async fn start_and_watch(
    context: &Context,
    request: &Start,
    output: bool,
) -> Result<(u8, Option<Subject>), Failure> {
    let client = &context.client;
    let watcher = Watcher::new(context, Role::Initiator, output)?;
    let (subject, response) = tokio::select! {
        started = client.start(request) => started?,
        // Not accepted yet, and who asked is gone: the daemon sees that.
        () = watcher.interrupts().wait() => return Ok((exit::CANCELLED, None)),
    };
    let output = output && matches!(subject, Subject::Group(_));
    let stream = EventStream::new(client.clone(), subject, None, Some(response), output);
    Ok((watcher.watch(context, stream).await?, Some(subject)))
}
