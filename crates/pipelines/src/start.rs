//! Starting a pipeline: the commit and its file are found, checked and planned; every refusal comes from here, before
//! anything was written.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use crate::bisect;
use crate::context;
use crate::disk::FrozenPlan;
use crate::drive;
use crate::live::{LiveParts, LivePipeline};
use crate::own_keys;
use crate::pipelines::Pipelines;
use crate::planned::{invalid, jobs_of, options};
use crate::request::PipelineRequest;
use crate::set_up;
use crate::source::{self, PipelineCommit};
use crate::workflow_files::{WorkflowText, check_workflow, workflow_text};
use branchyard_auth::Principal;
use branchyard_config::crash_point;
use branchyard_journal::Writer;
use branchyard_model::{
    BranchName, ErrorKind, Event, Idempotency, OnDisconnect, PipelineId, PipelineRecord,
    PipelineSource, PipelineState, Problem, RepoName, Scope, Warning,
};
use branchyard_runs::idempotency::{self, NewKey, PipelineKey};
use branchyard_runs::{Viewers, step};
use branchyard_workflow::{EventKind, PlanFacts, Workflow, WorkflowEvent, WorkflowFault};
use branchyard_workspace::repos::Repo;

/// In seconds.
const DAY: u64 = 24 * 60 * 60;

impl Pipelines {
    /// Starts a pipeline. The same `key` sent again finds the same one.
    pub async fn start(
        &self,
        repo: &RepoName,
        request: PipelineRequest,
        principal: &Principal,
        key: Option<&str>,
    ) -> Result<PipelineId, Problem> {
        let new_key = match self.claim(principal, key, &(repo, &request)).await? {
            Some(PipelineKey::Known(id)) => return Ok(id),
            Some(PipelineKey::New(key)) => Some(key),
            None => None,
        };
        principal.require(Scope::BuildRun)?;
        self.check_draining()?;
        let planned = self.plan(repo, &request, principal).await?;
        self.begin(planned, principal, new_key)
    }

    /// Looks for the pipeline that was started by a key, if one is given.
    pub(crate) async fn claim(
        &self,
        principal: &Principal,
        key: Option<&str>,
        asked: &(impl Serialize + Sync),
    ) -> Result<Option<PipelineKey>, Problem> {
        let Some(key) = key else {
            return Ok(None);
        };
        let runs = &self.inner().runs;
        let claimed = idempotency::claim_for_pipeline(runs, principal.name(), key, asked);
        claimed.await.map(Some)
    }

    /// Refuses what would start when the daemon shuts down.
    pub(crate) fn check_draining(&self) -> Result<(), Problem> {
        if self.inner().runs.is_draining() {
            let detail = "the daemon is shutting down";
            return Err(Problem::new(ErrorKind::Unavailable, "draining", detail));
        }
        Ok(())
    }

    /// What a request would start.
    pub(crate) async fn plan(
        &self,
        repo: &RepoName,
        request: &PipelineRequest,
        principal: &Principal,
    ) -> Result<PlannedPipeline, Unplanned> {
        let of_workspace = request.source == PipelineSource::Workspace;
        if of_workspace && request.commit.is_some() {
            let detail = "what is in a workspace is no commit yet";
            return Err(Problem::unprocessable("commit", detail)
                .help("leave out `commit`, or have `source` be commit")
                .into());
        }
        let repo = self.inner().repos.get(repo)?;
        step::check_steps(&self.inner().runs, &repo)?;
        let branch = source::branch(&repo, request.branch.as_ref()).await?;
        principal.check(repo.name(), &branch)?;
        let id = PipelineId::new();
        let at = match of_workspace {
            true => source::snapshot(self, &repo, &branch, id).await?,
            false => source::commit(&repo, &branch, request.commit.as_ref()).await?,
        };
        let file = workflow_text(&repo, &at.commit, request.file.as_deref()).await?;
        let checked = check_workflow(&repo, &at.commit, &file, options(&repo)).await?;
        let workflow = checked.map_err(Unplanned::Invalid)?;
        let event = event(&workflow, request, &at)?;
        let (path, kind) = (file.path.clone(), event.kind);
        let subject = PipelineSubject {
            id,
            repo,
            source: request.source,
            at,
            file,
        };
        let planned = self
            .plan_event(subject, &workflow, event, principal)
            .await?;
        planned.ok_or_else(|| nothing_to_do(&path, kind).into())
    }

