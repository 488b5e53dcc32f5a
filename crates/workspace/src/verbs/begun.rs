//! Who began the merge or rebase that is under way in a workspace, and when: git does not keep it.

use std::time::Duration;

use jiff::Timestamp;

use crate::record::BegunOperation;
use crate::{Error, Workspace};
use branchyard_git::Repository;
use branchyard_git::verbs::integration::Origin;
use branchyard_git::verbs::operation::Operation;
use branchyard_git::verbs::status::Status;

/// What is under way, told from any other of its kind. Blocks.
pub(super) fn under_way(repo: &Repository) -> Result<Option<String>, Error> {
    let Some(operation) = Operation::under_way(repo)? else {
        return Ok(None);
    };
    let origin = Origin::of(repo, operation)?;
    Ok(Some(format!("{} {origin}", operation.name())))
}

/// Notes that `by` began what is under way now, and was not `before`. That it cannot be noted changes nothing of what was
/// done. Blocks.
pub(super) fn note(workspace: &Workspace, before: Option<&str>, by: &str) {
    if let Err(error) = try_note(workspace, before, by) {
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "who began what is under way is not written down");
    }
}

fn try_note(workspace: &Workspace, before: Option<&str>, by: &str) -> Result<(), Error> {
    let now = under_way(&workspace.worktree().open()?)?;
    let begun = match now {
        Some(now) if Some(now.as_str()) == before => return Ok(()),
        Some(now) => Some(BegunOperation {
            what: now,
            by: by.to_owned(),
            at: Timestamp::now(),
        }),
        None if before.is_none() => return Ok(()),
        None => None,
    };
    workspace.change_record(|record| record.operation = begun)
}

/// A refusal because of what is under way says whose that is. Blocks.
pub(super) fn named(workspace: &Workspace, error: Error) -> Error {
    let mut problem = error.problem();
    if !["operation_under_way", "unresolved"].contains(&problem.code.as_str()) {
        return error;
    }
    let repo = workspace.worktree().open();
    let Some(begun) = repo.ok().and_then(|repo| known(workspace, &repo)) else {
        return error;
    };
    problem.detail = format!(
        "{}; it was begun by {} {} ago",
        problem.detail,
        begun.by,
        age(&begun)
    );
    problem.into()
}

/// The same for a look at the workspace. Blocks.
pub(super) fn tell(workspace: &Workspace, repo: &Repository, status: &mut Status) {
    if let Some(operation) = &mut status.operation
        && let Some(begun) = known(workspace, repo)
    {
        operation.age = Some(age(&begun));
        operation.by = Some(begun.by);
    }
}

/// A command of a run may have begun another since.
fn known(workspace: &Workspace, repo: &Repository) -> Option<BegunOperation> {
    let begun = workspace.record()?.operation?;
    let now = under_way(repo).ok()??;
    (now == begun.what).then_some(begun)
}

fn age(begun: &BegunOperation) -> String {
    let seconds = begun.at.duration_until(Timestamp::now()).as_secs();
    let age = Duration::from_secs(seconds.try_into().unwrap_or(0));
    humantime::format_duration(age).to_string()
}
