//! The steps of a job, one after another in its scratch worktree. Each command is a run under an id that is on disk before;
//! so a daemon that comes later finds by the runs how far its predecessor came.

mod act;
mod attend;
mod command;
mod directory;
mod scope;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use scope::StepScopes;
use tokio::time::Instant;

use crate::context::{self, Contexts};
use crate::disk::{Attempt, AttemptDirs, StepProgress};
use crate::hash_files::WorktreeFiles;
use crate::job_end::JobEnd;
use crate::job_runner::JobRunner;
use crate::job_secrets::JobSecrets;
use crate::set_up::JobSetup;
use crate::step_env::action_name;
use branchyard_model::{ErrorKind, JobState, Problem, StepRecord, StepState};
use branchyard_runs::step::{self, SeenPlaces, StepRun};
use branchyard_workflow::{ExprFault, PlannedStep, StepAction, condition};
use branchyard_workspace::ScratchLease;
use branchyard_workspace::repos::Repo;

/// What steps that run though the job was cancelled have, all together.
const AFTER_CANCEL: Duration = Duration::from_secs(5 * 60);

/// How a step ended that was not merely skipped.
struct StepEnd {
    state: StepState,
    exit_code: Option<i32>,
    reason: Option<String>,
    /// Of a run, which may have ended while no daemon was there.
    ended_at: Option<Timestamp>,
}

impl StepEnd {
    fn of(state: StepState, reason: impl Into<Option<String>>) -> Self {
        Self {
            state,
            exit_code: None,
            reason: reason.into(),
            ended_at: None,
        }
    }
}

pub(crate) struct StepRunner<'a> {
    job: &'a JobRunner<'a>,
    repo: Arc<Repo>,
    lease: &'a ScratchLease,
    seen: SeenPlaces,
    setup: Option<&'a mut JobSetup>,
    secrets: &'a JobSecrets,
    dirs: AttemptDirs,
    attempt: &'a mut Attempt,
    contexts: Contexts,
    /// Of the workflow and the job.
    env: BTreeMap<String, String>,
    deadline: Instant,
    is_timed_out: bool,
    is_stop_passed_on: bool,
}