    /// What a workflow does on an event; nothing where it has nothing to do with it.
    pub(crate) async fn plan_event(
        &self,
        subject: PipelineSubject,
        workflow: &Workflow,
        event: WorkflowEvent,
        principal: &Principal,
    ) -> Result<Option<PlannedPipeline>, Unplanned> {
        let PipelineSubject {
            id,
            repo,
            source,
            at,
            file,
        } = subject;
        let (is_on_remote, is_remote_tip) = (at.is_on_remote, at.is_remote_tip);
        let facts = PlanFacts {
            repository: repo.name().to_string(),
            sha: at.commit.to_string(),
            actor: principal.name().to_owned(),
            run_id: id.to_string(),
            run_number: self.number(repo.name(), &file.path),
            vars: vars(&repo),
            is_ref_protected: is_protected(&repo, &at),
            retention_days: self.inner().config.artifacts.keep.as_secs() / DAY,
        };
        let plan = workflow.plan(&event, &facts);
        let Some(mut plan) = plan.map_err(Unplanned::Invalid)? else {
            return Ok(None);
        };
        own_keys::apply(repo.config(), &file.path, &mut plan.jobs);
        let setup = set_up::declared(&repo, &at.commit).await?;
        set_up::put_first(setup.as_ref(), &mut plan.jobs);
        let warnings = workflow.warnings().iter();
        let warnings = warnings.map(|fault| Warning::new(fault.code.name(), fault.to_string()));
        Ok(Some(PlannedPipeline {
            id,
            source,
            trigger: None,
            warnings: warnings.collect(),
            frozen: FrozenPlan {
                text: file.text,
                actions: workflow.action_texts(),
                event,
                plan,
                account: principal.account().to_owned(),
                is_remote_tip,
                is_protected: is_on_remote && is_protected(&repo, &at),
                sees_all: principal.require_all_branches().is_ok(),
                setup,
                bisect: None,
            },
            at,
            repo,
        }))
    }

    /// How many pipelines of this file there were, and one.
    fn number(&self, repo: &RepoName, file: &str) -> u64 {
        let known = self.inner().known.read();
        let same = known
            .values()
            .filter(|entry| entry.repo == *repo && entry.file == file);
        same.count() as u64 + 1
    }

    /// From here on there is a pipeline, whatever becomes of the daemon.
    pub(crate) fn begin(
        &self,
        planned: PlannedPipeline,
        principal: &Principal,
        key: Option<NewKey>,
    ) -> Result<PipelineId, Problem> {
        self.inner().margin.check()?;
        let idempotency = key.as_ref().map(|key| key.idempotency().clone());
        let record = record(&planned, principal, idempotency);
        let (id, news) = (record.pipeline_id, planned.repo.news().clone());
        let opened = self.open_journal(&record, Some(&planned.frozen));
        let journal = opened.map_err(|error| self.not_recorded(&error))?;
        crash_point("pipeline-recorded");
        if let Err(error) = self.inner().outbox.note(&record) {
            // With its next state it is tried again.
            tracing::error!(pipeline = %id, %error, "others are not told of a pipeline yet");
        }
        if let Some(key) = key {
            key.settle(id);
        }
        self.note(&record);
        let parts = LiveParts {
            disk: self.inner().disk.clone(),
            margin: self.inner().margin.clone(),
            outbox: self.inner().outbox.clone(),
            news,
            viewers: self.viewers(),
            plan: planned.frozen,
            journal,
            leaving: self.inner().leaving.clone(),
        };
        let live = Arc::new(LivePipeline::new(record, parts));
        self.go_on(live, BTreeMap::new());
        Ok(id)
    }

    /// Puts a new pipeline on disk: with its plan, or without one where it has ended already.
    pub(crate) fn open_journal(
        &self,
        record: &PipelineRecord,
        frozen: Option<&FrozenPlan>,
    ) -> io::Result<(
        Writer,
        tokio::sync::watch::Receiver<branchyard_journal::Extent>,
    )> {
        let (disk, id) = (&self.inner().disk, record.pipeline_id);
        disk.create(id)?;
        let write = || {
            let (mut journal, extent) = Writer::create(&disk.journal(id))?;
            journal.event(&Event::Pipeline(Box::new(record.clone().shown())))?;
            if let Some(frozen) = frozen {
                disk.save_plan(id, frozen)?;
            }
            crash_point("pipeline-planned");
            disk.save(record)?;
            Ok((journal, extent))
        };
        write().inspect_err(|_: &io::Error| {
            if let Err(error) = disk.remove(id) {
                tracing::warn!(pipeline = %id, %error, "a pipeline that never was leaves its directory");
            }
        })
    }

    pub(crate) fn not_recorded(&self, error: &io::Error) -> Problem {
        let detail = "the pipeline could not be recorded";
        let problem = Problem::unwritten("pipeline_not_recorded", detail, error);
        self.inner().margin.judge(problem)
    }

    pub(crate) fn viewers(&self) -> Viewers {
        let grace = self.inner().config.timeouts.disconnect;
        Viewers::new(OnDisconnect::Continue, grace, self.inner().tasks.clone())
    }

    /// Has a task take the pipeline to its end.
    pub(crate) fn go_on(&self, live: Arc<LivePipeline>, held: drive::HeldJobs) {
        self.inner().live.insert(live.id(), live.clone());
        live.publish();
        let entered = drive::enter_group(self, &live);
        let pipelines = self.clone();
        self.inner().tasks.spawn(async move {
            let id = live.id();
            drive::until_ended(&pipelines, &live, entered, held).await;
            live.viewers().close();
            pipelines.inner().live.remove(&id);
        });
    }
}

