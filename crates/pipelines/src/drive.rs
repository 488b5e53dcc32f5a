//! The task of a pipeline: it starts its jobs when what they need has ended, stops them where they are not wanted any more,
//! and sums them up.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::bisect::Bisect;
use crate::concurrency::{GroupEntry, GroupPlace};
use crate::context::{self, NeededJob};
use crate::job::{self, HeldJob};
use crate::live::{LivePipeline, StopHandle, finish, since};
use crate::own_keys;
use crate::pipelines::Pipelines;
use crate::planned::{invalid, is_wanted, jobs_of, options, why_unwanted};
use crate::set_up;
use branchyard_model::{JobState, PipelineState, Problem};
use branchyard_workflow::{JobStatus, PlannedJob, check};

/// How long after an end could not be written it is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// What jobs that an earlier daemon had begun have, by their ids.
pub(crate) type HeldJobs = BTreeMap<String, HeldJob>;

/// A place in the concurrency group of the pipeline, if it has one, and when it is the first there.
pub(crate) type Entered = Result<Option<(GroupPlace, oneshot::Receiver<()>)>, String>;

/// Takes the pipeline to its end, unless the daemon leaves before.
pub(crate) async fn until_ended(
    pipelines: &Pipelines,
    live: &Arc<LivePipeline>,
    entered: Entered,
    held: HeldJobs,
) {
    let leaving = live.leaving().clone();
    tokio::select! {
        biased;
        () = leaving.cancelled() => {}
        () = run(pipelines, live, entered, held) => {}
    }
}

async fn run(pipelines: &Pipelines, live: &Arc<LivePipeline>, entered: Entered, held: HeldJobs) {
    let _place = match until_first(live, entered).await {
        Ok(place) => place,
        Err(reason) => return end(pipelines, live, Some(reason)).await,
    };
    let bisect = Bisect::of(pipelines, live).await.unwrap_or_else(|problem| {
        // What is under way comes to its end.
        live.change(|record| record.error = Some(problem.outward()));
        None
    });
    let mut driver = Driver {
        pipelines,
        live,
        bisect,
        held,
        running: JoinSet::new(),
        stops: HashMap::new(),
    };
    driver.until_all_ended().await;
    let reason = live.viewers().reason().cloned();
    end(pipelines, live, reason).await;
}

/// Takes its place in the pipeline's concurrency group, in the order in which this is called. An error says why it is
/// cancelled instead.
pub(crate) fn enter_group(pipelines: &Pipelines, live: &LivePipeline) -> Entered {
    let plan = live.plan();
    let Some(concurrency) = &plan.plan.concurrency else {
        return Ok(None);
    };
    let (group, cancels) = {
        let context = context::of_plan(&plan.plan).eval();
        let group = context::text(&concurrency.group, &context);
        let cancels = context::flag(&concurrency.cancel_in_progress, &context);
        let invalid = |fault| format!("`concurrency`: {fault}");
        (group.map_err(invalid)?, cancels.map_err(invalid)?)
    };
    let (repo, stop) = (
        live.look(|record| record.repo.clone()),
        StopHandle::default(),
    );
    let entry = GroupEntry {
        repo: repo.clone(),
        group: group.clone(),
        cancels,
        is_single: concurrency.is_single,
        who: format!("pipeline {}", live.id()),
        age: (live.id(), 0),
    };
    let (place, turn) = pipelines.inner().groups.enter(entry, stop.clone());
    // What cancels its place in the group cancels the pipeline.
    let viewers = live.viewers().clone();
    let watched = stop.clone();
    let leaving = live.leaving().clone();
    pipelines.inner().tasks.spawn(async move {
        tokio::select! {
            () = watched.stopped() => viewers.stop(&watched.reason().unwrap_or_default()),
            () = viewers.closed() => {}
            () = leaving.cancelled() => {}
        }
    });
    let holder = pipelines.inner().groups.holder(&repo, &group);
    let own = format!("pipeline {}", live.id());
    if let Some(holder) = holder.filter(|holder| *holder != own) {
        live.change(|record| {
            record.reason = Some(format!(
                "waits for {holder} in the concurrency group {group}"
            ));
        });
    }
    Ok(Some((place, turn)))
}

