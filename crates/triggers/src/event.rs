//! What happened to a ref, as an event for workflow files.

use std::sync::Arc;

use crate::pulls::PullHint;
use crate::seen::RefMove;
use branchyard_git::{self as git, Difference, ObjectId, Repository, object_id};
use branchyard_model::{BranchName, CommitId, Problem};
use branchyard_pipelines::PipelineCommit;
use branchyard_workflow::{EventKind, ExprValue, WorkflowEvent};
use branchyard_workspace::repos::Repo;

/// Of a change with more files, filters of paths match whatever they say.
const MOST_PATHS: usize = 3000;
/// The branches that GitHub makes for its merge queue.
const MERGE_QUEUE: &str = "refs/heads/gh-readonly-queue/";
const MAX_MESSAGE: usize = 4000;
/// Words in the message of a commit that keep it from starting anything.
const SKIP: [&str; 5] = [
    "[skip ci]",
    "[ci skip]",
    "[no ci]",
    "[skip actions]",
    "[actions skip]",
];

/// Whether the commit's message asks to start nothing. Blocks.
pub(crate) fn is_skipped(repo: &Repo, at: &PipelineCommit) -> Result<bool, Problem> {
    let store = repo.open_store().map_err(|error| error.problem())?;
    let message = git::message(&store, object_id(&at.commit)?)?;
    let is_trailer = |line: &str| line.trim().eq_ignore_ascii_case("skip-checks: true");
    Ok(SKIP.iter().any(|word| message.contains(word)) || message.lines().any(is_trailer))
}

/// A branch or tag that was pushed. Blocks.
pub(crate) fn of_move(
    repo: &Arc<Repo>,
    at: &PipelineCommit,
    moved: &RefMove,
) -> Result<WorkflowEvent, Problem> {
    let store = repo.open_store().map_err(|error| error.problem())?;
    let after = object_id(&at.commit)?;
    // Its objects may be gone, of a branch that was pushed by force.
    let before = moved.before.as_ref().map(object_id).transpose()?;
    let before = before.filter(|before| git::has_commit(&store, *before));
    if let Some(base) = merge_queue_base(&moved.git_ref) {
        return Ok(WorkflowEvent {
            base_ref: Some(base),
            head_ref: Some(at.branch.to_string()),
            activity: Some("checks_requested".to_owned()),
            ..WorkflowEvent::new(EventKind::MergeGroup, &at.git_ref)
        });
    }
    let forced = match before {
        Some(before) => !git::is_ancestor(&store, before, after)?,
        None => moved.before.is_some(),
    };
    let since = match before {
        Some(before) => Some(before),
        None => parted(repo, &store, after)?,
    };
    let unknown = "0".repeat(40);
    let earlier = moved
        .before
        .as_ref()
        .map_or(unknown.as_str(), CommitId::as_str);
    let payload = ExprValue::object([
        ("ref", text(&at.git_ref)),
        ("before", text(earlier)),
        ("after", text(at.commit.as_str())),
        ("created", ExprValue::Bool(moved.before.is_none())),
        ("deleted", ExprValue::Bool(false)),
        ("forced", ExprValue::Bool(forced)),
        ("head_commit", commit(&store, at)?),
        ("repository", repository(repo)),
    ]);
    Ok(WorkflowEvent {
        changed_paths: changed(&store, since, after)?,
        payload,
        ..WorkflowEvent::new(EventKind::Push, &at.git_ref)
    })
}

