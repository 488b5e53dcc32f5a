//! What is noted before something is built in a workspace, or changed there on a caller's behalf.

use crate::record::BuiltFrom;
use crate::{Error, Workspace};
use branchyard_model::CommitId;

/// Notes that a command is about to build here: from `commit` alone, or else from more than is known.
pub(super) fn note_built_from(
    workspace: &Workspace,
    commit: Option<&CommitId>,
) -> Result<(), Error> {
    let known = workspace.record().map(|record| record.built_from);
    let built_from = match (commit, known.unwrap_or_default()) {
        (_, BuiltFrom::Unknown) => return Ok(()),
        (None, _) => BuiltFrom::Unknown,
        (Some(commit), BuiltFrom::Commits(known)) if known.contains(commit) => return Ok(()),
        (Some(commit), known) => known.with(&workspace.repo().open_store()?, commit)?,
    };
    workspace.change_record(|record| record.built_from = built_from)
}

/// Notes that files are about to be changed on a caller's behalf: what is built from now on is made of more
/// than a commit. On an error it must not be done.
pub fn note_files_changed(workspace: &Workspace) -> Result<(), Error> {
    note_built_from(workspace, None)
}
