//! An earlier run answers for a later one, where the later one would see nothing that the earlier did not:
//! `reuse: true`. Asked for after the workspace was made ready and with its lock held, so that what is
//! compared is what the command would find.
//!
//! - The *inputs* are digested with a key of this yard's: the tree, the command as it was asked for, its
//!   environment and secrets, its sandbox, and what the repo's tools say of themselves.
//! - What lies *beside* the tracked files has to be what the earlier run began with, or what it left: its
//!   own output is no change. So a fresh workspace matches a fresh one, and a file of somebody's matches nothing.
//! - Only runs that were asked for with `reuse` are compared, and only those that succeeded answer.
//!
//! The answer is a run of its own, with the earlier one's output and end, that says so. Files are not
//! brought back.

mod inputs;
mod key;
mod replay;
mod toolchain;

use std::io;
use std::sync::Arc;

use self::inputs::Inputs;
pub(super) use self::key::ReuseKey;
use self::replay::Earlier;
pub(super) use self::replay::pieces_in;
pub(super) use self::toolchain::{
    ProgramIdentity, ask as ask_tool, identity, versions as tool_versions,
};
use super::drive::{Drive, Held};
use super::ending::Ending;
use super::environment;
use super::secrets::Handed;
use branchyard_auth::Principal;
use branchyard_model::{
    About, BranchName, Event, Problem, Reusable, RunId, RunRecord, Status, Warning,
};
use branchyard_process::{Exit, Outcome};
use branchyard_workspace::Workspace;
use branchyard_workspace::untracked_digest;
use branchyard_workspace::warm;

/// How many runs with the same inputs are looked at. They differ in what lay beside the tracked files, and
/// what lies there now is most likely what one of the last left.
const LOOKED_AT: usize = 16;

/// Ends the run with what an earlier one said, if that was asked for and there is one that can answer.
/// Where there is none, it is noted what this one sees, for it to answer later.
pub(super) async fn answer_from_earlier(
    drive: &Arc<Drive>,
    workspace: &Arc<Workspace>,
    about: &About,
    secrets: &Handed,
    asker: Option<&Principal>,
) -> Option<Ending> {
    if !drive.live().record().spec.reuse {
        return None;
    }
    // An earlier daemon may have noted what is not so any more.
    drive.live().change(|record| record.reusable = None);
    let sees = match what_it_sees(drive, workspace, about, secrets).await {
        Ok(sees) => sees,
        Err(why) => {
            let message = format!("no earlier run can answer for this one: {why}");
            drive.warn(Warning::new("not_reusable", message));
            return None;
        }
    };
    let Some(earlier) = find_earlier(drive, &sees, asker).await else {
        drive.live().change(|record| record.reusable = Some(sees));
        return None;
    };
    metrics::counter!("branchyard_runs_reused_total").increment(1);
    let run = earlier.run();
    drive.live().change(|record| {
        record.about = Some(about.clone());
        record.cached = Some(run);
    });
    // From here on the answer is the earlier run's, also if another daemon has to give it.
    if let Err(error) = drive.shared().history.save(&drive.live().record()) {
        return Some(Ending::Refused(not_reused(drive, run, &error)));
    }
    drive.journal().tell(&Event::Status(Status {
        cached: Some(run),
        about: Some(about.clone()),
        ..Status::new("cached")
    }));
    match say_again(drive, earlier, 0).await {
        Some(ending) => Some(ending),
        // The daemon leaves, which whoever waits for this sees as well.
        None => std::future::pending().await,
    }
}

/// Says what an earlier run said, but for the pieces that were said before. `None` if the daemon leaves
/// first: the next one goes on.
async fn say_again(this: &Arc<Drive>, earlier: Earlier, before: usize) -> Option<Ending> {
    let (drive, run) = (this.clone(), earlier.run());
    let saying = move || earlier.say_again(&drive, before);
    let said = this.shared().tasks.spawn_blocking(saying).await;
    match said.map_err(io::Error::other).flatten() {
        Ok(true) => Some(Ending::Reused(run)),
        Ok(false) => None,
        Err(error) => Some(Ending::Refused(not_reused(this, run, &error))),
    }
}

/// Says in a run's journal what another, which has ended, said in its own.
pub(super) async fn repeat(drive: &Arc<Drive>, run: RunId) -> io::Result<()> {
    let (shared, to) = (drive.shared().clone(), drive.clone());
    let saying = move || match Earlier::open(&shared.history, run) {
        Some(earlier) => earlier.say_again(&to, 0).map(drop),
        None => Err(io::ErrorKind::NotFound.into()),
    };
    let said = drive.shared().tasks.spawn_blocking(saying).await;
    said.map_err(io::Error::other).flatten()
}

