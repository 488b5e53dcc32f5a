//! The built-in actions that steps use.

use super::{StepEnd, StepRunner};
use crate::action::{ActionDone, With};
use crate::artifact_steps::ArtifactJob;
use crate::context::{self, Contexts};
use crate::hash_files::WorktreeFiles;
use branchyard_config::crash_point;
use branchyard_model::{ErrorKind, Problem, StepState};
use branchyard_workflow::{BuiltIn, PlannedStep, StepAction};

impl StepRunner<'_> {
    pub(super) async fn use_action(
        &mut self,
        at: usize,
        planned: &PlannedStep,
        (action, uses): (&BuiltIn, &str),
        contexts: &Contexts,
    ) -> StepEnd {
        let done = match self.act(planned, (action, uses), contexts).await {
            Ok(done) => done,
            Err(problem) => {
                return self.failed(problem);
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
}