impl<'a> StepRunner<'a> {
    pub(crate) fn new(
        job: &'a JobRunner<'a>,
        (repo, lease, seen): (Arc<Repo>, &'a ScratchLease, SeenPlaces),
        setup: Option<&'a mut JobSetup>,
        secrets: &'a JobSecrets,
        attempt: &'a mut Attempt,
    ) -> Self {
        Self {
            dirs: job.dirs(),
            job,
            repo,
            lease,
            seen,
            setup,
            secrets,
            attempt,
            contexts: Contexts::default(),
            env: BTreeMap::new(),
            deadline: Instant::now(),
            is_timed_out: false,
            is_stop_passed_on: false,
        }
    }

    /// Takes what all steps have in common, and the seconds that they may take together.
    pub(crate) fn begin(
        &mut self,
        contexts: Contexts,
        env: BTreeMap<String, String>,
        seconds: f64,
    ) {
        (self.contexts, self.env) = (contexts, env);
        let most = self.job.pipelines().inner().config.timeouts.run_max;
        let whole = Duration::try_from_secs_f64(seconds).unwrap_or(most);
        let passed = self.attempt.started_at.map_or(0, crate::live::since);
        let left = whole.saturating_sub(Duration::from_millis(passed));
        self.deadline = Instant::now() + left;
    }

    pub(crate) async fn until_all_ended(&mut self) -> JobEnd {
        let job = self.job.job();
        for (at, planned) in job.steps.iter().enumerate() {
            self.end_actions(at).await;
            let state = self.attempt.steps[at].record.state;
            let has_begun = is_background(planned) || self.attempt.steps[at].scope.is_some();
            let is_under_way = state == StepState::Running && has_begun;
            if state.is_ended() || is_under_way {
                continue;
            }
            if let Some(end) = self.run_step(at, planned).await {
                self.end_step(at, end).await;
            }
            if self.scopes().has(StepState::Lost) {
                break;
            }
        }
        self.end_actions(job.steps.len()).await;
        self.end_background().await;
        self.job_end()
    }

    /// The contexts as they are after the last step.
    pub(crate) fn last_contexts(&self) -> Contexts {
        let scopes = self.scopes();
        let env = scopes.env(None).unwrap_or_default();
        scopes.contexts(None, &env)
    }

    /// Runs a step to its end; none of one that goes on: in the background, or as the steps of its action.
    async fn run_step(&mut self, at: usize, planned: &PlannedStep) -> Option<StepEnd> {
        if !self.was_started(at) {
            self.note_stop();
        }
        if !self.scopes().is_open(planned.within) {
            return Some(StepEnd::of(StepState::Skipped, None));
        }
        let env = match self.scopes().env(planned.within) {
            Ok(env) => env,
            Err(fault) => return Some(invalid("`env`", &fault)),
        };
        let contexts = self
            .scopes()
            .contexts(planned.within, &env)
            .in_step(&action_name(planned.id.as_deref(), planned.number));
        match self.begin_step(at, planned, &contexts) {
            Ok(true) => {}
            Ok(false) => return Some(StepEnd::of(StepState::Skipped, None)),
            Err(end) => return Some(end),
        }
        if self.is_stop_passed_on && !self.was_started(at) {
            // Before it starts: a daemon that finds it at work has to know.
            self.attempt.steps[at].is_tidying = true;
            self.job.keep(self.attempt).await;
        }
        match &planned.action {
            StepAction::SetUp { argv } => Some(self.set_up(at, planned, argv).await),
            StepAction::Run {
                script,
                shell,
                background,
            } => {
                let command = (script, shell.as_slice());
                let request =
                    |this: &Self, id| this.request(id, planned, command, (env, &contexts));
                let live = match self.start(at, request).await {
                    Ok(live) => live,
                    Err(end) => return Some(end),
                };
                match background {
                    true => None,
                    false => Some(self.attend(at, live).await),
                }
            }
            StepAction::Uses { action, .. } => {
                Some(self.use_action(at, planned, action, &contexts).await)
            }
            StepAction::Composite { .. } => self.begin_action(at, planned, &contexts).await,
            StepAction::Skipped { uses } => {
                let reason = format!("{uses} is left out (skip_actions)");
                Some(StepEnd::of(StepState::Skipped, reason))
            }
            StepAction::Wait { steps } => {
                Some(self.wait_for(|id| steps.iter().any(|it| it == id)).await)
            }
            StepAction::WaitAll => Some(self.wait_for(|_| true).await),
            StepAction::Cancel { step } => {
                for (at, live) in self.in_background(|id| id == step) {
                    live.viewers().stop("cancelled by a later step");
                    let end = self.until_run_ended(at, live).await;
                    let mut end = self.settle(&end);
                    if end.state == StepState::Cancelled {
                        end.reason = Some("cancelled by a later step".to_owned());
                        end.state = StepState::Succeeded;
                    }
                    self.end_step(at, end).await;
                }
                Some(StepEnd::of(StepState::Succeeded, None))
            }
        }
    }

    /// Whether the step is to run; if so, it shows that it does.
    fn begin_step(
        &mut self,
        at: usize,
        planned: &PlannedStep,
        contexts: &Contexts,
    ) -> Result<bool, StepEnd> {
        let files = WorktreeFiles(self.lease.path());
        let context = &contexts.eval().with_files(&files);
        if self.attempt.steps[at].record.state == StepState::Pending
            && !self.was_started(at)
            && !condition(planned.condition.as_deref(), context)
                .map_err(|fault| invalid("`if`", &fault))?
        {
            return Ok(false);
        }
        let name = context::text(&planned.name, context);
        let name = name.map_err(|fault| invalid("`name`", &fault))?;
        let checked = self.secrets.check("`name`", &name);
        checked.map_err(|why| StepEnd::of(StepState::Rejected, why))?;
        let is_tolerated = context::flag(&planned.continue_on_error, context);
        let is_tolerated = is_tolerated.map_err(|fault| invalid("`continue-on-error`", &fault))?;
        let around = planned.within.map(|number| number - 1);
        let around = around.map(|at| self.attempt.steps[at].record.name.clone());
        let step = &mut self.attempt.steps[at].record;
        step.state = StepState::Running;
        step.started_at.get_or_insert_with(Timestamp::now);
        step.name = context::shown_within(around.as_deref(), &name);
        step.continue_on_error = is_tolerated;
        self.show();
        Ok(true)
    }

    /// Whether an earlier daemon started the step. What its `if` asks for may be another thing since.
    fn was_started(&self, at: usize) -> bool {
        let runs = &self.job.pipelines().inner().runs;
        let minted = self.attempt.steps[at].minted;
        minted.is_some_and(|id| !matches!(step::step_run(runs, id), StepRun::NeverStarted))
    }

    /// What the daemon was to do for a step did not work.
    fn failed(&self, problem: Problem) -> StepEnd {
        let judged = self.job.pipelines().inner().margin.judge(problem).outward();
        let help = judged.help.map(|help| format!("; {help}"));
        let reason = format!("{}{}", judged.detail, help.unwrap_or_default());
        StepEnd::of(StepState::Failed, reason)
    }

    fn scopes(&self) -> StepScopes<'_> {
        StepScopes {
            planned: &self.job.job().steps,
            attempt: self.attempt,
            contexts: &self.contexts,
            env: &self.env,
            worktree: self.lease.path(),
            directory: &self.seen.worktree,
            is_ending: self.is_stop_passed_on || self.is_timed_out,
        }
    }

