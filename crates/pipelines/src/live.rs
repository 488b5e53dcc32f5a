//! A pipeline that has not ended: its record, which one task at a time changes, and the journal in which each change is
//! told.

use std::io;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::disk::{FrozenPlan, PipelineDisk};
use branchyard_config::crash_point;
use branchyard_journal::{Extent, Writer};
use branchyard_model::{
    Event, JobRecord, JobState, PipelineId, PipelineRecord, PipelineState, Problem, RunId,
    StepState,
};
use branchyard_outbox::Outbox;
use branchyard_runs::Viewers;
use branchyard_runtime::disk::DiskGuard;
use branchyard_runtime::yard_events::{EventBus, PipelineEvent, YardChange};

#[derive(Debug)]
pub struct LivePipeline {
    id: PipelineId,
    disk: Arc<PipelineDisk>,
    margin: DiskGuard,
    outbox: Outbox,
    news: EventBus,
    viewers: Viewers,
    plan: RwLock<Arc<FrozenPlan>>,
    record: watch::Sender<PipelineRecord>,
    /// Held while the record is written: jobs change it at the same time, and an older one must not replace a newer one.
    saving: Mutex<()>,
    journal: Mutex<Writer>,
    extent: watch::Receiver<Extent>,
    /// The daemon leaves, and the next one goes on with it.
    leaving: CancellationToken,
}

/// What a live pipeline is made with.
pub(crate) struct LiveParts {
    pub(crate) disk: Arc<PipelineDisk>,
    pub(crate) margin: DiskGuard,
    pub(crate) outbox: Outbox,
    pub(crate) news: EventBus,
    pub(crate) viewers: Viewers,
    pub(crate) plan: FrozenPlan,
    pub(crate) journal: (Writer, watch::Receiver<Extent>),
    pub(crate) leaving: CancellationToken,
}

impl LivePipeline {
    pub(crate) fn new(record: PipelineRecord, parts: LiveParts) -> Self {
        let (journal, extent) = parts.journal;
        Self {
            id: record.pipeline_id,
            disk: parts.disk,
            margin: parts.margin,
            outbox: parts.outbox,
            news: parts.news,
            viewers: parts.viewers,
            plan: RwLock::new(Arc::new(parts.plan)),
            record: watch::channel(record).0,
            saving: Mutex::default(),
            journal: Mutex::new(journal),
            extent,
            leaving: parts.leaving,
        }
    }

    pub fn id(&self) -> PipelineId {
        self.id
    }

    pub fn viewers(&self) -> &Viewers {
        &self.viewers
    }

    pub fn record(&self) -> PipelineRecord {
        self.record.borrow().clone()
    }

    /// Returns when it has ended, or `fail_fast` and a job of it has failed, or when the daemon leaves.
    pub async fn settled(&self, fail_fast: bool) {
        let mut record = self.record.subscribe();
        let has_failed = |record: &PipelineRecord| {
            let mut jobs = record.jobs.iter();
            fail_fast && jobs.any(|job| job.state.is_failure() && !job.continue_on_error)
        };
        tokio::select! {
            // The sender is our own, so it cannot go while we wait.
            _ = record.wait_for(|record| record.state.is_ended() || has_failed(record)) => {}
            () = self.leaving.cancelled() => {}
        }
    }

    pub(crate) fn leaving(&self) -> &CancellationToken {
        &self.leaving
    }

    pub(crate) fn extent(&self) -> &watch::Receiver<Extent> {
        &self.extent
    }

