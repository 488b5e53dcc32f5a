//! Answering a job by an earlier one that saw the same: its outputs and artifacts are there, and nothing is run. What a job
//! sees is a digest of the files, its plan and all that its steps find; see docs/JOBS.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use crate::disk::Attempt;
use crate::job_secrets::JobSecrets;
use crate::pipelines::Pipelines;
use crate::reuse_places::ReuseTrust;
use crate::source::with_store;
use branchyard_artifacts::SetOwner;
use branchyard_config::FileGlobs;
use branchyard_git::{CommitTree, object_id};
use branchyard_model::{AnsweredBy, JobRecord, PipelineId, PipelineRecord, Problem, sha256};
use branchyard_runs::step;
use branchyard_workflow::{BuiltIn, ExprValue, PlannedJob, StepAction, WorkflowPlan};
use branchyard_workspace::repos::Repo;

/// Changed whenever the meaning of a key is.
const VERSION: u32 = 1;
/// Properties of `github` that differ where nothing that is built does. They count for jobs that mention them, or the
/// variables of steps that have them too.
const MENTIONED: [(&str, &[&str]); 12] = [
    ("sha", &["GITHUB_SHA"]),
    ("ref", &["GITHUB_REF"]),
    ("head_ref", &["GITHUB_HEAD_REF", "head_ref"]),
    ("base_ref", &["GITHUB_BASE_REF", "base_ref"]),
    ("actor", &["ACTOR", "actor"]),
    ("event_name", &["GITHUB_EVENT_NAME", "event_name"]),
    ("run_id", &["GITHUB_RUN_ID", "run_id"]),
    ("run_number", &["GITHUB_RUN_NUMBER", "run_number"]),
    ("event", &["GITHUB_EVENT_PATH", "event_path"]),
    ("workflow_ref", &["GITHUB_WORKFLOW_REF", "workflow_ref"]),
    ("ref_protected", &["GITHUB_REF_PROTECTED", "ref_protected"]),
    (
        "retention_days",
        &["GITHUB_RETENTION_DAYS", "retention_days"],
    ),
];

/// All that decides what a job makes. It may hold values of variables and secrets, hence no `Debug`.
#[derive(Serialize)]
struct JobFacts<'a> {
    version: u32,
    job: &'a PlannedJob,
    env: String,
    inputs: Option<&'a ExprValue>,
    vars: Option<&'a ExprValue>,
    github: Vec<(&'a str, Option<&'a ExprValue>)>,
    secrets: &'a BTreeMap<String, String>,
    needs: &'a ExprValue,
    /// The name and digest of each artifact of the jobs that it needs by any way.
    artifacts: &'a [(String, String)],
    files: String,
    /// What decides which submodules are filled.
    submodules: String,
}

/// Whose answer is asked for.
pub(crate) struct ReuseQuestion<'a> {
    pub(crate) record: &'a PipelineRecord,
    pub(crate) plan: &'a WorkflowPlan,
    pub(crate) job: &'a PlannedJob,
    pub(crate) secrets: &'a JobSecrets,
    pub(crate) needs: &'a ExprValue,
    /// The name and digest of each artifact of the jobs that it needs by any way.
    pub(crate) artifacts: Vec<(String, String)>,
}

/// Whether the job may be answered at all, and may answer.
fn is_open_to_reuse(plan: &WorkflowPlan, job: &PlannedJob) -> bool {
    let is_off = job.extras.reuse.as_deref() == Some("off");
    let takes_artifacts = uses(job, &BuiltIn::DownloadArtifact);
    // What it would take of a job that it does not need is a matter of time.
    let needed = all_needed(plan, job);
    let mut others = plan
        .jobs
        .iter()
        .filter(|other| other.job != job.job && !needed.contains(other.job.as_str()));
    let is_racing = takes_artifacts && others.any(|other| uses(other, &BuiltIn::UploadArtifact));
    !is_off && !job.extras.warm && !is_racing
}

fn uses(job: &PlannedJob, wanted: &BuiltIn) -> bool {
    let mut steps = job.steps.iter();
    steps.any(|step| matches!(&step.action, StepAction::Uses { action, .. } if action == wanted))
}

