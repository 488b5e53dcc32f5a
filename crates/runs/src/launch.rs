//! Making a run: its directory, its record, its journal, its place in the line, its task.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tokio::sync::watch;

use super::drive::{Drive, RunJob, line_up};
use super::exec;
use super::history::{Asked, History};
use super::live::Live;
use super::meter::users_of;
use super::open::Runs;
use super::request::RunRequest;
use super::run_journal::JournalOwner;
use super::viewers::Viewers;
use branchyard_config::crash_point;
use branchyard_journal::{Extent, Writer};
use branchyard_model::{Event, OnDisconnect, RunKind, RunRecord, Status};

/// From here on there is a run, whatever becomes of the daemon. It counts by the limits of `account`.
pub(super) fn launch(
    runs: &Runs,
    record: RunRecord,
    request: RunRequest,
    account: &str,
    job: RunJob,
) -> io::Result<Arc<Live>> {
    let mut shown = record.clone();
    shown.hide_env();
    let asked = Asked {
        written: request.into(),
        checks: job.checks.clone(),
        spec: Some(shown.spec),
        account: Some(account.to_owned()),
        dropped_env: BTreeMap::new(),
        dropped_stdin: false,
    };
    let users = users_of(account, &record.spec.repo, &record.spec.branch);
    let is_counted = record.spec.kind != RunKind::Git;
    let (live, drive) = begin(runs, record, &asked, account.to_owned())?;
    if is_counted {
        runs.inner().usage.count_run(&users);
    }
    let place = line_up(&job.workspace, &live.record(), &job.checks);
    runs.inner().tasks.spawn(drive.run_until_end(place, job));
    Ok(live)
}

/// A run on disk and among the live ones, which nothing drives yet.
pub(super) fn begin(
    runs: &Runs,
    record: RunRecord,
    asked: &Asked,
    account: String,
) -> io::Result<(Arc<Live>, Arc<Drive>)> {
    let (id, history) = (record.run_id, &runs.inner().history);
    history.create(id, asked)?;
    exec::keep(&history.home(id), &asked.written.request).inspect_err(|_| history.discard(id))?;
    let (journal, extent) = begin_journal(history, &record).inspect_err(|_| history.discard(id))?;
    crash_point("recorded");
    let on_disconnect = record.spec.on_disconnect;
    let live = live_of(runs, record, account, on_disconnect, extent);
    runs.inner().live.insert(id, live.clone());
    runs.inner().tell_news(&live.record());
    metrics::counter!("branchyard_runs_started_total").increment(1);
    let drive = Drive::new(runs, live.clone(), JournalOwner::Daemon(journal));
    Ok((live, drive))
}

pub(super) fn live_of(
    runs: &Runs,
    record: RunRecord,
    account: String,
    on_disconnect: OnDisconnect,
    extent: watch::Receiver<Extent>,
) -> Arc<Live> {
    let viewers = viewers(runs, on_disconnect);
    let leaving = runs.inner().leaving.clone();
    Arc::new(Live::new(record, account, extent, viewers, leaving))
}

pub(super) fn viewers(runs: &Runs, on_disconnect: OnDisconnect) -> Viewers {
    let grace = runs.inner().config.timeouts.disconnect;
    Viewers::new(on_disconnect, grace, runs.inner().tasks.clone())
}

/// The first event and the first record.
fn begin_journal(
    history: &History,
    record: &RunRecord,
) -> io::Result<(Writer, watch::Receiver<Extent>)> {
    let (mut journal, extent) = Writer::create(&history.journal(record.run_id))?;
    journal.event(&Event::Status(Status {
        run_id: Some(record.run_id),
        ..Status::new("queued")
    }))?;
    history.save(record)?;
    Ok((journal, extent))
}
