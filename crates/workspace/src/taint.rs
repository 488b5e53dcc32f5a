//! Whether a workspace holds nothing but what the remote has and what declared commands made of it. A secret is
//! given to a command only there.
//!
//! A tree without any untracked file that is exactly its commit is untainted, whatever happened before. Where
//! there are untracked files, two things must hold: they were made of commits of the branch alone, as the record
//! says ([`BuiltFrom`]), and the notes on runs explain each of them.

use std::path::Path;
use std::sync::Arc;

use super::build_output::BuildOutputNotes;
use super::record::BuiltFrom;
use super::record::Record;
use super::{Error, Workspace};
use crate::{built_from, settle, submodules, warm};
use branchyard_git::{self as git, UntrackedEntry, UntrackedKind};
use branchyard_model::CommitId;

/// Why what lies here is more, or something else, than the commit `head` and what declared commands made of it;
/// `None` where it is not. Which of the two is on record then. The caller holds the workspace's lock and its files.
pub async fn taint(workspace: &Arc<Workspace>, head: CommitId) -> Result<Option<String>, Error> {
    workspace
        .blocking(move |this| {
            let taint = look_for_taint(this, &head)?;
            if taint.is_some() {
                built_from::note_files_changed(this)?;
            }
            Ok(taint)
        })
        .await
}

fn look_for_taint(workspace: &Workspace, expected: &CommitId) -> Result<Option<String>, Error> {
    let repo = workspace.worktree().open()?;
    let head = git::head(&repo)?;
    if head.commit.to_string() != expected.as_str() {
        return Ok(Some(format!(
            "it is at {}, and the remote has {expected}",
            head.commit
        )));
    }
    if let Some(operation) = head.operation {
        return Ok(Some(format!("a {operation} is under way")));
    }
    if !settle::is_settled(workspace, expected) {
        return Ok(Some("submodules are not as the commit has them".to_owned()));
    }
    let looked = submodules::scan(workspace, &repo)?;
    if looked.changed {
        return Ok(Some(
            "tracked files or the index differ from the commit".to_owned(),
        ));
    }
    let admin = workspace.worktree().admin();
    let Some(first) = looked.untracked.first() else {
        warm::forget_output(workspace)?;
        return Ok(None);
    };
    let record = Record::load(admin);
    let built_from: BuiltFrom = record.map(|record| record.built_from).unwrap_or_default();
    if !built_from.is_in(&repo, head.commit)? {
        return Ok(Some(format!(
            "untracked files may come from something other than a declared command on a commit of the branch: {}",
            first.path.display()
        )));
    }
    let made = BuildOutputNotes::load(admin);
    for item in &looked.untracked {
        if let Some(path) = unexplained(&made, workspace.path(), item)? {
            return Ok(Some(format!("no run made {path}, or it changed since")));
        }
    }
    Ok(None)
}

/// The first path at or in `item` that no run made, or that changed since. The globs of `build_output` are not
/// asked: a file that has such a name may come from anywhere.
fn unexplained(
    made: &BuildOutputNotes,
    workdir: &Path,
    item: &UntrackedEntry,
) -> Result<Option<String>, Error> {
    if !made.explains_unchanged(&item.path, &item.meta) {
        return Ok(Some(item.path.display().to_string()));
    }
    if item.kind == UntrackedKind::File {
        return Ok(None);
    }
    for inside in git::untracked_in(workdir, &item.path)? {
        if let Some(path) = unexplained(made, workdir, &inside)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
