//! Pipelines that start by themselves: what happened is given a key, and whatever happens to the daemon or to those who tell
//! of it, no second pipeline has the same.

use std::sync::Arc;

use jiff::Timestamp;

use crate::pipelines::Pipelines;
use crate::planned::options;
use crate::source::PipelineCommit;
use crate::start::{PipelineSubject, Unplanned};
use crate::workflow_files::{WorkflowText, check_workflow, workflow_texts};
use branchyard_auth::Principal;
use branchyard_db::security_db::audit::{AuditOutcome, Call, End, Via};
use branchyard_model::{
    PipelineId, PipelineRecord, PipelineSource, PipelineState, Problem, sha256,
};
use branchyard_runs::step;
use branchyard_runtime::yard_events::{PipelineEvent, YardChange};
use branchyard_workflow::{EventKind, Workflow, WorkflowEvent};
use branchyard_workspace::repos::Repo;

/// Something that workflow files may answer with pipelines.
#[derive(Debug, Clone)]
pub struct Trigger {
    pub at: PipelineCommit,
    pub event: WorkflowEvent,
    /// What sets it apart from everything else that happens in the repo.
    pub key: String,
    /// The only file that is asked; all of the commit's if none.
    pub file: Option<String>,
}

impl Trigger {
    fn digest(&self, repo: &Repo, file: &str) -> String {
        // A slot is one whatever the branch has by the time that it is started.
        let commit = match self.event.kind {
            EventKind::Schedule => "",
            _ => self.at.commit.as_str(),
        };
        let parts = [
            repo.name().as_str(),
            self.event.kind.name(),
            &self.at.git_ref,
            commit,
            &self.key,
            file,
        ];
        sha256(parts.join("\0").as_bytes())
    }
}

/// Starts what the workflow files of the commit have for this. The pipelines of it, with those that it has started
/// before. An error is for want of something that may be there later: it is to be tried again.
pub async fn start_for(
    pipelines: &Pipelines,
    repo: &Arc<Repo>,
    trigger: &Trigger,
    principal: &Principal,
) -> Result<Vec<PipelineId>, Problem> {
    pipelines.check_draining()?;
    let (mut started, mut result) = (Vec::new(), Ok(()));
    for (path, read) in workflow_texts(repo, &trigger.at.commit).await? {
        if trigger.file.as_ref().is_some_and(|only| *only != path) {
            continue;
        }
        let digest = trigger.digest(repo, &path);
        if let Some(known) = started_by(pipelines, &digest) {
            started.push(known);
            continue;
        }
        let one = OneFile {
            trigger,
            repo,
            path,
            digest,
        };
        // One file that cannot be started yet keeps no other from it.
        match start_file(pipelines, one, read, principal).await {
            Ok(pipeline) => started.extend(pipeline),
            Err(problem) => result = result.and(Err(problem)),
        }
    }
    result.map(|()| started)
}

/// The workflows of a commit, as far as they can be read.
pub async fn workflows(repo: &Arc<Repo>, at: &PipelineCommit) -> Result<Vec<Workflow>, Problem> {
    let mut found = Vec::new();
    for (_, read) in workflow_texts(repo, &at.commit).await? {
        if let Ok(file) = read {
            let checked = check_workflow(repo, &at.commit, &file, options(repo)).await?;
            found.extend(checked.ok());
        }
    }
    Ok(found)
}

fn started_by(pipelines: &Pipelines, digest: &str) -> Option<PipelineId> {
    let known = pipelines.inner().known.read();
    let mut known = known.iter().rev();
    known.find_map(|(id, entry)| (entry.trigger.as_deref() == Some(digest)).then_some(*id))
}

async fn start_file(
    pipelines: &Pipelines,
    one: OneFile<'_>,
    read: Result<WorkflowText, Problem>,
    principal: &Principal,
) -> Result<Option<PipelineId>, Problem> {
    let id = PipelineId::new();
    match plan_file(pipelines, id, &one, read, principal).await {
        Ok(true) => Ok(Some(id)),
        Ok(false) => Ok(None),
        Err(Unplanned::Refused(problem)) if problem.may_pass() => Err(problem),
        // It was read when the schedule was, so what is wrong was there before; a rejected pipeline a minute would bury others.
        Err(unplanned) if one.trigger.event.kind == EventKind::Schedule => {
            let problem = Problem::from(unplanned);
            tracing::warn!(repo = %one.repo.name(), file = one.path, %problem, "a schedule starts nothing");
            Ok(None)
        }
        Err(unplanned) => reject(pipelines, id, &one, unplanned.into(), principal).map(Some),
    }
}

