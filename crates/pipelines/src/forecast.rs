//! What a request for a pipeline would start, and which of its jobs earlier ones would answer. Nothing is started.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::{self, NeededJob};
use crate::disk::FrozenPlan;
use crate::job_secrets::JobSecrets;
use crate::pipelines::Pipelines;
use crate::planned::{is_wanted, job_record, why_unwanted};
use crate::request::PipelineRequest;
use crate::reuse::{self, ReuseQuestion, all_needed};
use crate::reuse_places::ReuseTrust;
use crate::set_up::JobSetup;
use crate::start::{PlannedPipeline, Unplanned, record};
use crate::uses;
use branchyard_auth::Principal;
use branchyard_model::{
    AnsweredBy, CheckedJob, JobForecast, JobState, PipelineCheck, PipelineRecord, PipelineSource,
    Problem, RepoName, Scope, WorkflowProblem,
};
use branchyard_workflow::{PlannedJob, WorkflowFault};
use branchyard_workspace::repos::Repo;

/// What [`Pipelines::start`] would start.
pub async fn forecast(
    pipelines: &Pipelines,
    repo: &RepoName,
    request: &PipelineRequest,
    principal: &Principal,
) -> Result<PipelineCheck, Problem> {
    if request.source == PipelineSource::Workspace {
        // A snapshot is written for it.
        principal.require(Scope::BuildRun)?;
    }
    // Each asks the tools of the machine, for each of its jobs. The semaphore is never closed.
    let _turn = pipelines.inner().forecasts.acquire().await;
    let planned = match pipelines.plan(repo, request, principal).await {
        Ok(planned) => planned,
        Err(Unplanned::Refused(problem)) => return Err(problem),
        Err(Unplanned::Invalid(faults)) => {
            return Ok(PipelineCheck {
                problems: faults.into_iter().map(problem).collect(),
                ..PipelineCheck::default()
            });
        }
    };
    let record = record(&planned, principal, None);
    let PlannedPipeline { repo, frozen, .. } = planned;
    let mut forecast = Forecast {
        pipelines,
        repo,
        plan: frozen,
        record,
        known: BTreeMap::new(),
    };
    forecast.look_at_all().await;
    Ok(forecast.told())
}

fn problem(fault: WorkflowFault) -> WorkflowProblem {
    WorkflowProblem {
        code: fault.code.name().to_owned(),
        file: fault.file,
        line: fault.line,
        column: fault.column,
        message: fault.message,
    }
}

struct Forecast<'a> {
    pipelines: &'a Pipelines,
    repo: Arc<Repo>,
    plan: FrozenPlan,
    /// Of a pipeline that there never is.
    record: PipelineRecord,
    /// What is known of jobs by their ids.
    known: BTreeMap<String, Outlook>,
}

/// What would become of a job.
#[derive(Debug, Clone)]
struct Outlook {
    would: JobForecast,
    reason: Option<String>,
    answered_by: Option<AnsweredBy>,
    outputs: BTreeMap<String, String>,
}

impl Outlook {
    fn of(would: JobForecast, reason: impl Into<Option<String>>) -> Self {
        Self {
            would,
            reason: reason.into(),
            answered_by: None,
            outputs: BTreeMap::new(),
        }
    }

    fn rejected(problem: Problem) -> Self {
        Self::of(JobForecast::Reject, problem.outward().detail)
    }

    /// As other jobs see it.
    fn state(&self) -> JobState {
        match self.would {
            JobForecast::Reuse => JobState::Reused,
            JobForecast::Skip => JobState::Skipped,
            JobForecast::Reject => JobState::Rejected,
            JobForecast::Run | JobForecast::Follow => JobState::Blocked,
        }
    }
}

