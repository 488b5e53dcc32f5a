//! The set-up of a job's worktree, which comes before the steps of its file: each of its commands is a step, unless the outputs
//! that an earlier set-up made are copied.

use std::sync::Arc;

use crate::disk::{FrozenPlan, SetupProgress};
use crate::job_end::JobEnd;
use crate::job_runner::JobRunner;
use crate::pipelines::Pipelines;
use crate::source::with_store;
use branchyard_config::Setup;
use branchyard_git::{CommitTree, object_id};
use branchyard_model::{BranchName, CommitId, Problem, Warning};
use branchyard_runs::setup::{SetupTurn, key_of_job, turn_of_job};
use branchyard_workflow::{Planned, PlannedJob, PlannedStep, StepAction};
use branchyard_workspace::repos::Repo;
use branchyard_workspace::{ScratchLease, WantedSetup, setup};

/// What a job needs to be set up.
#[derive(Debug)]
pub(crate) struct JobSetup {
    wanted: WantedSetup,
    /// What stands for the outputs that it would be given.
    kept: Option<String>,
    /// Held until its commands have ended: others wait for what they make.
    turn: Option<SetupTurn>,
}

/// The set-up that is declared at a commit.
pub(crate) async fn declared(
    repo: &Arc<Repo>,
    commit: &CommitId,
) -> Result<Option<Setup>, Problem> {
    let (config, commit) = (repo.clone(), commit.clone());
    with_store(repo, move |store| {
        let tree = CommitTree::of(store, object_id(&commit)?)?;
        setup::declared_at(&tree, config.config()).map_err(|error| error.problem())
    })
    .await
}

/// Has the commands of the set-up be the first steps of the jobs.
pub(crate) fn put_first(setup: Option<&Setup>, jobs: &mut [PlannedJob]) {
    let commands = setup.map_or(&[][..], |setup| &setup.run);
    for job in jobs {
        let own = commands
            .iter()
            .zip(1..)
            .map(|(command, number)| PlannedStep {
                number,
                id: None,
                name: Planned::Value(format!("set-up: {}", command.argv().join(" "))),
                within: None,
                line: 0,
                condition: None,
                action: StepAction::SetUp {
                    argv: command.argv().to_vec(),
                },
                with: Default::default(),
                env: Default::default(),
                working_directory: None,
                timeout_minutes: None,
                continue_on_error: Planned::Value(false),
                outside: Vec::new(),
            });
        let own: Vec<_> = own.collect();
        for step in &mut job.steps {
            step.move_back(own.len());
        }
        job.steps.splice(0..0, own);
    }
}

impl JobSetup {
    /// What the job needs; none where nothing is declared.
    pub(crate) async fn of(
        pipelines: &Pipelines,
        repo: &Arc<Repo>,
        (plan, job): (&FrozenPlan, &PlannedJob),
        (branch, commit): (BranchName, CommitId),
    ) -> Result<Option<Self>, Problem> {
        let Some(setup) = plan.setup.clone() else {
            return Ok(None);
        };
        let (at, asked) = (commit.clone(), setup.clone());
        let inputs = with_store(repo, move |store| {
            let tree = CommitTree::of(store, object_id(&at)?)?;
            setup::digest_at(&tree, &asked).map_err(|error| error.problem())
        });
        let runs = &pipelines.inner().runs;
        let key = key_of_job(runs, repo, &setup, &inputs.await?).await?;
        let mut own = Self {
            wanted: WantedSetup {
                key,
                setup,
                branch,
                commit,
                is_protected: plan.is_protected,
                // A warm job finds what jobs of any branch have left.
                may_be_kept: !job.extras.warm,
            },
            kept: None,
            turn: None,
        };
        own.look(pipelines, repo).await?;
        Ok(Some(own))
    }

    /// All that decides what the job finds; none where that is not made yet.
    pub(crate) fn seen(&self) -> Option<(&str, &str)> {
        Some((&self.wanted.key, self.kept.as_deref()?))
    }

    /// The same of one whose worktree was set up.
    pub(crate) fn seen_by(progress: &SetupProgress) -> Option<(&str, &str)> {
        Some((progress.key.as_deref()?, progress.id.as_deref()?))
    }

    async fn look(&mut self, pipelines: &Pipelines, repo: &Arc<Repo>) -> Result<(), Problem> {
        let scratch = pipelines.inner().workspaces.scratch();
        let kept = scratch.kept_setup(repo, &self.wanted).await;
        self.kept = kept.map_err(|error| error.problem())?;
        Ok(())
    }

    /// Waits while another makes what is needed. The caller has no slot yet: the other one may be waiting for it.
    pub(crate) async fn take_turn(
        &mut self,
        job: &JobRunner<'_>,
        repo: &Arc<Repo>,
    ) -> Result<(), JobEnd> {
        if self.kept.is_some() {
            return Ok(());
        }
        job.live().change_job(&job.job().id, |record| {
            record.reason = Some("waits for another that makes the same set-up".to_owned());
        });
        let turn = turn_of_job(&job.pipelines().inner().runs, &self.wanted.key);
        let turn = job.unless_stopped(turn).await?;
        let looked = self.look(job.pipelines(), repo).await;
        looked.map_err(JobEnd::rejected)?;
        self.turn = Some(turn).filter(|_| self.kept.is_none());
        Ok(())
    }

    /// Copies what is kept, or makes room for what the commands make.
    pub(crate) async fn begin(&mut self, lease: &ScratchLease) -> Result<SetupProgress, Problem> {
        let problem = |error: branchyard_workspace::Error| error.problem();
        let id = lease.take_setup(&self.wanted).await.map_err(problem)?;
        let inputs = match &id {
            Some(_) => {
                self.turn = None;
                None
            }
            None => Some(lease.begin_setup(&self.wanted).await.map_err(problem)?),
        };
        Ok(SetupProgress {
            is_copied: id.is_some(),
            key: Some(self.wanted.key.clone()),
            inputs,
            id,
        })
    }

    /// Has another make it, for the commands have failed.
    pub(crate) fn give_up(&mut self) {
        self.turn = None;
    }

    /// Keeps what the commands have made.
    pub(crate) async fn finish(
        &mut self,
        lease: &ScratchLease,
        progress: &mut SetupProgress,
    ) -> Result<Option<Warning>, Problem> {
        // What was made under an earlier daemon may have been made by other tools than those of this one.
        self.wanted.may_be_kept &= progress.key.as_deref() == Some(&self.wanted.key);
        let inputs = progress.inputs.clone().unwrap_or_default();
        let made = lease.keep_setup(&self.wanted, inputs).await;
        self.turn = None;
        let made = made.map_err(|error| error.problem())?;
        progress.id = made.id;
        Ok(made.unkept.map(|why| {
            let message = format!("other jobs cannot have what the set-up made: {why}");
            Warning::new("setup_not_kept", message)
        }))
    }
}
