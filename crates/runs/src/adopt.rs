//! What an earlier daemon left: runs whose supervisors live are taken over, those that ended
//! meanwhile are told, those that never started get back in line, and the rest is lost. Where the
//! earlier one was about to tell an end, it is told.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use super::drive::{Drive, RunJob, line_up};
use super::ending::Ending;
use super::finish::tidy;
use super::live::Live;
use super::open::Runs;
use super::reuse::pieces_in;
use super::run_journal::JournalOwner;
use super::stop_note;
use crate::{launch, reuse};
use branchyard_journal::{self as journal, Cursor, Extent, Writer};
use branchyard_model::{Event, OnDisconnect, RunId, RunKind, RunRecord, RunState};
use branchyard_process::{FoundSupervisor, Stop, Supervisor};

/// Goes on with the runs that have not ended. When this returns, every live one has its lock, so
/// that a run that is requested from now on comes after it.
pub(super) async fn adopt(runs: &Runs, unended: Vec<RunRecord>) {
    let (mut waiting, mut started) = (Vec::new(), Vec::new());
    // The run that needs it has it run again.
    let mut unneeded = Vec::new();
    for record in unended {
        let id = record.run_id;
        let (done, failure) = if record.state.is_ended() {
            let settled = settle(runs, record);
            (settled, "failed to settle a run that has ended")
        } else if runs.inner().is_copy {
            // Its supervisor, if it has one, is at work in the yard that this one was copied from, and is not looked for.
            let left = end_at_once(runs, record, |_| Ending::Copied).await;
            (left, "failed to leave a run to the yard that it is of")
        } else if let Some(earlier) = record.cached {
            let answered = answer_on(runs, record, earlier);
            (answered, "failed to go on with an answer")
        } else {
            match Supervisor::find(&runs.inner().history.home(id)) {
                Ok(FoundSupervisor::NeverStarted) if record.spec.kind == RunKind::Setup => {
                    unneeded.push(record);
                }
                // Its pipeline starts it, under the same id.
                Ok(FoundSupervisor::NeverStarted) if record.spec.kind == RunKind::Step => {
                    runs.inner().history.discard(id);
                }
                Ok(FoundSupervisor::NeverStarted) => waiting.push(record),
                Ok(found) => started.push((record, found)),
                Err(error) => {
                    tracing::error!(run = %id, %error, "failed to look for a run's supervisor");
                    started.push((record, FoundSupervisor::Gone));
                }
            }
            continue;
        };
        if let Err(error) = done {
            tracing::error!(run = %id, %error, "{failure}");
        }
    }
    for (mut record, found) in started {
        let id = record.run_id;
        // A record that had to be made again does not know it.
        record.state = RunState::Running;
        if let FoundSupervisor::Alive(supervisor) = found {
            take_over(runs, record, supervisor).await;
        } else if let Err(error) = end_at_once(runs, record, end_of_gone).await {
            tracing::error!(run = %id, %error, "failed to go on with a run");
        }
    }
    for record in unneeded {
        let id = record.run_id;
        let ended = end_at_once(runs, record, |_| Ending::CancelledBeforeStart).await;
        if let Err(error) = ended {
            tracing::error!(run = %id, %error, "failed to end a set-up that had not started");
        }
    }
    for record in waiting {
        let id = record.run_id;
        if let Err(error) = line_up_again(runs, record) {
            tracing::error!(run = %id, %error, "failed to queue a run again");
        }
    }
}

async fn take_over(runs: &Runs, record: RunRecord, supervisor: Supervisor) {
    tracing::info!(run = %record.run_id, "taking over a run that goes on");
    let (id, spec) = (record.run_id, record.spec.clone());
    let start = Extent {
        len: Cursor::START.frame,
        closed: false,
    };
    let (extent, seen) = watch::channel(start);
    let path = runs.inner().history.journal(id);
    let watch = runs.inner().watcher.watch(&path, start.len, extent.clone());
    if let Err(error) = &watch {
        // It goes on all the same, and no other run may take its lock.
        tracing::error!(run = %id, %error, "the journal of a run that goes on cannot be followed");
    }
    let live = live_left(runs, record, seen);
    // It has its commit; who wants to join it must want that one.
    live.company().close();
    let slots = runs.inner().slots_for(spec.kind);
    // A step has a part in the slot of its job.
    let has_slot = !spec.background && spec.step.is_none();
    let slot = has_slot.then(|| slots.occupy(&spec.principal, &spec.repo));
    let workspace = runs.inner().workspace_of(&spec);
    let asked = runs.inner().history.asked(id);
    let checks = asked.map(|asked| asked.checks).unwrap_or_default();
    let place = workspace
        .as_ref()
        .filter(|_| !spec.background)
        .and_then(|workspace| line_up(workspace, &live.record(), &checks));
    let held = match (&workspace, place) {
        (Some(workspace), Some(place)) => {
            // The daemon takes no requests yet, so this does not wait.
            Some((place.wait(|_| {}).await, workspace.share_files().await))
        }
        _ => None,
    };
    let drive = Drive::new(runs, live.clone(), JournalOwner::Supervisor(extent));
    let helped = workspace.clone().filter(|_| spec.background);
    if let Some(workspace) = &helped {
        drive.enter_helpers(workspace);
    }
    runs.inner().live.insert(id, live);
    let network = checks.network;
    runs.inner().tasks.spawn(async move {
        let ending = {
            // Pushes and fetches of the store go one at a time, those taken over too.
            let _network = match workspace.as_ref().filter(|_| network) {
                Some(workspace) => Some(workspace.repo().network().lock().await),
                None => None,
            };
            match &helped {
                Some(workspace) => {
                    let attended = drive.attend_helper(workspace, supervisor, watch.ok());
                    attended.await
                }
                None => drive.attend(supervisor, watch.ok()).await,
            }
        };

        let (lock, files) = held.unzip();
        drop((slot, files));
        drive.close(ending, lock.zip(workspace)).await;
    });
}