/// The jobs that this one needs by any way, as the file calls them.
pub(crate) fn all_needed<'p>(plan: &'p WorkflowPlan, job: &'p PlannedJob) -> BTreeSet<&'p str> {
    let mut needed = BTreeSet::new();
    let mut left: Vec<&str> = job.needs.iter().map(String::as_str).collect();
    while let Some(key) = left.pop() {
        if needed.insert(key) {
            let rows = plan.jobs.iter().filter(|row| row.job == key);
            left.extend(rows.flat_map(|row| row.needs.iter().map(String::as_str)));
        }
    }
    needed
}

/// The digest of all that the job sees; none of a job that is not open to reuse.
pub(crate) async fn key(
    pipelines: &Pipelines,
    repo: &Arc<Repo>,
    question: &ReuseQuestion<'_>,
) -> Result<Option<String>, Problem> {
    if !is_open_to_reuse(question.plan, question.job) {
        return Ok(None);
    }
    let (plan, job) = (question.plan, question.job);
    // Plain data with string keys always serialises.
    let text = serde_json::to_string(job).unwrap_or_default();
    let env = serde_json::to_string(&plan.env).unwrap_or_default();
    let property = |name: &str| match plan.contexts.get("github") {
        Some(ExprValue::Object(github)) => github.get(name),
        _ => None,
    };
    let is_mentioned = |name: &str, words: &[&str]| {
        let by_commit = job.mentions_commit && matches!(name, "sha" | "ref" | "event");
        by_commit
            || words
                .iter()
                .any(|word| text.contains(word) || env.contains(word))
    };
    let mentioned = MENTIONED
        .iter()
        .filter(|(name, words)| is_mentioned(name, words));
    let github = mentioned.map(|(name, _)| (*name, property(name))).collect();
    // No other attempt sees the same.
    if text.contains("run_attempt") || text.contains("GITHUB_RUN_ATTEMPT") {
        return Ok(None);
    }
    let facts = JobFacts {
        version: VERSION,
        job,
        env,
        inputs: plan.contexts.get("inputs"),
        vars: plan.contexts.get("vars"),
        github,
        secrets: question.secrets.all(),
        needs: question.needs,
        artifacts: &question.artifacts,
        files: files(repo, question).await?,
        submodules: repo.submodules().decided_by(),
    };
    let digest = step::reuse_digest(&pipelines.inner().runs, repo, &facts).await?;
    Ok(Some(digest))
}

/// The digest of all that a job with a set-up sees: of what it sees besides, of the set-up, and of which outputs it found.
/// None if these outputs are not kept, for no other job finds them.
pub(crate) fn with_setup(sees: Option<&str>, setup: Option<(&str, &str)>) -> Option<String> {
    let (sees, (key, outputs)) = (sees?, setup?);
    Some(sha256(format!("{sees} {key} {outputs}").as_bytes()))
}

/// The artifacts of the jobs that this one needs by any way, as the pipeline has them.
pub(crate) fn artifacts_of(
    pipelines: &Pipelines,
    id: PipelineId,
    (plan, job): (&WorkflowPlan, &PlannedJob),
) -> Vec<(String, String)> {
    let needs = all_needed(plan, job);
    let mut needed = plan.jobs.iter();
    let needed = needed.by_ref().filter(|it| needs.contains(it.job.as_str()));
    let needed: Vec<_> = needed.map(|it| it.id.as_str()).collect();
    artifacts_by(pipelines, id, &needed)
}

/// The artifacts that these jobs of a pipeline made, sorted.
pub(crate) fn artifacts_by(
    pipelines: &Pipelines,
    id: PipelineId,
    jobs: &[&str],
) -> Vec<(String, String)> {
    let sets = pipelines.inner().artifacts.sets(&SetOwner::Pipeline(id));
    let sets = sets.unwrap_or_default().into_iter();
    let sets = sets.filter(|set| set.job.as_deref().is_some_and(|job| jobs.contains(&job)));
    let mut found: Vec<_> = sets.map(|set| (set.name, set.digest)).collect();
    found.sort();
    found
}