/// Why a request starts nothing.
#[derive(Debug)]
pub(crate) enum Unplanned {
    /// All that is wrong with its file.
    Invalid(Vec<WorkflowFault>),
    Refused(Problem),
}

impl From<Problem> for Unplanned {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl From<Unplanned> for Problem {
    fn from(unplanned: Unplanned) -> Self {
        match unplanned {
            Unplanned::Invalid(faults) => invalid(&faults),
            Unplanned::Refused(problem) => problem,
        }
    }
}

/// What a pipeline is to be of: a file at a commit.
#[derive(Debug)]
pub(crate) struct PipelineSubject {
    pub(crate) id: PipelineId,
    pub(crate) repo: Arc<Repo>,
    pub(crate) source: PipelineSource,
    pub(crate) at: PipelineCommit,
    pub(crate) file: WorkflowText,
}

/// A pipeline that is about to begin.
#[derive(Debug)]
pub(crate) struct PlannedPipeline {
    pub(crate) id: PipelineId,
    pub(crate) repo: Arc<Repo>,
    pub(crate) source: PipelineSource,
    /// What started it by itself, as a digest.
    pub(crate) trigger: Option<String>,
    pub(crate) at: PipelineCommit,
    pub(crate) frozen: FrozenPlan,
    pub(crate) warnings: Vec<Warning>,
}

/// Whether what is built is a protected branch: a tag or pull request is none, whatever its name.
fn is_protected(repo: &Repo, at: &PipelineCommit) -> bool {
    at.git_ref == at.branch.local_ref() && repo.protects(&at.branch)
}

/// The context `vars`: what the operator sets for every run of the repo, but for what may be secret.
fn vars(repo: &Repo) -> BTreeMap<String, String> {
    let env = repo.config().env.iter();
    let shown = env.filter(|(name, _)| !branchyard_config::is_secret_name(name.as_str()));
    shown
        .map(|(name, value)| (name.as_str().to_owned(), value.expose().to_owned()))
        .collect()
}

fn event(
    workflow: &Workflow,
    request: &PipelineRequest,
    at: &PipelineCommit,
) -> Result<WorkflowEvent, Problem> {
    let mut declared = workflow.events();
    let has_dispatch = || {
        workflow
            .events()
            .any(|kind| kind == EventKind::WorkflowDispatch)
    };
    let kind = match request.event()? {
        Some(kind) => kind,
        None if has_dispatch() || !request.inputs.is_empty() => EventKind::WorkflowDispatch,
        None => declared.next().unwrap_or(EventKind::WorkflowDispatch),
    };
    if kind != EventKind::WorkflowDispatch && !request.inputs.is_empty() {
        let detail = format!(
            "inputs are given to workflow_dispatch, and this is {}",
            kind.name()
        );
        return Err(Problem::unprocessable("inputs", detail));
    }
    let inputs = request.inputs.iter();
    let inputs = inputs.map(|(name, value)| (name.clone(), value.0.clone()));
    Ok(WorkflowEvent {
        inputs: inputs.collect(),
        is_asked: true,
        ..WorkflowEvent::new(kind, &at.git_ref)
    })
}

fn nothing_to_do(file: &str, event: EventKind) -> Problem {
    let detail = format!("{file} does nothing on {}", event.name());
    Problem::unprocessable("event", detail).help("name an event that is in `on` of the file")
}

pub(crate) fn record(
    planned: &PlannedPipeline,
    principal: &Principal,
    idempotency: Option<Idempotency>,
) -> PipelineRecord {
    let plan = &planned.frozen.plan;
    PipelineRecord {
        pipeline_id: planned.id,
        repo: planned.repo.name().clone(),
        branch: BranchName::clone(&planned.at.branch),
        git_ref: Some(planned.at.git_ref.clone()),
        trigger: planned.trigger.clone(),
        commit: planned.at.commit.clone(),
        tree: planned.at.tree.clone(),
        source: planned.source,
        file: plan.file.clone(),
        event: match planned.frozen.bisect {
            Some(_) => bisect::NAME.to_owned(),
            None => plan.event.name().to_owned(),
        },
        name: context::shown(&plan.name),
        run_name: plan.run_name.as_deref().map(context::shown),
        principal: principal.name().to_owned(),
        state: PipelineState::Queued,
        attempt: 1,
        jobs: jobs_of(&planned.frozen, &[]),
        reason: None,
        error: None,
        warnings: planned.warnings.clone(),
        created_at: Timestamp::now(),
        retried_at: None,
        ended_at: None,
        duration_ms: None,
        bisect: planned.frozen.bisect.as_ref().map(|it| it.record()),
        idempotency,
    }
}
