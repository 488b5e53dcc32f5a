//! The steps of a job, one after another in its scratch worktree. Each command is a run under an id that is on disk before;
//! so a daemon that comes later finds by the runs how far its predecessor came.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::action::{ActionDone, With};
use crate::artifact_steps::ArtifactJob;
use crate::context::{self, Contexts};
use crate::disk::{Attempt, AttemptDirs, StepProgress};
use crate::env_files;
use crate::hash_files::WorktreeFiles;
use crate::job_end::JobEnd;
use crate::job_runner::JobRunner;
use crate::job_secrets::JobSecrets;
use crate::step_env::StepVariables;
use branchyard_config::crash_point;
use branchyard_model::{
    EndState, ErrorKind, JobState, Problem, RunId, RunRecord, RunState, StepOf, StepState,
};
use branchyard_runs::Live;
use branchyard_runs::step::{self, SeenPlaces, StepPlace, StepRequest, StepRun};
use branchyard_runtime::disk::write_private;
use branchyard_workflow::{
    BuiltIn, EvalContext, ExprFault, JobStatus, Planned, PlannedStep, StepAction, condition,
    render_script,
};
use branchyard_workspace::ScratchLease;
use branchyard_workspace::repos::Repo;

/// What steps that run though the job was cancelled have, all together.
const AFTER_CANCEL: Duration = Duration::from_secs(5 * 60);
/// As much as a step may write for people to read, which is what it may on GitHub.
const MAX_SUMMARY: usize = 1 << 20;

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
        repo: Arc<Repo>,
        (lease, seen): (&'a ScratchLease, SeenPlaces),
        secrets: &'a JobSecrets,
        attempt: &'a mut Attempt,
    ) -> Self {
        Self {
            dirs: job.dirs(),
            job,
            repo,
            lease,
            seen,
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
            let state = self.attempt.steps[at].record.state;
            let is_under_way = state == StepState::Running && is_background(planned);
            if state.is_ended() || is_under_way {
                continue;
            }
            if let Some(end) = self.run_step(at, planned).await {
                self.end_step(at, end).await;
            }
            if self.has(StepState::Lost) {
                break;
            }
        }
        self.end_background().await;
        self.job_end()
    }

    /// The contexts as they are after the last step.
    pub(crate) fn last_contexts(&self) -> Contexts {
        self.step_contexts(&self.env_of_steps())
    }

    /// Runs a step to its end; none of one that goes on in the background.
    async fn run_step(&mut self, at: usize, planned: &PlannedStep) -> Option<StepEnd> {
        if !self.was_started(at) {
            self.note_stop();
        }
        let env = self.env_of_steps();
        let contexts = self.step_contexts(&env);
        match self.begin_step(at, planned, &contexts) {
            Ok(true) => {}
            Ok(false) => return Some(StepEnd::of(StepState::Skipped, None)),
            Err(end) => return Some(end),
        }
        match &planned.action {
            StepAction::Run {
                script,
                shell,
                background,
            } => {
                let command = (script, shell.as_slice());
                let live = match self.start(at, planned, command, (env, &contexts)).await {
                    Ok(live) => live,
                    Err(end) => return Some(end),
                };
                match background {
                    true => None,
                    false => Some(self.attend(at, live).await),
                }
            }
            StepAction::Uses { action, uses } => Some(
                self.use_action(at, planned, (action, uses), &contexts)
                    .await,
            ),
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
                    let end = self.until_run_ended(live).await;
                    let mut end = self.settle(at, &end);
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

    async fn use_action(
        &mut self,
        at: usize,
        planned: &PlannedStep,
        (action, uses): (&BuiltIn, &str),
        contexts: &Contexts,
    ) -> StepEnd {
        let done = match self.act(planned, (action, uses), contexts).await {
            Ok(done) => done,
            Err(problem) => {
                let judged = self.job.pipelines().inner().margin.judge(problem).outward();
                let help = judged
                    .help
                    .map_or(String::new(), |help| format!("; {help}"));
                return StepEnd::of(StepState::Failed, format!("{}{help}", judged.detail));
            }
        };
        crash_point("action-done");
        self.attempt.steps[at].outputs.extend(done.outputs);
        self.attempt.warnings.extend(done.warnings);
        self.attempt.restored.extend(done.restored);
        if let Some(pending) = done.pending.filter(|it| !self.attempt.caches.contains(it)) {
            self.attempt.caches.push(pending);
        }
        if let Some(name) = done.made.filter(|it| !self.attempt.artifacts.contains(it)) {
            self.attempt.artifacts.push(name);
        }
        StepEnd::of(StepState::Succeeded, None)
    }

    /// Does what a built-in action does.
    async fn act(
        &self,
        planned: &PlannedStep,
        (action, uses): (&BuiltIn, &str),
        contexts: &Contexts,
    ) -> Result<ActionDone, Problem> {
        let with = self.with(planned, contexts)?;
        let dirs = self.job.job_dirs(self.lease, &self.seen);
        let artifacts = ArtifactJob {
            store: self.job.pipelines().inner().artifacts.clone(),
            pipeline: self.job.live().id(),
            job: self.job.job().id.clone(),
            attempt: self.job.number(),
            made: self.attempt.artifacts.clone(),
            dirs: dirs.clone(),
        };
        let caches = self.job.caches(&self.repo, dirs);
        let (action, uses) = (action.clone(), uses.to_owned());
        let acting = tokio::task::spawn_blocking(move || match action {
            // The job began with its commit checked out, and with tools that were looked for.
            BuiltIn::Checkout | BuiltIn::Toolchain { .. } => Ok(ActionDone::default()),
            BuiltIn::UploadArtifact => artifacts.upload(&with),
            BuiltIn::DownloadArtifact => artifacts.download(&with),
            BuiltIn::Cache => caches.restore(&with, true),
            BuiltIn::CacheRestore => caches.restore(&with, false),
            BuiltIn::CacheSave => Ok(ActionDone {
                warnings: caches.save(&caches.pending(&with))?,
                ..ActionDone::default()
            }),
            BuiltIn::Local { .. } => {
                let detail = format!("{uses} is not supported yet (not_supported_yet)");
                Err(Problem::unprocessable("uses", detail))
            }
        });
        acting
            .await
            .map_err(|error| Problem::new(ErrorKind::Internal, "step_failed", error.to_string()))?
    }

    fn with(&self, planned: &PlannedStep, contexts: &Contexts) -> Result<With, Problem> {
        let files = WorktreeFiles(self.lease.path());
        let context = contexts.eval().with_files(&files);
        // A checkout asks for a token that no job has, and takes nothing else.
        let is_checkout = matches!(
            planned.action,
            StepAction::Uses {
                action: BuiltIn::Checkout,
                ..
            }
        );
        let with = planned.with.iter().filter(|_| !is_checkout);
        with.map(|(name, value)| {
            let value = context::text(value, &context);
            let value = value
                .map_err(|fault| Problem::unprocessable(name, format!("`{name}`: {fault}")))?;
            let checked = self.secrets.check(&format!("`{name}`"), &value);
            checked.map_err(|why| Problem::unprocessable(name, why))?;
            Ok((name.clone(), value))
        })
        .collect()
    }

    /// Starts the command of a step, or finds the run that it has by now.
    async fn start(
        &mut self,
        at: usize,
        planned: &PlannedStep,
        (script, shell): (&Planned<String>, &[String]),
        (env, contexts): (BTreeMap<String, String>, &Contexts),
    ) -> Result<Arc<Live>, StepEnd> {
        let id = self.attempt.steps[at].minted.unwrap_or_default();
        let runs = &self.job.pipelines().inner().runs;
        let known = step::step_run(runs, id);
        if !matches!(known, StepRun::NeverStarted) {
            // By an earlier daemon, which had no need to say so: the id was minted.
            self.attempt.steps[at].record.run_id = Some(id);
        }
        match known {
            StepRun::Live(live) => {
                self.show();
                return Ok(live);
            }
            StepRun::Ended(record) => return Err(self.settle(at, &record)),
            StepRun::NeverStarted => {}
        }
        let request = self.request(id, planned, (script, shell), (env, contexts))?;
        self.attempt.steps[at].record.run_id = Some(id);
        crash_point("step-begins");
        match step::start_step(runs, request) {
            Ok(live) => {
                // Not before: viewers follow the run as soon as it is shown.
                self.show();
                crash_point("step-started");
                Ok(live)
            }
            Err(problem) if problem.code == "draining" => {
                // The next daemon starts it.
                std::future::pending().await
            }
            Err(problem) => {
                self.attempt.steps[at].record.run_id = None;
                Err(StepEnd::of(StepState::Rejected, problem.outward().detail))
            }
        }
    }

    fn request(
        &self,
        run_id: RunId,
        planned: &PlannedStep,
        (script, shell): (&Planned<String>, &[String]),
        (mut env, contexts): (BTreeMap<String, String>, &Contexts),
    ) -> Result<StepRequest, StepEnd> {
        let (job, hashed) = (self.job, WorktreeFiles(self.lease.path()));
        let context = &contexts.eval().with_files(&hashed);
        let text = match script {
            Planned::Value(text) => text.clone(),
            Planned::Template(text) => {
                render_script(text, context, &planned.outside).map_err(|found| {
                    let why = format!("{} ({})", found.fault, found.code.name());
                    StepEnd::of(StepState::Rejected, format!("the script: {why}"))
                })?
            }
        };
        let checked = self.secrets.check("the script", &text);
        checked.map_err(|why| StepEnd::of(StepState::Rejected, why))?;
        let added = context::extend_env(&mut env, &planned.env, context);
        added.map_err(|fault| invalid("`env`", &fault))?;
        let file = self.dirs.script(planned.number);
        let unwritten = |error: &io::Error| {
            let reason = format!("the files of the step could not be written: {error}");
            StepEnd::of(StepState::Rejected, reason)
        };
        write_private(&file, text.as_bytes()).map_err(|error| unwritten(&error))?;
        let files = self.dirs.files_of(planned.number);
        env_files::make(&files, planned.number).map_err(|error| unwritten(&error))?;
        let plan = job.live().plan();
        let variables = StepVariables {
            plan: &plan.plan,
            job: &job.job().job,
            attempt: job.number(),
            step: planned.number,
            id: planned.id.as_deref(),
            directory: &self.seen.worktree,
            tmp: &self.seen.tmp,
            files: &files,
        };
        let shown = file.to_string_lossy();
        let (argv, mut all) = match &plan.bisect {
            // It sees what it would see as a run of its own.
            Some(bisect) => (bisect.argv.clone(), bisect.env.clone()),
            None => {
                let argv = shell.iter().map(|word| word.replace("{0}", &shown));
                let mut all = variables.all();
                // What the file says of them goes first.
                all.extend(env);
                (argv.collect(), all)
            }
        };
        let (record, (commit, tree)) = (job.live().record(), job.commit());
        Ok(StepRequest {
            run_id,
            repo: self.repo.clone(),
            branch: record.branch,
            commit,
            tree,
            step: StepOf {
                pipeline: job.live().id(),
                job: job.job().id.clone(),
                attempt: job.number(),
                number: planned.number,
                directory: self.seen.worktree.clone(),
            },
            argv,
            secrets: self.secrets.take_from(&mut all),
            env: all,
            search: self.attempt.search.clone(),
            timeout: self.timeout(planned, context)?,
            background: is_background(planned),
            principal: record.principal,
            account: plan.account.clone(),
            place: StepPlace {
                worktree: self.lease.path().to_owned(),
                home: self.dirs.home().to_owned(),
                tmp: self.dirs.tmp().to_owned(),
                files: files.clone(),
                script: Some(file.clone()),
                working_directory: self.working_directory(planned, context)?,
            },
            hidden: self.secrets.values(),
            masks: self.dirs.masks(),
        })
    }

    fn timeout(
        &self,
        planned: &PlannedStep,
        context: &EvalContext<'_>,
    ) -> Result<Duration, StepEnd> {
        let most = self.job.pipelines().inner().config.timeouts.run_max;
        let own = planned.timeout_minutes.as_ref();
        let own = own
            .map(|minutes| context::seconds(minutes, context))
            .transpose();
        let own = own.map_err(|fault| invalid("`timeout-minutes`", &fault))?;
        let own = own.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Ok(own.unwrap_or(most).min(most))
    }

    /// Within the worktree: an absolute path has to be one that the step finds it by.
    fn working_directory(
        &self,
        planned: &PlannedStep,
        context: &EvalContext<'_>,
    ) -> Result<PathBuf, StepEnd> {
        let Some(written) = &planned.working_directory else {
            return Ok(PathBuf::new());
        };
        let written = context::text(written, context);
        let written = written.map_err(|fault| invalid("`working-directory`", &fault))?;
        let checked = self.secrets.check("`working-directory`", &written);
        checked.map_err(|why| StepEnd::of(StepState::Rejected, why))?;
        let path = Path::new(&written);
        let inside = path.strip_prefix(&self.seen.worktree).unwrap_or(path);
        let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        match inside.components().all(is_inside) {
            true => Ok(inside
                .components()
                .filter(|part| *part != Component::CurDir)
                .collect()),
            false => {
                let reason = format!("working-directory: {written:?} is not in the worktree");
                Err(StepEnd::of(StepState::Rejected, reason))
            }
        }
    }

    /// Waits for the end of a step's run, passing on what ends the job.
    async fn attend(&mut self, at: usize, live: Arc<Live>) -> StepEnd {
        let ended = self.until_run_ended(live).await;
        self.settle(at, &ended)
    }

    async fn until_run_ended(&mut self, live: Arc<Live>) -> RunRecord {
        let stop = self.job.stop().clone();
        loop {
            tokio::select! {
                biased;
                () = live.ended() => break,
                () = stop.stopped(), if !self.is_stop_passed_on => {
                    self.note_stop();
                    live.viewers().stop(&stop.reason().unwrap_or_default());
                }
                () = tokio::time::sleep_until(self.deadline), if !self.is_timed_out => {
                    self.is_timed_out = true;
                    live.viewers().stop("the job ran longer than its timeout-minutes");
                }
            }
        }
        if !live.has_ended() {
            // The daemon leaves, and the next one attends it.
            std::future::pending::<()>().await;
        }
        live.record()
    }

    /// How the step of a run that has ended has ended.
    fn settle(&self, at: usize, record: &RunRecord) -> StepEnd {
        let state = match record.state {
            RunState::Ended(EndState::Succeeded) => StepState::Succeeded,
            RunState::Ended(EndState::Failed | EndState::Signalled) => StepState::Failed,
            RunState::Ended(EndState::TimedOut) => StepState::TimedOut,
            RunState::Ended(EndState::Cancelled) if self.is_timed_out => StepState::TimedOut,
            RunState::Ended(EndState::Cancelled) => StepState::Cancelled,
            RunState::Ended(EndState::Rejected) => StepState::Rejected,
            // The others have not ended.
            _ => StepState::Lost,
        };
        let _ = at;
        let error = record.error.as_ref().map(|problem| problem.detail.clone());
        let signal = record
            .signal
            .map(|signal| format!("ended by signal {signal}"));
        StepEnd {
            state,
            exit_code: record.exit_code,
            reason: record.reason.clone().or(error).or(signal),
            ended_at: record.ended_at,
        }
    }

    /// Notes the end of a step, with what it wrote for those after it.
    async fn end_step(&mut self, at: usize, mut end: StepEnd) {
        let has_run = self.attempt.steps[at].record.run_id.is_some();
        if has_run
            && end.state != StepState::Lost
            && let Err(why) = self.take_files(at)
        {
            // What was written is a part of what the step was to do.
            if end.state == StepState::Succeeded {
                end.state = StepState::Failed;
            }
            end.reason.get_or_insert(why);
        }
        let step = &mut self.attempt.steps[at].record;
        step.state = end.state;
        step.exit_code = end.exit_code;
        let reason = end.reason.map(|reason| self.secrets.hide_in(reason));
        step.reason = reason.as_deref().map(context::shown);
        let ended_at = end.ended_at.unwrap_or_else(Timestamp::now);
        step.ended_at = step.started_at.map(|_| ended_at);
        self.job.keep(self.attempt).await;
        crash_point("step-ended");
        self.show();
    }

    fn take_files(&mut self, at: usize) -> Result<(), String> {
        let number = self.attempt.steps[at].record.number;
        let of = |variable: &str| {
            let name = env_files::file_name(variable, number);
            let path = self.dirs.files_of(number).join(name);
            env_files::read(&path).map_err(|why| format!("{variable}: {why}"))
        };
        let entries = |variable: &str| {
            let found = env_files::entries(&of(variable)?);
            found.map_err(|why| format!("{variable}: {why}"))
        };
        let outputs = entries(env_files::OUTPUT)?;
        let variables = entries(env_files::ENV)?;
        let search = of(env_files::SEARCH)?;
        let summary = of(env_files::SUMMARY)?;
        if let Some(why) = variables
            .iter()
            .find_map(|(name, _)| env_files::refused_variable(name))
        {
            return Err(format!("{}: {why}", env_files::ENV));
        }
        let all = outputs.iter().chain(&variables);
        for (name, value) in all {
            self.secrets.check(name, value)?;
        }
        let added = search.lines().rev().filter(|line| !line.is_empty());
        let mut first: Vec<_> = added.map(str::to_owned).collect();
        first.append(&mut self.attempt.search);
        self.attempt.search = first;
        self.attempt.env.extend(variables);
        self.attempt.steps[at].outputs.extend(outputs);
        if !summary.is_empty() {
            let written = self.hide(&summary).and_then(|mut summary| {
                summary.truncate(MAX_SUMMARY);
                fs::write(self.dirs.summary(number), summary)
            });
            written.map_err(|error| format!("{}: {error}", env_files::SUMMARY))?;
        }
        Ok(())
    }

    /// What a step wrote for people, without what its output must not show.
    fn hide(&self, text: &str) -> io::Result<Vec<u8>> {
        let runs = &self.job.pipelines().inner().runs;
        let hidden = (&self.env, self.secrets.values());
        let redactor = step::step_redactor(runs, &self.repo, hidden, &self.dirs.masks())?;
        Ok(match redactor {
            None => text.as_bytes().to_vec(),
            Some(mut redactor) => redactor.whole(text.as_bytes()),
        })
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
        let step = &mut self.attempt.steps[at].record;
        step.state = StepState::Running;
        step.started_at.get_or_insert_with(Timestamp::now);
        step.name = context::shown(&name);
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

    /// Steps in the background that have not ended, by their ids.
    fn in_background(&self, is_meant: impl Fn(&str) -> bool) -> Vec<(usize, Arc<Live>)> {
        let runs = &self.job.pipelines().inner().runs;
        let steps = self.job.job().steps.iter().enumerate();
        let meant = steps.filter(|(at, step)| {
            let is_running = self.attempt.steps[*at].record.state == StepState::Running;
            is_background(step) && is_running && is_meant(step.id.as_deref().unwrap_or_default())
        });
        meant
            .filter_map(|(at, _)| {
                let id = self.attempt.steps[at].minted?;
                Some((at, runs.live(id)?))
            })
            .collect()
    }

    /// Takes note of steps in the background that have ended by themselves.
    async fn note_ended(&mut self, is_meant: impl Fn(&str) -> bool) {
        for at in 0..self.attempt.steps.len() {
            let planned = &self.job.job().steps[at];
            let step = &self.attempt.steps[at];
            let is_meant = is_meant(planned.id.as_deref().unwrap_or_default());
            if !is_background(planned) || step.record.state != StepState::Running || !is_meant {
                continue;
            }
            let runs = &self.job.pipelines().inner().runs;
            let end = match step::step_run(runs, step.minted.unwrap_or_default()) {
                StepRun::Live(live) if !live.has_ended() => continue,
                StepRun::Live(live) => self.settle(at, &live.record()),
                StepRun::Ended(record) => self.settle(at, &record),
                StepRun::NeverStarted => {
                    let reason = "its run is gone".to_owned();
                    StepEnd::of(StepState::Lost, reason)
                }
            };
            self.end_step(at, end).await;
        }
    }

    async fn wait_for(&mut self, is_meant: impl Fn(&str) -> bool) -> StepEnd {
        for (at, live) in self.in_background(&is_meant) {
            let ended = self.until_run_ended(live).await;
            let end = self.settle(at, &ended);
            self.end_step(at, end).await;
        }
        self.note_ended(&is_meant).await;
        let steps = self.attempt.steps.iter().zip(&self.job.job().steps);
        let mut waited = steps.filter(|(_, planned)| {
            is_background(planned) && is_meant(planned.id.as_deref().unwrap_or_default())
        });
        match waited.find(|(step, _)| is_failure(step)) {
            Some((step, _)) => {
                let reason = format!("{} has failed", step.record.name);
                StepEnd::of(StepState::Failed, reason)
            }
            None => StepEnd::of(StepState::Succeeded, None),
        }
    }

    /// Nothing of a job goes on after it. What is still at work is ended, which is no failure.
    async fn end_background(&mut self) {
        self.note_ended(|_| true).await;
        for (at, live) in self.in_background(|_| true) {
            live.viewers().stop("the job has ended");
            let record = self.until_run_ended(live).await;
            let mut end = self.settle(at, &record);
            if end.state == StepState::Cancelled {
                end.state = StepState::Succeeded;
            }
            self.end_step(at, end).await;
        }
    }

    fn has(&self, state: StepState) -> bool {
        let mut steps = self.attempt.steps.iter();
        steps.any(|step| step.record.state == state && !step.record.continue_on_error)
    }

    /// What begins after the job was cancelled is there to tidy up, and is not told to stop.
    fn note_stop(&mut self) {
        if self.job.stop().is_stopped() && !self.is_stop_passed_on {
            self.is_stop_passed_on = true;
            // What still runs then has so long.
            self.deadline = Instant::now() + AFTER_CANCEL;
        }
    }

    /// How the job stands, for the steps to come.
    fn status(&self) -> JobStatus {
        let is_failed = self.attempt.steps.iter().any(is_failure);
        if self.is_stop_passed_on || self.is_timed_out || self.has(StepState::Cancelled) {
            JobStatus::Cancelled
        } else if is_failed {
            JobStatus::Failure
        } else {
            JobStatus::Success
        }
    }

    fn job_end(&self) -> JobEnd {
        let failed = self.attempt.steps.iter().find(|step| is_failure(step));
        let reason = failed.map(|step| {
            let record = &step.record;
            let code = record.exit_code.filter(|code| *code != 0);
            let how = match (record.state, code, &record.reason) {
                (_, _, Some(reason)) => reason.clone(),
                (_, Some(code), None) => format!("exited with {code}"),
                (state, None, None) => state.as_str().to_owned(),
            };
            format!("step {} ({}): {how}", record.number, record.name)
        });
        let of = |state| JobEnd::of(state, reason.clone());
        if self.has(StepState::Lost) {
            of(JobState::Lost)
        } else if self.job.stop().is_stopped() {
            JobEnd::of(JobState::Cancelled, self.job.stop().reason())
        } else if self.is_timed_out {
            let reason = "it ran longer than its timeout-minutes".to_owned();
            JobEnd::of(JobState::TimedOut, Some(reason))
        } else if self.has(StepState::Cancelled) {
            of(JobState::Cancelled)
        } else if self.has(StepState::Rejected) {
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

    /// The variables of the workflow, the job, and the steps so far.
    fn env_of_steps(&self) -> BTreeMap<String, String> {
        let mut env = self.env.clone();
        env.extend(self.attempt.env.clone());
        env
    }

    fn step_contexts(&self, env: &BTreeMap<String, String>) -> Contexts {
        let ids = self.job.job().steps.iter().map(|step| step.id.clone());
        context::of_step(&self.contexts, env, &self.attempt.steps, ids, self.status())
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

fn invalid(what: &str, fault: &ExprFault) -> StepEnd {
    StepEnd::of(StepState::Rejected, format!("{what}: {fault}"))
}
