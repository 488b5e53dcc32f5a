//! The set-up of a workspace, before its first run and whenever its inputs have changed. Another workspace may have made
//! the same already; else its commands are run here, each as a run of its own that has the lock of the workspace for as
//! long as it takes.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use serde::Serialize;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::checks::Checks;
use super::drive::{Drive, not_started, task_failed};
use super::ending::Ending;
use super::exec::ExecFiles;
use super::history::Asked;
use super::live::Live;
use super::open::{Runs, RunsInner};
use super::request::RunBody;
use super::reuse::{ProgramIdentity, identity, repeat, tool_versions};
use super::sandbox::Decides;
use super::secrets::{Handed, hidden};
use super::slots::Slot;
use super::start::not_recorded;
use super::written::{RequestKind, Written};
use crate::{environment, launch};
use branchyard_config::{RepoConfig, Setup, Task};
use branchyard_git::NetworkAccess;
use branchyard_model::{
    About, EndState, ErrorKind, Event, OnDisconnect, Phase, Problem, RunId, RunKind, RunRecord,
    RunSpec, RunState, Status, SyncMode, Warning,
};
use branchyard_workspace::repos::Repo;
use branchyard_workspace::setup::{self, Key};
use branchyard_workspace::{FilesGuard, Workspace, WorkspaceLock, included};

/// Changed whenever the meaning of a key is.
const VERSION: u32 = 1;
/// Jobs find their worktrees elsewhere than workspaces are, and take nothing that was made in one.
const OF_JOBS: &str = "job";

/// Set-ups that are under way, by their keys: of several workspaces with one key, one makes what the others take.
#[derive(Debug, Default)]
pub(super) struct SetupsUnderWay(DashMap<String, Weak<Mutex<()>>>);

/// What decides what a set-up makes. It holds secrets, hence no `Debug`.
#[derive(Serialize)]
struct Inputs<'a> {
    /// Where it is found that is no workspace: paths in what it makes are those.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'static str>,
    url: String,
    setup: &'a Setup,
    inputs: &'a str,
    /// The operator's files in the workspace.
    included: Vec<(String, String)>,
    programs: Vec<Option<ProgramIdentity>>,
    env: BTreeMap<String, String>,
    tools: Vec<String>,
    sandbox: Decides,
}