/// The tree; or of a job that says which files can change its result, those.
async fn files(repo: &Arc<Repo>, question: &ReuseQuestion<'_>) -> Result<String, Problem> {
    let Some(inputs) = &question.job.extras.inputs else {
        return Ok(question.record.tree.to_string());
    };
    if question.job.extras.reuse.as_deref() == Some("tree") {
        return Ok(question.record.tree.to_string());
    }
    let globs = FileGlobs::parse(inputs.iter().map(String::as_str));
    let globs = globs.map_err(|rule| Problem::unprocessable("inputs", rule))?;
    let (commit, file) = (question.record.commit.clone(), question.plan.file.clone());
    let actions = action_directories(question.job);
    with_store(repo, move |store| {
        let tree = CommitTree::of(store, object_id(&commit)?)?;
        // The file that says so is always among them, and what the scripts of its actions may be made of.
        let is_own = |path: &Path| {
            path == Path::new(&file) || actions.iter().any(|dir| path.starts_with(dir))
        };
        let entries = tree.entries(|path| globs.matches(path) || is_own(path))?;
        // The files in a submodule have no paths here that a glob could match.
        let submodules = tree.submodules()?;
        Ok(entries
            .iter()
            .chain(&submodules)
            .map(|(path, mode, id)| format!("{mode:o} {id} {path:?}\n"))
            .collect())
    })
    .await
}

fn action_directories(job: &PlannedJob) -> Vec<String> {
    let steps = job.steps.iter().filter_map(|step| match &step.action {
        StepAction::Composite { directory, .. } => Some(directory.clone()),
        _ => None,
    });
    steps.collect()
}

/// Takes over what the newest job with this key has made, if there is one that may answer. Blocks.
pub(crate) fn answer(
    pipelines: &Pipelines,
    question: &ReuseQuestion<'_>,
    key: &str,
    trust: ReuseTrust,
) -> Option<(AnsweredBy, JobRecord, Attempt)> {
    let mut candidates = candidates(pipelines, question, key, trust).into_iter();
    candidates.find_map(|place| take_over(pipelines, place, question.record.pipeline_id))
}

/// As [`answer`], and takes nothing over. Blocks.
pub(crate) fn would_answer(
    pipelines: &Pipelines,
    question: &ReuseQuestion<'_>,
    key: &str,
    trust: ReuseTrust,
) -> Option<(AnsweredBy, Attempt)> {
    let mut candidates = candidates(pipelines, question, key, trust).into_iter();
    candidates.find_map(|(from, job)| {
        let (answered, _, earlier) = earlier(pipelines, from, job)?;
        let made = artifacts_by(pipelines, from, &[&answered.job]);
        let is_there = |name: &String| made.iter().any(|(known, _)| known == name);
        earlier
            .artifacts
            .iter()
            .all(is_there)
            .then_some((answered, earlier))
    })
}

fn candidates(
    pipelines: &Pipelines,
    question: &ReuseQuestion<'_>,
    key: &str,
    trust: ReuseTrust,
) -> Vec<(PipelineId, String)> {
    let of = (question.record, question.job.id.as_str());
    pipelines.inner().reusable.candidates(key, of, trust)
}

/// What a job of an earlier pipeline has made, as far as that is on disk.
fn earlier(
    pipelines: &Pipelines,
    from: PipelineId,
    job: String,
) -> Option<(AnsweredBy, JobRecord, Attempt)> {
    let record = pipelines.record(from).ok()?;
    let found = record.jobs.iter().find(|other| other.job == job)?.clone();
    let disk = &pipelines.inner().disk;
    let attempt = disk.attempt(from, &job, found.attempt).ok()??;
    let answered = AnsweredBy {
        pipeline: from,
        job,
        commit: record.commit.clone(),
    };
    Some((answered, found, attempt))
}

/// None if anything of what it made is gone.
fn take_over(
    pipelines: &Pipelines,
    (from, job): (PipelineId, String),
    to: PipelineId,
) -> Option<(AnsweredBy, JobRecord, Attempt)> {
    let inner = pipelines.inner();
    let (answered, found, earlier) = earlier(pipelines, from, job)?;
    let (owner, to) = (SetOwner::Pipeline(from), SetOwner::Pipeline(to));
    for name in &earlier.artifacts {
        let linked = inner
            .artifacts
            .link(&owner, name, &to, Timestamp::now(), None);
        linked
            .inspect_err(
                |error| tracing::info!(pipeline = %from, %error, "a job does not answer any more"),
            )
            .ok()?;
    }
    let attempt = Attempt {
        steps: earlier.steps,
        outputs: earlier.outputs,
        artifacts: earlier.artifacts,
        warnings: earlier.warnings,
        ..Attempt::default()
    };
    Some((answered, found, attempt))
}