/// Starts the pipeline of one file, if it has anything to do.
async fn plan_file(
    pipelines: &Pipelines,
    id: PipelineId,
    one: &OneFile<'_>,
    read: Result<WorkflowText, Problem>,
    principal: &Principal,
) -> Result<bool, Unplanned> {
    let (repo, at) = (one.repo, &one.trigger.at);
    let file = read?;
    let checked = check_workflow(repo, &at.commit, &file, options(repo)).await?;
    let workflow = checked.map_err(Unplanned::Invalid)?;
    let subject = PipelineSubject {
        id,
        repo: repo.clone(),
        source: PipelineSource::Commit,
        at: at.clone(),
        file,
    };
    let event = one.trigger.event.clone();
    let planned = pipelines.plan_event(subject, &workflow, event, principal);
    let Some(mut planned) = planned.await? else {
        return Ok(false);
    };
    step::check_steps(&pipelines.inner().runs, repo)?;
    planned.trigger = Some(one.digest.clone());
    pipelines.begin(planned, principal, None)?;
    let end = End::new(AuditOutcome::Allowed);
    record_start(pipelines, id, one, principal, end);
    Ok(true)
}

/// Records that something was started, as it is of callers.
fn record_start(
    pipelines: &Pipelines,
    id: PipelineId,
    one: &OneFile<'_>,
    principal: &Principal,
    end: End,
) {
    let mut call = Call::new(Via::Daemon, "pipeline.start");
    call.principal = Some(principal.name().to_owned());
    call.repo = Some(one.repo.name().clone());
    call.branch = Some(one.trigger.at.branch.clone());
    call.run = Some(id.to_string());
    pipelines.inner().audit.record(call, end);
}

/// Records that a file could not be run. There is no caller who could be told otherwise.
fn reject(
    pipelines: &Pipelines,
    id: PipelineId,
    one: &OneFile<'_>,
    why: Problem,
    principal: &Principal,
) -> Result<PipelineId, Problem> {
    pipelines.inner().margin.check()?;
    let code = why.code.clone();
    let record = rejected(id, one, why, principal);
    let noted = pipelines.inner().outbox.note(&record);
    noted.map_err(|error| pipelines.not_recorded(&error))?;
    let opened = pipelines.open_journal(&record, None);
    let (mut journal, _) = opened.map_err(|error| pipelines.not_recorded(&error))?;
    journal.close();
    let end = End::new(AuditOutcome::Failed).code(code);
    record_start(pipelines, id, one, principal, end);
    pipelines.note(&record);
    pipelines.inner().outbox.release(id);
    let event = Box::new(PipelineEvent::of(&record));
    one.repo.news().publish(YardChange::Pipeline(event));
    Ok(id)
}

/// One workflow file, asked for something that happened.
struct OneFile<'a> {
    trigger: &'a Trigger,
    repo: &'a Arc<Repo>,
    path: String,
    digest: String,
}

fn rejected(
    id: PipelineId,
    one: &OneFile<'_>,
    why: Problem,
    principal: &Principal,
) -> PipelineRecord {
    let (at, now) = (&one.trigger.at, Timestamp::now());
    PipelineRecord {
        pipeline_id: id,
        repo: one.repo.name().clone(),
        branch: at.branch.clone(),
        git_ref: Some(at.git_ref.clone()),
        trigger: Some(one.digest.clone()),
        commit: at.commit.clone(),
        tree: at.tree.clone(),
        source: PipelineSource::Commit,
        file: one.path.clone(),
        event: one.trigger.event.kind.name().to_owned(),
        name: one.path.clone(),
        run_name: None,
        principal: principal.name().to_owned(),
        state: PipelineState::Rejected,
        attempt: 1,
        jobs: Vec::new(),
        reason: Some("its file cannot be run".to_owned()),
        error: Some(why.outward()),
        warnings: Vec::new(),
        created_at: now,
        retried_at: None,
        ended_at: Some(now),
        duration_ms: Some(0),
        bisect: None,
        idempotency: None,
    }
}