/// Waits until the pipeline is the first in its concurrency group.
async fn until_first(live: &LivePipeline, entered: Entered) -> Result<Option<GroupPlace>, String> {
    let Some((place, turn)) = entered? else {
        return Ok(None);
    };
    tokio::select! {
        biased;
        () = live.viewers().stopped() => {
            Err(live.viewers().reason().cloned().unwrap_or_default())
        }
        _ = turn => {
            live.change(|record| record.reason = None);
            Ok(Some(place))
        }
    }
}

struct Driver<'a> {
    pipelines: &'a Pipelines,
    live: &'a Arc<LivePipeline>,
    bisect: Option<Bisect>,
    held: HeldJobs,
    running: JoinSet<String>,
    /// Of the jobs that were started.
    stops: HashMap<String, StopHandle>,
}

impl Driver<'_> {
    async fn until_all_ended(&mut self) {
        let mut is_stopped = false;
        self.note_verdicts();
        loop {
            self.schedule(is_stopped);
            if self.running.is_empty() {
                match &self.bisect {
                    Some(bisect) if !is_stopped && bisect.plan_round(self.live).await => continue,
                    _ => return,
                }
            }
            tokio::select! {
                Some(ended) = self.running.join_next() => {
                    let job = ended.unwrap_or_else(|error| {
                        // A defect of ours; which job it was is found by what has not ended.
                        tracing::error!(pipeline = %self.live.id(), %error, "the task of a job failed");
                        self.fail_unattended();
                        String::new()
                    });
                    self.stops.remove(&job);
                    self.fail_fast(&job);
                    self.note_verdicts();
                }
                () = self.live.viewers().stopped(), if !is_stopped => {
                    is_stopped = true;
                    let reason = self.live.viewers().reason().cloned().unwrap_or_default();
                    self.stops.values().for_each(|stop| stop.stop(&reason));
                }
            }
        }
    }

    /// Starts every job that can be started now. One that is skipped may be all that another one waited for.
    fn schedule(&mut self, is_stopped: bool) {
        loop {
            let plan = self.live.plan();
            let mut is_changed = false;
            for (nth, job) in plan.plan.jobs.iter().enumerate() {
                let state = self.live.job(&job.id).state;
                if state.is_ended() || self.stops.contains_key(&job.id) {
                    continue;
                }
                // One that an earlier daemon began goes on, to be stopped in order.
                if is_stopped && !self.held.contains_key(&job.id) {
                    let reason = self.live.viewers().reason().cloned();
                    finish(self.live, &job.id, JobState::Cancelled, reason, None);
                    is_changed = true;
                } else if self.schedule_job(nth, job) {
                    is_changed = true;
                    // The plan may be another one now.
                    break;
                }
            }
            if !is_changed {
                return;
            }
        }
    }

    /// Returns whether others are to be looked at again.
    fn schedule_job(&mut self, nth: usize, job: &PlannedJob) -> bool {
        if let Some(held) = self.held.remove(&job.id) {
            self.start(nth, job, Some(held));
            return false;
        }
        let needed = match self.needed(job) {
            Some(needed) => needed,
            None => return false,
        };
        let (direct, status) = needed;
        let plan = self.live.plan();
        match is_wanted(&plan.plan, job, (&direct, status)) {
            Ok(true) => {}
            Ok(false) => {
                let reason = Some(why_unwanted(job, status).to_owned());
                finish(self.live, &job.id, JobState::Skipped, reason, None);
                return true;
            }
            Err(problem) => {
                finish(self.live, &job.id, JobState::Rejected, None, Some(problem));
                return true;
            }
        }
        if job.is_deferred {
            if let Err(problem) = self.expand(job, &direct) {
                finish(self.live, &job.id, JobState::Rejected, None, Some(problem));
            }
            return true;
        }
        if self.may_run_beside(job) {
            self.start(nth, job, None);
        }
        false
    }

    /// The jobs that this one needs itself, and how all have ended that it needs by any way; none if some have not.
    fn needed(&self, job: &PlannedJob) -> Option<(Vec<NeededJob>, JobStatus)> {
        let plan = self.live.plan();
        let mut keys: Vec<&str> = job.needs.iter().map(String::as_str).collect();
        let mut all = Vec::new();
        let mut direct = Vec::new();
        let mut at = 0;
        while at < keys.len() {
            let key = keys[at];
            for needed in plan.plan.jobs.iter().filter(|other| other.job == key) {
                let record = self.live.job(&needed.id);
                if !record.state.is_ended() {
                    return None;
                }
                let found = NeededJob {
                    key: key.to_owned(),
                    state: record.state,
                    continue_on_error: record.continue_on_error,
                    outputs: self.outputs(&needed.id, record.attempt),
                };
                if at < job.needs.len() {
                    direct.push(found.clone());
                }
                all.push(found);
                for more in &needed.needs {
                    if !keys.contains(&more.as_str()) {
                        keys.push(more);
                    }
                }
            }
            at += 1;
        }
        let status = context::status_of(&all);
        Some((direct, status))
    }

    fn outputs(&self, job: &str, attempt: u32) -> BTreeMap<String, String> {
        let disk = &self.pipelines.inner().disk;
        match disk.attempt(self.live.id(), job, attempt) {
            Ok(attempt) => attempt.unwrap_or_default().outputs,
            Err(error) => {
                tracing::error!(pipeline = %self.live.id(), job, %error, "the outputs of a job cannot be read");
                BTreeMap::new()
            }
        }
    }

    /// Puts the rows of a matrix that is made of outputs in the place of the job.
    fn expand(&self, job: &PlannedJob, needed: &[NeededJob]) -> Result<(), Problem> {
        let plan = self.live.plan();
        let repo = self.live.look(|record| record.repo.clone());
        let repo = self.pipelines.inner().repos.get(&repo)?;
        let workflow = check(&plan.plan.file, &plan.text, &options(&repo), &plan.actions);
        let mut rows = workflow
            .and_then(|workflow| workflow.expand(&plan.plan, &job.job, &context::needs(needed)))
            .map_err(|faults| invalid(&faults))?;
        own_keys::apply(repo.config(), &plan.plan.file, &mut rows);
        set_up::put_first(plan.setup.as_ref(), &mut rows);
        let mut replanned = (*plan).clone();
        let at = replanned.plan.jobs.iter().position(|it| it.id == job.id);
        let at = at.unwrap_or(replanned.plan.jobs.len());
        replanned
            .plan
            .jobs
            .splice(at..(at + 1).min(replanned.plan.jobs.len()), rows);
        let known = self.live.look(|record| record.jobs.clone());
        let jobs = jobs_of(&replanned, &known);
        self.live.replan(replanned, jobs).map_err(|error| {
            let detail = "the rows of the matrix could not be recorded";
            let problem = Problem::unwritten("pipeline_not_recorded", detail, &error);
            self.pipelines.inner().margin.judge(problem)
        })
    }

    /// Whether `max-parallel` of its matrix allows one more.
    fn may_run_beside(&self, job: &PlannedJob) -> bool {
        let Some(most) = job.strategy.max_parallel else {
            return true;
        };
        let plan = self.live.plan();
        let rows = plan.plan.jobs.iter().filter(|row| row.job == job.job);
        let running = rows.filter(|row| self.stops.contains_key(&row.id)).count();
        running < usize::try_from(most).unwrap_or(usize::MAX)
    }

    fn start(&mut self, nth: usize, job: &PlannedJob, held: Option<HeldJob>) {
        let stop = held
            .as_ref()
            .map_or_else(StopHandle::default, |held| held.stop.clone());
        if let Some(reason) = self.live.viewers().reason().filter(|_| held.is_some()) {
            stop.stop(reason);
        }
        self.stops.insert(job.id.clone(), stop.clone());
        let needed = self.needed(job).map(|(direct, _)| direct);
        let needed = needed.unwrap_or_default();
        let (pipelines, live, job) = (self.pipelines.clone(), self.live.clone(), job.clone());
        self.running.spawn(async move {
            let id = job.id.clone();
            job::run(&pipelines, &live, (nth, &job), needed, (stop, held)).await;
            id
        });
    }

    /// Of a bisect: takes note of what the tests say, and ends those that are in vain by now.
    fn note_verdicts(&self) {
        let Some(bisect) = &self.bisect else {
            return;
        };
        bisect.note_verdicts(self.live);
        for job in bisect.unneeded(self.live) {
            if let Some(stop) = self.stops.get(&job) {
                stop.stop("other commits have answered for this one");
            }
        }
    }

    /// Cancels the other rows of a matrix one of which has failed.
    fn fail_fast(&self, ended: &str) {
        let plan = self.live.plan();
        let Some(job) = plan.plan.jobs.iter().find(|job| job.id == ended) else {
            return;
        };
        let record = self.live.job(ended);
        let is_failed = record.state.is_failure() && !record.continue_on_error;
        if !is_failed || !job.strategy.fail_fast || job.strategy.total < 2 {
            return;
        }
        let reason = format!("cancelled because {} has failed (fail-fast)", record.name);
        let rows = plan.plan.jobs.iter().filter(|row| row.job == job.job);
        for row in rows {
            match self.stops.get(&row.id) {
                Some(stop) => stop.stop(&reason),
                None if self.live.job(&row.id).state.is_ended() => {}
                None => {
                    let reason = Some(reason.clone());
                    finish(self.live, &row.id, JobState::Cancelled, reason, None);
                }
            }
        }
    }

    /// After a defect of ours: no job is left without an end.
    fn fail_unattended(&mut self) {
        for job in self.stops.keys() {
            if !self.live.job(job).state.is_ended() {
                let reason = Some("the task of the job failed".to_owned());
                finish(self.live, job, JobState::Lost, reason, None);
            }
        }
    }
}