/// The turn to make what a set-up makes, for as long as this is held.
#[derive(Debug)]
pub struct SetupTurn(#[expect(dead_code, reason = "held until dropped")] OwnedMutexGuard<()>);

impl SetupsUnderWay {
    /// The turn of those who need this key.
    fn turn(&self, key: &str) -> Arc<Mutex<()>> {
        self.0.retain(|_, turn| turn.strong_count() > 0);
        let mut entry = self.0.entry(key.to_owned()).or_default();
        entry.upgrade().unwrap_or_else(|| {
            let turn = Arc::new(Mutex::default());
            *entry = Arc::downgrade(&turn);
            turn
        })
    }
}

/// Sees to it that the workspace has what this run needs: the operator's files, and a set-up. Returns how the run ends,
/// where that failed; and else what it holds while it runs. While a command of the set-up is at work, that has the lock.
pub(super) async fn make_ready(
    drive: &Arc<Drive>,
    workspace: &Arc<Workspace>,
    about: &About,
    lock: &mut Option<WorkspaceLock>,
    (slot, files): (Slot, FilesGuard),
) -> Result<Result<(Slot, FilesGuard), Ending>, Problem> {
    let spec = drive.live().record().spec;
    if spec.kind == RunKind::Git || spec.without_setup {
        return Ok(Ok((slot, files)));
    }
    let judged = |error: branchyard_workspace::Error| drive.shared().margin.judge(error.problem());
    let (files, warning) = included::bring(workspace, files).await.map_err(judged)?;
    if let Some(warning) = warning {
        drive.warn(warning);
    }
    let Some(setup) = declared(workspace).await? else {
        return Ok(Ok((slot, files)));
    };
    let key = key(drive, workspace, &setup).await?;
    let done = setup::is_done(workspace, &setup, &key, spec.cold).await;
    if done.map_err(judged)? {
        return Ok(Ok((slot, files)));
    }
    if let Some(helper) = workspace.helpers().first() {
        return Err(beside_helper(helper));
    }
    // A set-up moves files, which takes the files lock exclusively.
    drop(files);
    tell_phase(drive, None);
    let (slot, _turn) = turn(drive, workspace, &key, slot).await?;
    if spec.cold || !setup::take(workspace, &setup, &key).await.map_err(judged)? {
        let origin = setup::begin(workspace, &setup).await.map_err(judged)?;
        for command in &setup.run {
            let run = run_command(drive, workspace, about, command, lock).await?;
            if run.state != RunState::Ended(EndState::Succeeded) {
                repeat(drive, run.run_id).await.map_err(|error| {
                    let detail = "the set-up failed, and its output could not be repeated here";
                    Problem::unwritten("setup_failed", detail, &error)
                })?;
                return Ok(Err(Ending::NotSetUp(Box::new(run))));
            }
        }
        let unkept = setup::finish(workspace, &setup, &key, origin).await;
        if let Some(why) = unkept.map_err(judged)? {
            let message = format!("other workspaces cannot have what the set-up made: {why}");
            drive.warn(Warning::new("setup_not_kept", message));
        }
    }
    Ok(Ok((slot, workspace.share_files().await)))
}

/// The turn to make what no other has made, and the slot again. While another makes it, builds of others execute; when
/// that is done, all who waited copy it at once, without a turn. No run waits for a turn with a slot, so that one with a
/// turn gets a slot in the end.
async fn turn(
    drive: &Drive,
    workspace: &Arc<Workspace>,
    key: &Key,
    slot: Slot,
) -> Result<(Slot, Option<OwnedMutexGuard<()>>), Problem> {
    let turns = drive.shared().setups.turn(&key.all);
    if let Ok(turn) = turns.clone().try_lock_owned() {
        return Ok((slot, Some(turn)));
    }
    drop(slot);
    let turn = turns.lock_owned().await;
    let turn = match setup::is_kept(workspace, key).await? {
        true => None,
        false => Some(turn),
    };
    Ok((drive.take_slot(workspace).await, turn))
}

/// What both made would not be told apart.
fn beside_helper(helper: RunId) -> Problem {
    let detail = format!(
        "the workspace has to be set up anew, and run {helper} is at work in it, in the background"
    );
    Problem::new(ErrorKind::Conflict, "setup_in_the_way", detail)
        .help("cancel that run first; or go on with what is there by `without_setup`")
}

/// What the branch says, where it may, or else the operator.
async fn declared(workspace: &Arc<Workspace>) -> Result<Option<Setup>, Problem> {
    let config = workspace.repo().config();
    let file = match config.setup_on_branch {
        true => setup::of_branch(workspace).await?,
        false => None,
    };
    setup::declared(file.as_deref(), config)
}

/// What stands for a set-up that a job is to have: see [`setup::digest_at`] for its `inputs`.
pub async fn key_of_job(
    runs: &Runs,
    repo: &Repo,
    setup: &Setup,
    inputs: &str,
) -> Result<String, Problem> {
    let place = Some(OF_JOBS);
    key_of(
        runs.inner(),
        repo.config(),
        setup,
        (place, inputs, Vec::new()),
    )
    .await
}

/// Waits for the turn to make what no other has made. Who waits holds no slot; who has the turn gets one in the end.
pub async fn turn_of_job(runs: &Runs, key: &str) -> SetupTurn {
    let turn = runs.inner().setups.turn(key);
    SetupTurn(turn.lock_owned().await)
}

async fn key(drive: &Drive, workspace: &Arc<Workspace>, setup: &Setup) -> Result<Key, Problem> {
    let inputs = setup::digest_inputs(workspace, setup).await?;
    let (shared, repo) = (drive.shared(), workspace.repo().config());
    let found = (None, &*inputs, included::digest(workspace)?);
    Ok(Key {
        all: key_of(shared, repo, setup, found).await?,
        inputs,
    })
}

async fn key_of(
    shared: &RunsInner,
    repo: &RepoConfig,
    setup: &Setup,
    (place, inputs, included): (Option<&'static str>, &str, Vec<(String, String)>),
) -> Result<String, Problem> {
    let env = environment::declared(&shared.config, repo);
    let tools = tool_versions(&repo.toolchain, &env).await;
    let tools = tools.map_err(|why| Problem::unprocessable("toolchain", why))?;
    let programs = setup.run.iter();
    let programs = programs.map(|command| identity(&command.argv()[0], &env));
    let decides = Inputs {
        place,
        url: repo.url.to_string(),
        setup,
        inputs,
        included,
        programs: programs.collect(),
        env,
        tools,
        sandbox: shared.sandboxes.decides(repo, RunKind::Setup)?,
    };
    // Plain data with string keys always serialises.
    let text = serde_json::to_vec(&(VERSION, decides)).unwrap_or_default();
    Ok(shared.reuse_key.digest(&text))
}

/// Tells that the workspace is being set up, and by which run.
fn tell_phase(drive: &Drive, setup: Option<RunId>) {
    drive.journal().tell(&Event::Status(Status {
        phase: Some(Phase::Setup),
        setup,
        ..Status::new("preparing")
    }));
}

/// Runs one command of the set-up to its end, as a run that others can watch and cancel.
async fn run_command(
    drive: &Arc<Drive>,
    workspace: &Arc<Workspace>,
    about: &About,
    command: &Task,
    lock: &mut Option<WorkspaceLock>,
) -> Result<RunRecord, Problem> {
    let (runs, needed_by) = (Runs::of(drive.shared().clone()), drive.live());
    let record = RunRecord::new(RunId::new(), spec(drive, command));
    let asked = Asked {
        written: Written {
            action: RequestKind::Setup,
            request: RunBody::default(),
        },
        checks: Checks::default(),
        spec: Some(record.spec.clone()),
        account: Some(needed_by.account().to_owned()),
        dropped_env: BTreeMap::new(),
        dropped_stdin: false,
    };
    let account = needed_by.account().to_owned();
    let (live, setting_up) = launch::begin(&runs, record, &asked, account)
        .map_err(|error| drive.shared().margin.judge(not_recorded(&error)))?;
    needed_by.change(|record| record.setup = Some(live.id()));
    tell_phase(drive, Some(live.id()));
    let (place, about, own) = (workspace.clone(), about.clone(), lock.take());
    // It goes on to its end without the run that needs it, and has the lock until then.
    let running = runs.inner().tasks.spawn(async move {
        let (drive, workspace) = (setting_up.clone(), place.clone());
        let worker = tokio::spawn(async move {
            let _files = workspace.share_files().await;
            set_up(&drive, &workspace, about).await
        });
        // It ends on every path, a defect of ours included.
        let ending = worker
            .await
            .unwrap_or_else(|error| Some(task_failed(&error)));
        let held = setting_up.close(ending, own.map(|own| (own, place))).await;
        held.map(|(lock, _)| lock)
    });
    let unneeded = StopUnneeded(live.clone());
    *lock = running.await.unwrap_or_else(|error| {
        tracing::error!(run = %live.id(), %error, "the task of a set-up failed");
        None
    });
    drop(unneeded);
    let ended = live.record();
    if !ended.state.is_ended() {
        // The daemon leaves, and the next one does the rest.
        std::future::pending::<()>().await;
    }
    match lock {
        Some(_) => Ok(ended),
        // Its end is not on disk, and other runs were let in meanwhile.
        None => Err(not_recorded(&io::ErrorKind::StorageFull.into())),
    }
}

fn spec(drive: &Drive, command: &Task) -> RunSpec {
    let of = drive.live().record().spec;
    RunSpec {
        kind: RunKind::Setup,
        task: None,
        argv: command.argv().to_vec(),
        code_sha256: None,
        asked_argv: None,
        env: BTreeMap::new(),
        timeout: drive.shared().config.timeouts.run,
        background: false,
        ready: None,
        test: None,
        sync: SyncMode::None,
        clean: false,
        cold: false,
        stale: true,
        reuse: false,
        on_disconnect: OnDisconnect::Continue,
        author: None,
        group: None,
        step: None,
        ..of
    }
}

/// Ends a set-up if the run that needs it ends first, unless that is because the daemon leaves.
struct StopUnneeded(Arc<Live>);

impl Drop for StopUnneeded {
    fn drop(&mut self) {
        if !self.0.has_ended() && !self.0.leaving().is_cancelled() {
            self.0.viewers().stop("the run that needs it was cancelled");
        }
    }
}

/// The command itself, in a workspace that is ready for it but for what it makes.
async fn set_up(drive: &Drive, workspace: &Arc<Workspace>, about: About) -> Option<Ending> {
    let checks = Checks::default();
    let start = async {
        let files = ExecFiles::default();
        let sandboxes = &drive.shared().sandboxes;
        let sandbox = sandboxes.of_run(workspace, RunKind::Setup, &checks, &files)?;
        let remote = (
            drive.lease(workspace, NetworkAccess::Here)?,
            NetworkAccess::Here,
        );
        let secrets = Handed {
            hidden: hidden(&drive.shared().config.secrets, workspace)?,
            ..Handed::default()
        };
        let about = (about, &checks);
        let started = drive.start(workspace, about, (sandbox, files), remote, secrets);
        started
            .await
            .map_err(|error| not_started(drive.shared(), &error))
    };
    match start.await {
        Ok((supervisor, watch)) => drive.attend(supervisor, Some(watch)).await,
        Err(problem) => Some(Ending::Refused(problem)),
    }
}