/// A pull request that was opened, or has other commits than before. Blocks.
pub(crate) fn of_pull(
    repo: &Arc<Repo>,
    at: &PipelineCommit,
    base: &PipelineCommit,
    (hint, is_new): (&PullHint, bool),
) -> Result<WorkflowEvent, Problem> {
    let store = repo.open_store().map_err(|error| error.problem())?;
    let (head, target) = (object_id(&at.commit)?, object_id(&base.commit)?);
    let parted = git::merge_base(&store, target, head)?;
    let end = |name: &str, commit: &CommitId| {
        ExprValue::object([("ref", text(name)), ("sha", text(commit.as_str()))])
    };
    let number = || ExprValue::text(hint.number.to_string());
    let request = ExprValue::object([
        ("number", number()),
        ("title", text(&hint.title)),
        ("head", end(&hint.head, &at.commit)),
        ("base", end(base.branch.as_str(), &base.commit)),
    ]);
    let payload = ExprValue::object([
        ("number", number()),
        ("pull_request", request),
        ("repository", repository(repo)),
    ]);
    let activity = match is_new {
        true => "opened",
        false => "synchronize",
    };
    Ok(WorkflowEvent {
        base_ref: Some(base.branch.to_string()),
        head_ref: Some(hint.head.clone()),
        activity: Some(activity.to_owned()),
        changed_paths: changed(&store, parted, head)?,
        payload,
        ..WorkflowEvent::new(EventKind::PullRequest, &at.git_ref)
    })
}

/// A slot of a schedule.
pub(crate) fn of_schedule(repo: &Repo, at: &PipelineCommit, cron: &str) -> WorkflowEvent {
    WorkflowEvent {
        cron: Some(cron.to_owned()),
        payload: ExprValue::object([("repository", repository(repo))]),
        ..WorkflowEvent::new(EventKind::Schedule, &at.git_ref)
    }
}

/// The branch that a merge queue's branch is for: `gh-readonly-queue/main/pr-7-…`.
fn merge_queue_base(git_ref: &str) -> Option<String> {
    let rest = git_ref.strip_prefix(MERGE_QUEUE)?;
    let (base, _) = rest.rsplit_once("/pr-")?;
    Some(base.to_owned())
}

/// Where a new branch left the default branch.
fn parted(repo: &Repo, store: &Repository, tip: ObjectId) -> Result<Option<ObjectId>, Problem> {
    let default = repo.default_branch().map(|name| BranchName::parse(&name));
    let Some(default) = default.transpose()? else {
        return Ok(None);
    };
    match git::read_ref(store, &default.remote_ref())? {
        Some(default) if default != tip => Ok(git::merge_base(store, default, tip)?),
        _ => Ok(None),
    }
}

/// The files that differ; none if that is not known, or too many.
fn changed(
    store: &Repository,
    since: Option<ObjectId>,
    until: ObjectId,
) -> Result<Option<Vec<String>>, Problem> {
    let Some(since) = since else {
        return Ok(None);
    };
    let found = Difference::between_commits(store, since, until, MOST_PATHS)?;
    Ok(found.map(|found| {
        let paths = found.changes.into_iter();
        paths
            .map(|change| String::from_utf8_lossy(&change.path).into_owned())
            .collect()
    }))
}

fn commit(store: &Repository, at: &PipelineCommit) -> Result<ExprValue, Problem> {
    let message = git::message(store, object_id(&at.commit)?)?;
    let message: String = message.trim_end().chars().take(MAX_MESSAGE).collect();
    Ok(ExprValue::object([
        ("id", text(at.commit.as_str())),
        ("tree_id", text(at.tree.as_str())),
        ("message", text(&message)),
    ]))
}

fn repository(repo: &Repo) -> ExprValue {
    let default = repo.default_branch().unwrap_or_default();
    ExprValue::object([
        ("name", text(repo.name().as_str())),
        ("full_name", text(repo.name().as_str())),
        ("default_branch", text(&default)),
    ])
}

fn text(text: impl AsRef<str>) -> ExprValue {
    ExprValue::text(text.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_of_the_merge_queue_names_its_base() {
        let base = |name: &str| merge_queue_base(&format!("refs/heads/{name}"));
        assert_eq!(
            base("gh-readonly-queue/release/1/pr-7-0a1b").as_deref(),
            Some("release/1")
        );
        assert_eq!(base("gh-readonly-queue/main"), None);
        assert_eq!(base("main"), None);
    }
}