/// The end is on record, but who recorded it may have gone before it was told, or tidied up.
fn settle(runs: &Runs, record: RunRecord) -> io::Result<()> {
    let id = record.run_id;
    let last = journal::last_event(&runs.inner().history.journal(id))?;
    if !matches!(last, Some(Event::Complete(_) | Event::Error(_))) {
        let end = Event::of_end(&record);
        // What is to be run at the end of a run of another yard is that yard's.
        if !runs.inner().is_copy {
            let outbox = &runs.inner().outbox;
            runs.inner().margin.spend(|| outbox.note_run(&record))?;
        }
        let drive = resume(runs, record)?;
        runs.inner()
            .margin
            .spend(|| drive.journal().tell_last(&end))?;
    }
    tidy(runs.inner(), id);
    Ok(())
}

/// How a run ended whose supervisor is gone.
fn end_of_gone(drive: &Drive) -> Ending {
    let mut ending = drive.ending_on_disk();
    if let Ending::Exited(exit) = &mut ending
        && drive.live().viewers().is_stopped()
    {
        // It was promised to stop while there was still a daemon to promise it.
        exit.stopped.get_or_insert(Stop::Asked);
    }
    ending
}

async fn end_at_once(
    runs: &Runs,
    record: RunRecord,
    ending: impl FnOnce(&Drive) -> Ending,
) -> io::Result<()> {
    let drive = resume(runs, record)?;
    let (live, ending) = (drive.live().clone(), ending(&drive));
    runs.inner().live.insert(live.id(), live.clone());
    let close = async move { drive.close(Some(ending), None).await };
    let closing = runs.inner().tasks.spawn(close);
    // By its end nothing of it is left alive. Where that cannot be written yet, the daemon starts all the same.
    tokio::select! {
        closed = closing => closed.map(drop).map_err(io::Error::other),
        () = live.ended() => Ok(()),
    }
}

/// An earlier run was being repeated in answer to it. That needs nothing but the two journals.
fn answer_on(runs: &Runs, record: RunRecord, earlier: RunId) -> io::Result<()> {
    let said = pieces_in(&runs.inner().history.journal(record.run_id))?;
    let drive = resume(runs, record)?;
    let live = drive.live().clone();
    runs.inner().live.insert(live.id(), live);
    runs.inner().tasks.spawn(async move {
        let ending = reuse::go_on_saying(&drive, earlier, said).await;
        drive.close(ending, None).await;
    });
    Ok(())
}

/// It was never started: it gets a place in the line again, in the order of request.
fn line_up_again(runs: &Runs, mut record: RunRecord) -> io::Result<()> {
    tracing::info!(run = %record.run_id, "queueing a run again that had not started");
    // It may have been called running already; until it is, a cancel must find it waiting.
    record.state = RunState::Queued;
    (record.started_at, record.about) = (None, None);
    runs.inner()
        .margin
        .spend(|| runs.inner().history.save(&record))?;
    let drive = resume(runs, record)?;
    let live = drive.live().clone();
    let record = live.record();
    runs.inner().live.insert(live.id(), live.clone());
    let Some(workspace) = runs.inner().workspace_of(&record.spec) else {
        runs.inner().tasks.spawn(async move {
            let problem = drive.shared().repos.get(&record.spec.repo).err();
            let ending = problem.map(Ending::Refused);
            drive.close(ending, None).await;
        });
        return Ok(());
    };
    let asked = runs.inner().history.asked(live.id());
    let job = RunJob {
        workspace,
        checks: asked.map(|asked| asked.checks).unwrap_or_default(),
        asked_at: Instant::now(),
        asker: None,
    };
    let place = line_up(&job.workspace, &record, &job.checks);
    runs.inner().tasks.spawn(drive.run_until_end(place, job));
    Ok(())
}

/// The run with its journal, whose torn end, where it has one, is cut.
fn resume(runs: &Runs, record: RunRecord) -> io::Result<Arc<Drive>> {
    let (journal, extent) = Writer::reopen(&runs.inner().history.journal(record.run_id))?;
    let live = live_left(runs, record, extent);
    Ok(Drive::new(runs, live, JournalOwner::Daemon(journal)))
}

/// A run as an earlier daemon left it. Its caller's connection ended with that daemon, which is no reason to cancel
/// the run.
fn live_left(runs: &Runs, record: RunRecord, extent: watch::Receiver<Extent>) -> Arc<Live> {
    let unended = !record.state.is_ended();
    let asked = runs.inner().history.asked(record.run_id);
    let account = asked.and_then(|asked| asked.account);
    let account = account.unwrap_or_else(|| record.spec.principal.clone());
    let live = launch::live_of(runs, record, account, OnDisconnect::Continue, extent);
    let noted = live.look().reason.clone();
    let noted = noted.or_else(|| stop_note::read(&runs.inner().history.home(live.id())));
    if let Some(reason) = noted.filter(|_| unended) {
        // Noted before the end, it is a cancel that may not have been passed on.
        live.viewers().stop(&reason);
    }
    live
}
