//! The actions that steps use: what the built-in ones do, and how composite ones begin and end.

use std::collections::BTreeMap;

use super::{StepEnd, StepRunner, invalid};
use crate::action::{ActionDone, ActionScope, With};
use crate::artifact_steps::ArtifactJob;
use crate::context::{self, Contexts};
use crate::hash_files::WorktreeFiles;
use branchyard_config::crash_point;
use branchyard_model::{ErrorKind, Problem, StepState};
use branchyard_workflow::{BuiltIn, PlannedStep, StepAction, render};

/// As much as an action may be given, or put out, which is what a command may write to `GITHUB_OUTPUT`.
const MAX_TEXTS: usize = 1 << 20;

impl StepRunner<'_> {
    pub(super) async fn use_action(
        &mut self,
        at: usize,
        planned: &PlannedStep,
        action: &BuiltIn,
        contexts: &Contexts,
    ) -> StepEnd {
        let done = match self.act(planned, action, contexts).await {
            Ok(done) => done,
            Err(problem) => return self.failed(problem),
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

    /// Begins a composite action. What it is given is on disk before its first step: that may change what it was made of.
    pub(super) async fn begin_action(
        &mut self,
        at: usize,
        planned: &PlannedStep,
        contexts: &Contexts,
    ) -> Option<StepEnd> {
        match self.action_scope(planned, contexts) {
            Ok(scope) => self.attempt.steps[at].scope = Some(scope),
            Err(end) => return Some(end),
        }
        self.job.keep(self.attempt).await;
        crash_point("action-begun");
        None
    }

    fn action_scope(
        &self,
        planned: &PlannedStep,
        contexts: &Contexts,
    ) -> Result<ActionScope, StepEnd> {
        let inputs = self.with(planned, contexts);
        let inputs = inputs.map_err(|problem| self.failed(problem))?;
        let files = WorktreeFiles(self.lease.path());
        let context = contexts.eval().with_files(&files);
        let mut env = BTreeMap::new();
        context::extend_env(&mut env, &planned.env, &context)
            .map_err(|fault| invalid("`env`", &fault))?;
        self.secrets.take_from(&mut env);
        check_size("what the action is given", [&inputs, &env])
            .map_err(|why| StepEnd::of(StepState::Rejected, why))?;
        let minutes = planned.timeout_minutes.as_ref();
        let seconds = minutes.map(|minutes| context::seconds(minutes, &context));
        let seconds = seconds
            .transpose()
            .map_err(|fault| invalid("`timeout-minutes`", &fault))?;
        Ok(ActionScope {
            inputs,
            env,
            seconds,
        })
    }

    /// Ends the composite actions all of whose steps are before this one.
    pub(super) async fn end_actions(&mut self, at: usize) {
        for open in self.scopes().through(at) {
            let mut end = self.scopes().end(open);
            match self.action_outputs(open) {
                Ok(outputs) => self.attempt.steps[open].outputs = outputs,
                Err(why) if end.state == StepState::Succeeded => {
                    end = StepEnd::of(StepState::Failed, why);
                }
                Err(_) => {}
            }
            self.end_step(open, end).await;
        }
    }

    fn action_outputs(&self, open: usize) -> Result<BTreeMap<String, String>, String> {
        let StepAction::Composite { outputs, .. } = &self.job.job().steps[open].action else {
            return Ok(BTreeMap::new());
        };
        let (within, scopes) = (Some(open + 1), self.scopes());
        let env = scopes.env(within).map_err(|fault| fault.to_string())?;
        let context = scopes.contexts(within, &env).eval();
        let outputs = outputs.iter().map(|(name, text)| {
            let what = format!("the output `{name}`");
            let value = render(text, &context).map_err(|fault| format!("{what}: {fault}"))?;
            self.secrets.check(&what, &value)?;
            Ok((name.clone(), value))
        });
        let outputs = outputs.collect::<Result<_, String>>()?;
        check_size("what the action puts out", [&outputs])?;
        Ok(outputs)
    }

    /// Does what a built-in action does.
    async fn act(
        &self,
        planned: &PlannedStep,
        action: &BuiltIn,
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
        let action = action.clone();
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
}

/// All of it is written down each time that a step ends.
fn check_size<const N: usize>(
    what: &str,
    texts: [&BTreeMap<String, String>; N],
) -> Result<(), String> {
    let texts = texts.into_iter().flatten();
    let size: usize = texts.map(|(name, value)| name.len() + value.len()).sum();
    match size <= MAX_TEXTS {
        true => Ok(()),
        false => Err(format!(
            "{what} has {size} bytes; it has at most {MAX_TEXTS}"
        )),
    }
}