impl Forecast<'_> {
    /// Each job comes after those that it needs.
    async fn look_at_all(&mut self) {
        while let Some(job) = self.next().cloned() {
            let known = self.look_at(&job).await;
            let known = known.unwrap_or_else(Outlook::rejected);
            self.known.insert(job.id, known);
        }
    }

    fn next(&self) -> Option<&PlannedJob> {
        let jobs = &self.plan.plan.jobs;
        let is_known = |job: &&PlannedJob| self.known.contains_key(&job.id);
        let mut open = jobs.iter().filter(|job| !is_known(job));
        open.find(|job| {
            let mut needed = jobs.iter().filter(|it| job.needs.contains(&it.job));
            needed.all(|needed| is_known(&needed))
        })
    }

    async fn look_at(&self, job: &PlannedJob) -> Result<Outlook, Problem> {
        if job.skipped.is_some() {
            return Ok(Outlook::of(JobForecast::Skip, "runs_on".to_owned()));
        }
        let plan = &self.plan.plan;
        let all = self.needed(&all_needed(plan, job).into_iter().collect::<Vec<_>>());
        if let Some(open) = all.iter().find(|needed| needed.state == JobState::Blocked) {
            let reason = format!("after {}", open.key);
            return Ok(Outlook::of(JobForecast::Follow, reason));
        }
        let direct: Vec<_> = job.needs.iter().map(String::as_str).collect();
        let (direct, status) = (self.needed(&direct), context::status_of(&all));
        if !is_wanted(plan, job, (&direct, status))? {
            let reason = why_unwanted(job, status).to_owned();
            return Ok(Outlook::of(JobForecast::Skip, reason));
        }
        if job.is_deferred {
            let reason = "its rows are made of outputs".to_owned();
            return Ok(Outlook::of(JobForecast::Run, reason));
        }
        self.look_for_answer(job, &direct).await
    }

    async fn look_for_answer(
        &self,
        job: &PlannedJob,
        needed: &[NeededJob],
    ) -> Result<Outlook, Problem> {
        let (pipelines, repo) = (self.pipelines, &self.repo);
        let secrets = JobSecrets::of(pipelines, repo, &self.record, (&self.plan, job))?;
        uses::check_tools(&pipelines.inner().runs, repo, job).await?;
        let place = (self.record.branch.clone(), self.record.commit.clone());
        let setup = JobSetup::of(pipelines, repo, (&self.plan, job), place).await?;
        let seen = setup.as_ref().map(JobSetup::seen);
        if seen == Some(None) {
            return Ok(Outlook::of(
                JobForecast::Run,
                "it is to be set up first".to_owned(),
            ));
        }
        let question = ReuseQuestion {
            record: &self.record,
            plan: &self.plan.plan,
            job,
            secrets: &secrets,
            needs: &context::needs(needed),
            artifacts: self.artifacts(job),
        };
        let trust = ReuseTrust {
            is_protected: self.plan.is_protected,
            sees_all: self.plan.sees_all,
        };
        let sees = reuse::key(pipelines, repo, &question).await?;
        let key = match seen {
            Some(seen) => reuse::with_setup(sees.as_deref(), seen),
            None => sees,
        };
        let answer = key.and_then(|key| reuse::would_answer(pipelines, &question, &key, trust));
        Ok(match answer {
            None => Outlook::of(JobForecast::Run, None),
            Some((answered, attempt)) => Outlook {
                answered_by: Some(answered),
                outputs: attempt.outputs,
                ..Outlook::of(JobForecast::Reuse, None)
            },
        })
    }

    /// The jobs that the file calls so, which are known.
    fn needed(&self, keys: &[&str]) -> Vec<NeededJob> {
        let jobs = self.plan.plan.jobs.iter();
        let jobs = jobs.filter(|job| keys.contains(&job.job.as_str()));
        let known = jobs.filter_map(|job| Some((job, self.known.get(&job.id)?)));
        let needed = known.map(|(job, known)| NeededJob {
            key: job.job.clone(),
            state: known.state(),
            continue_on_error: false,
            outputs: known.outputs.clone(),
        });
        needed.collect()
    }

    /// What the jobs that this one needs would have made, by those that answer them.
    fn artifacts(&self, job: &PlannedJob) -> Vec<(String, String)> {
        let needed = all_needed(&self.plan.plan, job);
        let jobs = self.plan.plan.jobs.iter();
        let jobs = jobs.filter(|it| needed.contains(it.job.as_str()));
        let answers = jobs.filter_map(|it| self.known.get(&it.id)?.answered_by.as_ref());
        let made = answers.flat_map(|answer| {
            reuse::artifacts_by(self.pipelines, answer.pipeline, &[&answer.job])
        });
        let mut made: Vec<_> = made.collect();
        made.sort();
        made
    }

    fn told(mut self) -> PipelineCheck {
        let jobs = self.plan.plan.jobs.iter().map(|job| {
            let (shown, known) = (job_record(job), self.known.remove(&job.id));
            let known = known.unwrap_or_else(|| Outlook::of(JobForecast::Follow, None));
            CheckedJob {
                job: shown.job,
                name: shown.name,
                needs: shown.needs,
                would: known.would,
                answered_by: known.answered_by,
                reason: known.reason,
                steps: shown.steps.into_iter().map(|step| step.name).collect(),
            }
        });
        PipelineCheck {
            valid: true,
            problems: Vec::new(),
            jobs: jobs.collect(),
            file: Some(self.record.file),
            event: Some(self.record.event),
            commit: Some(self.record.commit),
            tree: Some(self.record.tree),
            warnings: self.record.warnings,
        }
    }
}
