//! A job, from its concurrency group to its end: it takes a place in the group, then a scratch worktree, then a slot, and
//! runs its steps with all three.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::concurrency::{self, GroupEntry, GroupPlace};
use crate::context::{self, Contexts, JobFacts, NeededJob};
use crate::disk::{Attempt, StepProgress};
use crate::event_file;
use crate::held;
use crate::job_end::JobEnd;
use crate::job_runner::JobRunner;
use crate::job_secrets::JobSecrets;
use crate::live::{LivePipeline, StopHandle, finish};
use crate::pipelines::Pipelines;
use crate::planned::job_record;
use crate::reuse::{self, ReuseQuestion};
use crate::reuse_places::ReuseTrust;
use crate::set_up::JobSetup;
use crate::step::StepRunner;
use crate::uses;
use branchyard_config::crash_point;
use branchyard_model::{JobRecord, JobState, PipelineRecord, ReusableJob, RunId, Warning};
use branchyard_runs::step::{self, JobSlot};
use branchyard_workflow::{PlannedConcurrency, PlannedJob, StepAction, WorkflowPlan, render};
use branchyard_workspace::ScratchLease;
use branchyard_workspace::repos::Repo;

/// What a job that an earlier daemon had begun has.
#[derive(Debug)]
pub(crate) struct HeldJob {
    pub(crate) attempt: Attempt,
    /// None where its scratch worktree is gone.
    pub(crate) lease: Option<ScratchLease>,
    pub(crate) slot: JobSlot,
    /// In its concurrency group, with what stops it there.
    pub(crate) place: Option<GroupPlace>,
    pub(crate) stop: StopHandle,
}

/// What a job holds while its steps run.
type JobHolds = (Option<GroupPlace>, ScratchLease, JobSlot);

/// Takes a job to its end, unless the daemon leaves before.
pub(crate) async fn run(
    pipelines: &Pipelines,
    live: &Arc<LivePipeline>,
    (nth, job): (usize, &PlannedJob),
    needed: Vec<NeededJob>,
    (stop, held): (StopHandle, Option<HeldJob>),
) {
    let needs = context::needs(&needed);
    let runner = JobRunner::new((pipelines, live), (nth, job), (needs, stop));
    let leaving = live.leaving().clone();
    tokio::select! {
        biased;
        () = leaving.cancelled() => {}
        () = runner.until_ended(held) => {}
    }
}