/// Goes on with an answer that an earlier daemon began to give, of which so many pieces are in the
/// journal already.
pub(super) async fn go_on_saying(drive: &Arc<Drive>, run: RunId, before: usize) -> Option<Ending> {
    let shared = drive.shared().clone();
    let open = move || Earlier::open(&shared.history, run);
    let opened = tokio::task::spawn_blocking(open).await;
    let opened = opened.map_err(io::Error::other);
    match opened.and_then(|earlier| earlier.ok_or(io::ErrorKind::NotFound.into())) {
        Ok(earlier) => say_again(drive, earlier, before).await,
        Err(error) => Some(Ending::Refused(not_reused(drive, run, &error))),
    }
}

fn not_reused(drive: &Drive, run: RunId, error: &io::Error) -> Problem {
    let detail = format!("the answer of run {run} could not be given again");
    let problem = Problem::unwritten("not_reused", &detail, error);
    drive.shared().margin.judge(problem)
}

/// What the command would find; or why that cannot be compared, in words.
async fn what_it_sees(
    drive: &Drive,
    workspace: &Arc<Workspace>,
    about: &About,
    secrets: &Handed,
) -> Result<Reusable, String> {
    if let Some(run) = workspace.helpers().first() {
        return Err(format!(
            "run {run} is at work in the workspace, in the background"
        ));
    }
    let beside = untracked_digest::untracked_digest(workspace, about.tree.clone()).await;
    let before = beside
        .map_err(|error| error.problem().detail)?
        .ok_or("tracked files differ from the commit")?;
    let (config, repo) = (&drive.shared().config, &workspace.repo().config());
    let spec = drive.live().record().spec;
    let mut env = environment::declared(config, repo);
    let tools = toolchain::versions(&repo.toolchain, &env).await?;
    let program = spec
        .argv
        .first()
        .and_then(|name| toolchain::identity(name, &env));
    env.extend(spec.env.clone());
    env.extend(secrets.env.iter().cloned());
    let sandbox = drive.shared().sandboxes.decides(repo, spec.kind);
    let inputs = Inputs {
        tree: &about.tree,
        repo: &spec.repo,
        kind: spec.kind,
        task: spec.task.as_deref(),
        argv: spec.asked_argv(),
        env: &env,
        principal: (!spec.env.is_empty()).then_some(&spec.principal),
        sandbox: sandbox.map_err(|problem| problem.detail)?,
        tools,
        program,
    };
    Ok(Reusable {
        inputs: inputs.digest(&drive.shared().reuse_key),
        before,
        after: None,
    })
}

/// The newest run that saw the same, and whose output is still there. One of another branch answers
/// only those who could look at it themselves.
async fn find_earlier(
    drive: &Drive,
    sees: &Reusable,
    asker: Option<&Principal>,
) -> Option<Earlier> {
    let (shared, sees) = (drive.shared().clone(), sees.clone());
    let (spec, asker) = (drive.live().record().spec, asker.cloned());
    let look = move || {
        let found = shared.history.store().reusable(&sees.inputs, LOOKED_AT);
        let found = found.unwrap_or_else(|error| {
            tracing::error!(%error, "failed to look for a run to reuse");
            Vec::new()
        });
        let may_see = |branch: &BranchName| {
            let asker = asker.as_ref();
            *branch == spec.branch || asker.is_some_and(|asker| asker.sees(&spec.repo, branch))
        };
        let fits = |run: &RunRecord| {
            run.reusable
                .as_ref()
                .is_some_and(|run| run.fits(&sees.before))
        };
        found
            .into_iter()
            .filter(|run| fits(run) && may_see(&run.spec.branch))
            .find_map(|run| Earlier::open(&shared.history, run.run_id))
    };
    let found = tokio::task::spawn_blocking(look).await;
    found.unwrap_or_else(|error| {
        tracing::error!(%error, "failed to look for a run to reuse");
        None
    })
}

/// Now that its command has ended: notes what it left, if it may answer for later runs, or else that
/// it may not.
pub(super) async fn settle_reuse(drive: &Drive, exit: &Exit, held: Option<&Held>) {
    let record = drive.live().record();
    let (Some(mut reusable), Some(about)) = (record.reusable, record.about) else {
        return;
    };
    // Where the run did not hold the lock to its end, files may have been changed since.
    let workspace = held.map(|(_, workspace)| workspace);
    let after = match workspace.filter(|workspace| fills_reuse(workspace, exit)) {
        Some(workspace) => untracked_digest::untracked_digest(workspace, about.tree).await,
        None => Ok(None),
    };
    let after = after.unwrap_or_else(|error| {
        tracing::warn!(run = %drive.live().id(), %error, "a run will not be reused");
        None
    });
    drive.live().change(|record| {
        record.reusable = after.map(|after| {
            reusable.after = Some(after);
            reusable
        });
    });
}

/// Whether a run that ended so may answer for later ones: it succeeded, by itself, and all that it said is
/// in its journal. What was built on top of another branch's output is that branch's affair as well.
fn fills_reuse(workspace: &Workspace, exit: &Exit) -> bool {
    !warm::is_warm(workspace)
        && matches!(exit.outcome, Outcome::Code(0))
        && exit.stopped.is_none()
        && exit.unwritten.is_none()
        && !exit.leaked
}
