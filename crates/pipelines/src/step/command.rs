//! The command of a step, and its start.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::directory::start_directory;
use super::{StepEnd, StepRunner, invalid, is_background};
use crate::context::{self, Contexts};
use crate::env_files;
use crate::hash_files::WorktreeFiles;
use crate::step_env::StepVariables;
use branchyard_config::crash_point;
use branchyard_model::{RunId, StepOf, StepState};
use branchyard_runs::Live;
use branchyard_runs::step::{self, StepPlace, StepRequest, StepRun};
use branchyard_runtime::disk::write_private;
use branchyard_workflow::{EvalContext, Planned, PlannedStep, StepAction, render_script};

/// Why a command of a set-up was left out.
const COPIED: &str = "its outputs are kept, and were copied";

impl StepRunner<'_> {
    /// Sets the worktree up, as far as this command does. What is kept is copied by the first of them, and the last one keeps
    /// what they made.
    pub(super) async fn set_up(
        &mut self,
        at: usize,
        planned: &PlannedStep,
        argv: &[String],
    ) -> StepEnd {
        if at == 0
            && !self.was_started(at)
            && let Some(setup) = &mut self.setup
        {
            match setup.begin(self.lease).await {
                Ok(begun) => self.attempt.setup = begun,
                Err(problem) => return self.failed(problem),
            }
            self.job.keep(self.attempt).await;
            crash_point("setup-begun");
        }
        if self.attempt.setup.is_copied {
            return StepEnd::of(StepState::Skipped, COPIED.to_owned());
        }
        let request = |this: &Self, id| this.setup_request(id, planned, argv);
        let end = match self.start(at, request).await {
            Ok(live) => self.attend(at, live).await,
            Err(end) => end,
        };
        let next = self.job.job().steps.get(at + 1);
        let is_last = !next.is_some_and(|next| matches!(next.action, StepAction::SetUp { .. }));
        let Some(setup) = &mut self.setup else {
            return end;
        };
        if end.state != StepState::Succeeded {
            setup.give_up();
        } else if is_last {
            match setup.finish(self.lease, &mut self.attempt.setup).await {
                Ok(warning) => self.attempt.warnings.extend(warning),
                Err(problem) => return self.failed(problem),
            }
        }
        end
    }

    /// Starts the command of a step, or finds the run that it has by now.
    pub(super) async fn start(
        &mut self,
        at: usize,
        request: impl FnOnce(&Self, RunId) -> Result<StepRequest, StepEnd>,
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
            StepRun::Ended(record) => return Err(self.settle(&record)),
            StepRun::NeverStarted => {}
        }
        let request = request(self, id)?;
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

    pub(super) fn request(
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
            Planned::Template(text) => render_script(text, context, planned).map_err(|found| {
                let why = format!("{} ({})", found.fault, found.code.name());
                StepEnd::of(StepState::Rejected, format!("the script: {why}"))
            })?,
        };
        let checked = self.secrets.check("the script", &text);
        checked.map_err(|why| StepEnd::of(StepState::Rejected, why))?;
        let added = context::extend_env(&mut env, &planned.env, context);
        added.map_err(|fault| invalid("`env`", &fault))?;
        let file = self.dirs.script(planned.number);
        write_private(&file, text.as_bytes()).map_err(|error| unwritten(&error))?;
        self.make_files(planned.number)?;
        let files = self.dirs.files_of(planned.number);
        let plan = job.live().plan();
        let action_path = self.scopes().action_path(planned.within);
        let variables = StepVariables {
            plan: &plan.plan,
            job: &job.job().job,
            attempt: job.number(),
            step: planned.number,
            id: planned.id.as_deref(),
            action_path: action_path.as_deref(),
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
        let secrets = self.secrets.take_from(&mut all);
        let command = StepRequest {
            secrets,
            search: self.attempt.search.clone(),
            timeout: self.timeout(planned, context)?,
            background: is_background(planned),
            ..self.bare_request(run_id, planned.number, (argv, all))
        };
        Ok(StepRequest {
            place: StepPlace {
                script: Some(file.clone()),
                working_directory: self.working_directory(planned, context)?,
                ..command.place
            },
            ..command
        })
    }

    /// A command of the set-up sees what it would see in a workspace, and nothing of the file.
    fn setup_request(
        &self,
        run_id: RunId,
        planned: &PlannedStep,
        argv: &[String],
    ) -> Result<StepRequest, StepEnd> {
        self.make_files(planned.number)?;
        Ok(self.bare_request(run_id, planned.number, (argv.to_vec(), BTreeMap::new())))
    }

    /// What all commands of a job have in common.
    fn bare_request(
        &self,
        run_id: RunId,
        number: usize,
        (argv, env): (Vec<String>, BTreeMap<String, String>),
    ) -> StepRequest {
        let (job, inner) = (self.job, self.job.pipelines().inner());
        let (record, (commit, tree)) = (job.live().record(), job.commit());
        StepRequest {
            run_id,
            repo: self.repo.clone(),
            branch: record.branch,
            commit,
            tree,
            step: StepOf {
                pipeline: job.live().id(),
                job: job.job().id.clone(),
                attempt: job.number(),
                number,
                directory: self.seen.worktree.clone(),
            },
            argv,
            env,
            secrets: BTreeMap::new(),
            search: Vec::new(),
            timeout: inner.config.timeouts.run,
            background: false,
            principal: record.principal,
            account: job.live().plan().account.clone(),
            place: StepPlace {
                worktree: self.lease.path().to_owned(),
                home: self.dirs.home().to_owned(),
                tmp: self.dirs.tmp().to_owned(),
                files: self.dirs.files_of(number),
                script: None,
                working_directory: PathBuf::new(),
            },
            hidden: self.secrets.values(),
            masks: self.dirs.masks(),
        }
    }

    fn make_files(&self, number: usize) -> Result<(), StepEnd> {
        let made = env_files::make(&self.dirs.files_of(number), number);
        made.map_err(|error| unwritten(&error))
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
        let left = self.scopes().time_left(planned.within);
        if left.is_some_and(|left| left.is_zero()) {
            let reason = "its action ran longer than its timeout-minutes".to_owned();
            return Err(StepEnd::of(StepState::TimedOut, reason));
        }
        Ok([own, left].into_iter().flatten().fold(most, Duration::min))
    }

    /// An absolute path has to be one that the step finds a directory of the job by.
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
        start_directory(&self.seen, &written).ok_or_else(|| {
            let reason = format!(
                "working-directory: {written:?} is not in the worktree, in `runner.temp` or in the home of the job"
            );
            StepEnd::of(StepState::Rejected, reason)
        })
    }
}

fn unwritten(error: &io::Error) -> StepEnd {
    let reason = format!("the files of the step could not be written: {error}");
    StepEnd::of(StepState::Rejected, reason)
}