impl JobRunner<'_> {
    async fn until_ended(&self, held: Option<HeldJob>) {
        let (mut attempt, mut holds) = (Attempt::default(), None);
        let end = self.attempt(held, &mut attempt, &mut holds).await;
        let end = end.unwrap_or_else(|end| end);
        // The next job is given the worktree: a command that is still at work in it is stopped before.
        let runs = &self.pipelines().inner().runs;
        let minted = attempt.steps.iter().filter_map(|step| step.minted);
        for live in minted.filter_map(|id| runs.live(id)) {
            live.viewers().stop("its job has ended");
            live.ended().await;
        }
        let is_new = holds.is_some() && attempt.end.is_none();
        // What a job with secrets left may have them in it.
        if is_new && self.job().secrets.is_empty() && !self.is_retried(&end) {
            attempt.held_until = held::until(self.job(), &end);
        }
        attempt.end = Some(end.clone());
        // Before the worktree is another's: what the next daemon finds must not ask for it again.
        self.keep(&attempt).await;
        crash_point("job-ended");
        if self.tries_again(&end) {
            self.pipelines().inner().disk.discard(&self.dirs());
            return;
        }
        self.show_reuse(&attempt, end.state);
        if let Some(until) = attempt.held_until
            && let Some((_place, lease, _slot)) = holds.take()
        {
            let place = (self.live().id(), self.job().id.as_str());
            held::hold(self.pipelines(), place, lease, until);
            let number = attempt.scratch;
            self.live().change_job(&self.job().id, |record| {
                (record.scratch, record.held_until) = (number, Some(until));
            });
        }
        finish(
            self.live(),
            &self.job().id,
            end.state,
            end.reason,
            end.error.map(|error| *error),
        );
        self.pipelines()
            .inner()
            .reusable
            .note(&self.live().record());
        self.pipelines().inner().disk.discard(&self.dirs());
    }

    /// Whether `retry` of the job has it tried again after this.
    fn is_retried(&self, end: &JobEnd) -> bool {
        let Some(rule) = &self.job().extras.retry else {
            return false;
        };
        let is_on = |word: &str| rule.on.iter().any(|on| on == word);
        let is_meant = match end.state {
            JobState::Lost => is_on("lost"),
            JobState::Failed => is_on("flaky") && self.has_only_flaky_failures(),
            _ => false,
        };
        let is_left = self.live().job(&self.job().id).retries < rule.max;
        is_meant && is_left && !self.stop().is_stopped()
    }

    /// Has the job wait for its next attempt, if `retry` says so.
    fn tries_again(&self, end: &JobEnd) -> bool {
        if !self.is_retried(end) {
            return false;
        }
        let next = job_record(self.job());
        self.live().change_job(&self.job().id, |job| {
            *job = JobRecord {
                attempt: self.number() + 1,
                retries: job.retries + 1,
                reason: Some(format!(
                    "attempt {}: {}; tried again (retry)",
                    self.number(),
                    end.reason.as_deref().unwrap_or(end.state.as_str())
                )),
                ..next
            };
        });
        true
    }

    async fn attempt(
        &self,
        held: Option<HeldJob>,
        attempt: &mut Attempt,
        holds: &mut Option<JobHolds>,
    ) -> Result<JobEnd, JobEnd> {
        let repo = self.live().look(|record| record.repo.clone());
        let repo = self.pipelines().inner().repos.get(&repo);
        let repo = repo.map_err(JobEnd::rejected)?;
        let (mut setup, is_held) = (None, held.is_some());
        match held {
            Some(held) => {
                *attempt = held.attempt;
                if let Some(end) = attempt.end.clone() {
                    *holds = held.lease.map(|lease| (None, lease, held.slot));
                    return Err(end);
                }
                *holds = Some(match held.lease {
                    Some(lease) => (held.place, lease, held.slot),
                    // It was not made yet, so nothing was started in it, and another one will do.
                    None if !attempt.is_prepared => {
                        drop(held.slot);
                        self.take_rest((held.place, &repo), None).await?
                    }
                    None => {
                        let reason = "its scratch worktree is gone".to_owned();
                        return Err(JobEnd::of(JobState::Lost, Some(reason)));
                    }
                });
            }
            None => {
                // What cannot be run here is refused before anything is taken for it.
                self.secrets(&repo)?;
                let runs = &self.pipelines().inner().runs;
                let tools = uses::check_tools(runs, &repo, self.job()).await;
                tools.map_err(JobEnd::rejected)?;
                setup = self.setup(&repo).await?;
                *attempt = fresh_attempt(&self.live().job(&self.job().id), self.job());
                attempt.sees = self.reuse_key(&repo).await?;
                attempt.key = match &setup {
                    Some(setup) => reuse::with_setup(attempt.sees.as_deref(), setup.seen()),
                    None => attempt.sees.clone(),
                };
                if let Some(answer) = self.answer(attempt.key.as_deref()) {
                    *attempt = answer;
                    return Ok(JobEnd::of(JobState::Reused, None));
                }
                let (place, lease, slot) = self.take_all(&repo, setup.as_mut()).await?;
                attempt.group = place.as_ref().map(|place| place.group().to_owned());
                *holds = Some((place, lease, slot));
            }
        }
        let Some((_, lease, _)) = holds else {
            return Err(JobEnd::of(JobState::Lost, None));
        };
        attempt.scratch = Some(lease.number());
        attempt.started_at.get_or_insert_with(Timestamp::now);
        // The ids of its runs are on disk before the first of them.
        self.save(attempt).map_err(JobEnd::rejected)?;
        crash_point("attempt-recorded");
        self.show_begun(attempt);
        self.prepare(attempt, lease).await?;
        if is_held {
            // It goes on whatever the set-up would be now: its steps may be under way.
            setup = self.setup(&repo).await.unwrap_or_default();
        }
        let end = self
            .run_steps(&repo, attempt, (lease, setup.as_mut()))
            .await?;
        if self.live().plan().setup.is_some() {
            let seen = JobSetup::seen_by(&attempt.setup);
            attempt.key = reuse::with_setup(attempt.sees.as_deref(), seen);
        }
        self.note_tests(&repo, attempt, (lease, &end)).await;
        if end.state == JobState::Succeeded {
            self.save_caches(&repo, attempt, lease).await;
        }
        Ok(end)
    }

    async fn run_steps(
        &self,
        repo: &Arc<Repo>,
        attempt: &mut Attempt,
        (lease, setup): (&ScratchLease, Option<&mut JobSetup>),
    ) -> Result<JobEnd, JobEnd> {
        let (plan, dirs) = (self.live().plan(), self.dirs());
        dirs.make().map_err(|error| self.unwritten(&error))?;
        let event = context::event(&plan.plan);
        if let Some(event) = event.map_err(|fault| JobEnd::invalid("`github.event`", &fault))? {
            let written = event_file::write(dirs.tmp(), &event);
            written.map_err(|error| self.unwritten(&error))?;
        }
        let seen = self.seen(repo, lease)?;
        let secrets = self.secrets(repo)?;
        let facts = JobFacts {
            attempt: self.number(),
            directory: &seen.worktree,
            tmp: &seen.tmp,
            needs: self.needs().clone(),
            secrets: secrets.all(),
        };
        let contexts = context::of_job(&plan.plan, self.job(), &facts);
        let (env, seconds) = self.show_named(&contexts, attempt)?;
        let place = (repo.clone(), lease, seen);
        let mut steps = StepRunner::new(self, place, setup, &secrets, attempt);
        steps.begin(contexts, env, seconds);
        let end = steps.until_all_ended().await;
        let last = steps.last_contexts();
        drop(steps);
        let outputs = self.outputs(&last)?;
        for (name, value) in &outputs {
            let checked = secrets.check(&format!("the output `{name}`"), value);
            checked.map_err(|why| JobEnd::of(JobState::Failed, Some(why)))?;
        }
        attempt.outputs = outputs;
        Ok(end)
    }

    /// Shows what the job is called. Returns the variables of the workflow and the job, and the seconds that it may take.
    fn show_named(
        &self,
        contexts: &Contexts,
        attempt: &mut Attempt,
    ) -> Result<(BTreeMap<String, String>, f64), JobEnd> {
        let (plan, context) = (self.live().plan(), contexts.eval());
        let mut env = BTreeMap::new();
        for planned in [&plan.plan.env, &self.job().env] {
            let added = context::extend_env(&mut env, planned, &context);
            added.map_err(|fault| JobEnd::invalid("`env`", &fault))?;
        }
        let seconds = context::seconds(&self.job().timeout_minutes, &context)
            .map_err(|fault| JobEnd::invalid("`timeout-minutes`", &fault))?;
        let is_tolerated = context::flag(&self.job().continue_on_error, &context)
            .map_err(|fault| JobEnd::invalid("`continue-on-error`", &fault))?;
        let name = context::text(&self.job().name, &context)
            .map_err(|fault| JobEnd::invalid("`name`", &fault))?;
        let name = context::shown(&name);
        attempt.name = Some(name.clone());
        attempt.continue_on_error = is_tolerated;
        self.live().change_job(&self.job().id, |record| {
            record.continue_on_error = is_tolerated;
            record.name = name;
        });
        Ok((env, seconds))
    }

    fn outputs(&self, contexts: &Contexts) -> Result<BTreeMap<String, String>, JobEnd> {
        let context = contexts.eval();
        let outputs = self.job().outputs.iter().map(|(name, text)| {
            let value = render(text, &context);
            let value =
                value.map_err(|fault| JobEnd::invalid(&format!("the output `{name}`"), &fault))?;
            Ok((name.clone(), value))
        });
        outputs.collect()
    }

    /// Saves what the steps wanted cached. That it cannot be saved is no failure of the job.
    async fn save_caches(&self, repo: &Repo, attempt: &mut Attempt, lease: &ScratchLease) {
        let Ok(seen) = self.seen(repo, lease) else {
            return;
        };
        let caches = self.caches(repo, self.job_dirs(lease, &seen));
        for pending in std::mem::take(&mut attempt.caches) {
            let caches = caches.clone();
            let saved = tokio::task::spawn_blocking(move || caches.save(&pending)).await;
            match saved {
                Ok(Ok(warnings)) => attempt.warnings.extend(warnings),
                Ok(Err(problem)) => {
                    let message = format!("a cache was not saved: {}", problem.outward().detail);
                    attempt
                        .warnings
                        .push(Warning::new("cache_not_saved", message));
                }
                Err(error) => tracing::error!(%error, "the task that saves a cache failed"),
            }
        }
        let warnings = attempt.warnings.clone();
        self.live()
            .change_job(&self.job().id, |record| record.warnings = warnings);
    }

    /// Moves the worktree to the commit, unless that was done before.
    async fn prepare(&self, attempt: &mut Attempt, lease: &ScratchLease) -> Result<(), JobEnd> {
        if attempt.is_prepared {
            return Ok(());
        }
        let (commit, _) = self.commit();
        let prepared = lease.prepare(&commit, self.job().extras.warm).await;
        let warnings = prepared.map_err(|error| {
            let judged = self.pipelines().inner().margin.judge(error.problem());
            JobEnd::rejected(judged)
        })?;
        attempt.warnings.extend(warnings);
        attempt.is_prepared = true;
        self.save(attempt).map_err(JobEnd::rejected)?;
        crash_point("scratch-prepared");
        Ok(())
    }

    pub(crate) fn secrets(&self, repo: &Repo) -> Result<JobSecrets, JobEnd> {
        let (record, plan) = (self.live().record(), self.live().plan());
        let given = JobSecrets::of(self.pipelines(), repo, &record, (&plan, self.job()));
        given.map_err(JobEnd::rejected)
    }

    async fn setup(&self, repo: &Arc<Repo>) -> Result<Option<JobSetup>, JobEnd> {
        let (branch, (commit, _)) = (self.live().look(|it| it.branch.clone()), self.commit());
        let plan = self.live().plan();
        let of = (&*plan, self.job());
        let needed = JobSetup::of(self.pipelines(), repo, of, (branch, commit));
        needed.await.map_err(JobEnd::rejected)
    }

    async fn reuse_key(&self, repo: &Arc<Repo>) -> Result<Option<String>, JobEnd> {
        let (record, plan) = (self.live().record(), self.live().plan());
        let secrets = self.secrets(repo)?;
        let question = question(self, (&record, &plan.plan), &secrets);
        let key = reuse::key(self.pipelines(), repo, &question).await;
        key.map_err(JobEnd::rejected)
    }

    /// What an earlier job with the same key has made.
    fn answer(&self, key: Option<&str>) -> Option<Attempt> {
        let (record, plan) = (self.live().record(), self.live().plan());
        // What failed before is not answered for in a retry of all of it either.
        let none = JobSecrets::default();
        let question = question(self, (&record, &plan.plan), &none);
        let trust = ReuseTrust {
            is_protected: plan.is_protected,
            sees_all: plan.sees_all,
        };
        let (answered, job, mut attempt) = reuse::answer(self.pipelines(), &question, key?, trust)?;
        if job.tests.is_some() {
            self.copy_tests((answered.pipeline, &answered.job, job.attempt));
        }
        attempt.answered_by = Some(answered);
        attempt.name = Some(job.name.clone());
        self.live().change_job(&self.job().id, |record| {
            record.name = job.name;
            record.steps = job.steps;
            record.tests = job.tests;
        });
        Some(attempt)
    }

    /// Shows by which job it was answered, or that it may answer for others.
    fn show_reuse(&self, attempt: &Attempt, state: JobState) {
        let is_protected = self.live().plan().is_protected;
        // A cache may be another one the next time.
        let key = attempt.key.clone().filter(|_| attempt.restored.is_empty());
        let key = key.filter(|_| state == JobState::Succeeded);
        self.live().change_job(&self.job().id, |record| {
            record.artifacts.clone_from(&attempt.artifacts);
            record.answered_by.clone_from(&attempt.answered_by);
            record.reusable = key.map(|key| ReusableJob { key, is_protected });
        });
    }

    /// What the steps need, in this order; whoever waits holds nothing that comes after.
    async fn take_all(
        &self,
        repo: &Arc<Repo>,
        setup: Option<&mut JobSetup>,
    ) -> Result<JobHolds, JobEnd> {
        let place = self.enter_group().await?;
        self.take_rest((place, repo), setup).await
    }

    async fn take_rest(
        &self,
        (place, repo): (Option<GroupPlace>, &Arc<Repo>),
        setup: Option<&mut JobSetup>,
    ) -> Result<JobHolds, JobEnd> {
        self.live().change_job(&self.job().id, |record| {
            record.state = JobState::Queued;
            record.reason = None;
        });
        let (runs, scratch) = (
            &self.pipelines().inner().runs,
            self.pipelines().inner().workspaces.scratch(),
        );
        let principal = self.live().look(|record| record.principal.clone());
        let waiting = |what: &'static str| {
            move |position: usize| {
                self.live().change_job(&self.job().id, |record| {
                    record.reason = Some(format!("waits for {what}; position {position}"));
                });
            }
        };
        let most = step::most_jobs(runs, repo);
        let lease = scratch.lease(repo, most, waiting("a scratch worktree"));
        let lease = self.unless_stopped(lease).await?;
        if let Some(setup) = setup {
            setup.take_turn(self, repo).await?;
        }
        let slot = step::take_job_slot(runs, &principal, repo, waiting("a slot"));
        let slot = self.unless_stopped(slot).await?;
        Ok((place, lease, slot))
    }

    async fn enter_group(&self) -> Result<Option<GroupPlace>, JobEnd> {
        let Some(concurrency) = &self.job().concurrency else {
            return Ok(None);
        };
        let entry = self.group_entry(concurrency)?;
        let (repo, group) = (entry.repo.clone(), entry.group.clone());
        let (place, mut turn) = self
            .pipelines()
            .inner()
            .groups
            .enter(entry, self.stop().clone());
        if turn.try_recv().is_ok() {
            return Ok(Some(place));
        }
        let holder = self.pipelines().inner().groups.holder(&repo, &group);
        let holder = holder.unwrap_or_else(|| "another".to_owned());
        self.live().change_job(&self.job().id, |record| {
            record.state = JobState::Waiting;
            record.reason = Some(format!(
                "waits for {holder} in the concurrency group {group}"
            ));
        });
        // The sender goes with the place, which is held here.
        let _ = self.unless_stopped(turn).await?;
        Ok(Some(place))
    }

    fn group_entry(&self, concurrency: &PlannedConcurrency) -> Result<GroupEntry, JobEnd> {
        let plan = self.live().plan();
        let context = context::of_plan(&plan.plan)
            .with("needs", self.needs().clone())
            .with("strategy", self.job().strategy.context())
            .with("matrix", self.job().strategy.matrix.clone())
            .eval();
        let invalid = |fault| JobEnd::invalid("`concurrency`", &fault);
        let group = context::text(&concurrency.group, &context).map_err(invalid)?;
        let cancels = context::flag(&concurrency.cancel_in_progress, &context);
        Ok(GroupEntry {
            repo: self.live().look(|record| record.repo.clone()),
            group,
            cancels: cancels.map_err(invalid)?,
            is_single: concurrency.is_single,
            who: concurrency::job_in_words(&self.job().id, self.live().id()),
            age: (self.live().id(), self.nth()),
        })
    }

    fn show_begun(&self, attempt: &Attempt) {
        self.live().change_job(&self.job().id, |record| {
            record.state = JobState::Running;
            record.reason = None;
            record.scratch = attempt.scratch;
            record.started_at = attempt.started_at;
        });
    }
}

/// Nothing of it has begun.
fn fresh_attempt(record: &JobRecord, job: &PlannedJob) -> Attempt {
    let steps = record.steps.iter().zip(&job.steps);
    let steps = steps.map(|(record, step)| StepProgress {
        minted: is_command(&step.action).then(RunId::new),
        record: record.clone(),
        ..StepProgress::default()
    });
    Attempt {
        steps: steps.collect(),
        ..Attempt::default()
    }
}

/// Whether the step is a run.
fn is_command(action: &StepAction) -> bool {
    matches!(action, StepAction::Run { .. } | StepAction::SetUp { .. })
}

fn question<'a>(
    job: &'a JobRunner<'_>,
    (record, plan): (&'a PipelineRecord, &'a WorkflowPlan),
    secrets: &'a JobSecrets,
) -> ReuseQuestion<'a> {
    ReuseQuestion {
        record,
        plan,
        secrets,
        job: job.job(),
        needs: job.needs(),
        artifacts: reuse::artifacts_of(job.pipelines(), record.pipeline_id, (plan, job.job())),
    }
}