    /// What begins after that is there to tidy up.
    fn note_stop(&mut self) {
        if self.job.stop().is_stopped() && !self.is_stop_passed_on {
            self.is_stop_passed_on = true;
            // What still runs then has so long.
            self.deadline = Instant::now() + AFTER_CANCEL;
        }
    }

    fn job_end(&self) -> JobEnd {
        let scopes = self.scopes();
        let has = |state| scopes.has(state);
        let mut steps = self.attempt.steps.iter().zip(scopes.planned);
        let failed = steps.find(|(step, planned)| planned.within.is_none() && is_failure(step));
        let reason = failed.map(|(step, _)| failure(&step.record));
        let of = |state| JobEnd::of(state, reason.clone());
        if has(StepState::Lost) {
            of(JobState::Lost)
        } else if self.job.stop().is_stopped() {
            JobEnd::of(JobState::Cancelled, self.job.stop().reason())
        } else if self.is_timed_out {
            let reason = "it ran longer than its timeout-minutes".to_owned();
            JobEnd::of(JobState::TimedOut, Some(reason))
        } else if has(StepState::Cancelled) {
            of(JobState::Cancelled)
        } else if has(StepState::Rejected) {
            let detail = reason.clone().unwrap_or_default();
            let problem = Problem::new(ErrorKind::Unprocessable, "step_rejected", detail);
            JobEnd {
                reason,
                ..JobEnd::rejected(problem)
            }
        } else if failed.is_some() {
            of(JobState::Failed)
        } else {
            of(JobState::Succeeded)
        }
    }

    /// Has the record say how far the steps are.
    fn show(&self) {
        let steps = self.attempt.steps.iter().map(|step| step.record.clone());
        let steps: Vec<_> = steps.collect();
        self.job
            .live()
            .change_job(&self.job.job().id, |job| job.steps = steps);
    }
}

fn is_background(step: &PlannedStep) -> bool {
    matches!(
        step.action,
        StepAction::Run {
            background: true,
            ..
        }
    )
}

fn is_failure(step: &StepProgress) -> bool {
    let is_failed = matches!(
        step.record.state,
        StepState::Failed | StepState::TimedOut | StepState::Lost | StepState::Rejected
    );
    is_failed && !step.record.continue_on_error
}

/// How a step has failed, in words.
fn failure(record: &StepRecord) -> String {
    let code = record.exit_code.filter(|code| *code != 0);
    let how = match (record.state, code, &record.reason) {
        (_, _, Some(reason)) => reason.clone(),
        (_, Some(code), None) => format!("exited with {code}"),
        (state, None, None) => state.as_str().to_owned(),
    };
    format!("step {} ({}): {how}", record.number, record.name)
}

fn invalid(what: &str, fault: &ExprFault) -> StepEnd {
    StepEnd::of(StepState::Rejected, format!("{what}: {fault}"))
}