    pub(crate) fn plan(&self) -> Arc<FrozenPlan> {
        self.plan.read().clone()
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&PipelineRecord) -> T) -> T {
        look(&self.record.borrow())
    }

    /// Changes whenever the record does.
    pub fn watch(&self) -> watch::Receiver<PipelineRecord> {
        self.record.subscribe()
    }

    pub(crate) fn job(&self, job: &str) -> JobRecord {
        let found = self.look(|record| record.jobs.iter().find(|other| other.job == job).cloned());
        found.unwrap_or_default()
    }

    /// Takes another plan, in which a deferred matrix has its rows, and the jobs that it has now.
    pub(crate) fn replan(&self, plan: FrozenPlan, jobs: Vec<JobRecord>) -> io::Result<()> {
        self.margin.spend(|| self.disk.save_plan(self.id, &plan))?;
        crash_point("pipeline-replanned");
        *self.plan.write() = Arc::new(plan);
        self.record.send_modify(|record| record.jobs = jobs);
        self.save()?;
        self.tell_again();
        Ok(())
    }

    /// Changes a job and has the record say so. What is shown may be on disk a moment later; what matters to the next daemon
    /// is in the attempt.
    pub(crate) fn change_job(&self, job: &str, change: impl FnOnce(&mut JobRecord)) {
        let mut changed = None;
        self.record.send_modify(|record| {
            if let Some(found) = record.jobs.iter_mut().find(|other| other.job == job) {
                let before = found.clone();
                change(found);
                changed = (before != *found).then(|| (before, found.clone()));
            }
            if record.state == PipelineState::Queued && record.jobs.iter().any(has_begun) {
                record.state = PipelineState::Running;
            }
        });
        let Some((before, job)) = changed else {
            return;
        };
        let is_other_state = before.state != job.state;
        if is_other_state && let Err(error) = self.save() {
            tracing::error!(pipeline = %self.id, %error, "how a pipeline goes is not on record yet");
        }
        if is_other_state || steps(&before).ne(steps(&job)) {
            self.publish();
        }
        self.tell(&Event::Job(job));
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut PipelineRecord)) {
        self.record.send_modify(change);
    }

    pub(crate) fn save(&self) -> io::Result<()> {
        let _one_at_a_time = self.saving.lock();
        let record = self.record();
        self.margin.spend(|| {
            self.outbox.note(&record)?;
            self.disk.save(&record)
        })
    }

    /// Tells the end and records it; then all see it. Nothing can follow but a retry. After an error it may be tried again.
    pub(crate) fn end(&self, record: &PipelineRecord) -> io::Result<()> {
        // The message is on disk before the end is on record: a daemon that is killed in between ends the pipeline again, and
        // one that is killed after it has the message to send.
        self.margin.spend(|| self.outbox.note(record))?;
        crash_point("pipeline-noted");
        let event = Event::Pipeline(Box::new(record.clone().shown()));
        let mut journal = self.journal.lock();
        if !journal.is_closed() {
            self.margin.spend(|| journal.event(&event))?;
        }
        crash_point("pipeline-told");
        let _one_at_a_time = self.saving.lock();
        self.margin.spend(|| self.disk.save(record))?;
        journal.close();
        self.record.send_replace(record.clone());
        self.outbox.release(self.id);
        Ok(())
    }

    /// Tells anew which jobs there are, after a retry began.
    pub(crate) fn tell_again(&self) {
        self.tell(&Event::Pipeline(Box::new(self.record().shown())));
    }

    pub(crate) fn publish(&self) {
        let event = self.look(PipelineEvent::of);
        self.news.publish(YardChange::Pipeline(Box::new(event)));
    }

    fn tell(&self, event: &Event) {
        let mut journal = self.journal.lock();
        if !journal.is_closed()
            && let Err(error) = journal.event(event)
        {
            tracing::error!(pipeline = %self.id, %error, "failed to journal an event");
        }
    }
}

/// What those who watch the yard are told of the steps: how each stands, and where its output is.
fn steps(job: &JobRecord) -> impl Iterator<Item = (StepState, Option<RunId>)> {
    job.steps.iter().map(|step| (step.state, step.run_id))
}

fn has_begun(job: &JobRecord) -> bool {
    job.started_at.is_some() || job.state.is_ended()
}

/// Says that a job is to stop, and why; clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopHandle {
    token: CancellationToken,
    reason: Arc<OnceLock<String>>,
}

impl StopHandle {
    /// The first reason counts.
    pub(crate) fn stop(&self, reason: &str) {
        self.reason.get_or_init(|| reason.to_owned());
        self.token.cancel();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(crate) async fn stopped(&self) {
        self.token.cancelled().await;
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.get().cloned()
    }
}

/// In milliseconds, until now.
pub(crate) fn since(begun: Timestamp) -> u64 {
    let passed = Timestamp::now().duration_since(begun).as_millis();
    u64::try_from(passed).unwrap_or(0)
}

/// Gives a job an end.
pub(crate) fn finish(
    live: &LivePipeline,
    job: &str,
    state: JobState,
    reason: Option<String>,
    error: Option<Problem>,
) {
    let problem = error.map(Problem::outward);
    live.change_job(job, |record| {
        record.state = state;
        record.reason = reason;
        record.error = problem;
        record.scratch = record.scratch.filter(|_| record.held_until.is_some());
        record.ended_at = Some(Timestamp::now());
    });
}
