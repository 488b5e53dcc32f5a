//! The id of a commit, as it is written and as libgit2 has it.

use branchyard_model::CommitId;
use git2::Oid;

use crate::Error;

pub fn oid(commit: &CommitId) -> Result<Oid, Error> {
    Ok(Oid::from_str(commit.as_str())?)
}

pub fn commit_id(id: Oid) -> Result<CommitId, Error> {
    Ok(CommitId::parse(&id.to_string())?)
}