/// Records the end of the pipeline, and tells it.
async fn end(pipelines: &Pipelines, live: &Arc<LivePipeline>, reason: Option<String>) {
    // What was never looked at, as where its turn in a group never came.
    let left: Vec<_> = live.look(|record| {
        let jobs = record.jobs.iter().filter(|job| !job.state.is_ended());
        jobs.map(|job| job.job.clone()).collect()
    });
    for job in left {
        finish(live, &job, JobState::Cancelled, reason.clone(), None);
    }
    let is_stopped = live.viewers().is_stopped() || reason.is_some();
    let mut record = live.record();
    {
        let record = &mut record;
        let failed = || {
            let failures = record.jobs.iter().filter(|job| job.state.is_failure());
            failures.filter(|job| !job.continue_on_error)
        };
        let is_rejected = |state: JobState| state == JobState::Rejected;
        record.state = match failed().count() {
            0 => PipelineState::Succeeded,
            _ if is_stopped && failed().all(|job| job.state == JobState::Cancelled) => {
                PipelineState::Cancelled
            }
            _ if failed().all(|job| is_rejected(job.state)) => PipelineState::Rejected,
            _ => PipelineState::Failed,
        };
        let failed: Vec<_> = failed().map(|job| job.name.clone()).collect();
        record.reason = match record.state {
            PipelineState::Cancelled => reason.clone(),
            PipelineState::Failed => Some(format!("failed: {}", failed.join(", "))),
            _ => None,
        };
        record.conclude_bisect(reason.filter(|_| is_stopped));
        let begun = record.attempt_began();
        record.ended_at = Some(Timestamp::now());
        record.duration_ms = Some(since(begun));
    }
    // Told first: a pipeline on record as ended is not looked at again by the next daemon.
    while let Err(error) = live.end(&record) {
        tracing::error!(pipeline = %live.id(), %error, "failed to record the end of a pipeline; it is tried again");
        tokio::time::sleep(TRY_AGAIN).await;
    }
    pipelines.note(&record);
    let state = record.state.as_str();
    tracing::info!(pipeline = %live.id(), repo = %record.repo, branch = %record.branch, state, "pipeline ended");
    live.publish();
}
