//! The id of an object, as it is written and as libgit2 has it.

use std::fmt;

use crate::Error;
use branchyard_model::CommitId;
use git2::{ObjectType, Oid};

/// The id of a commit, a tag, a tree or a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(Oid);

impl ObjectId {
    pub(crate) fn of(id: Oid) -> Self {
        Self(id)
    }

    pub(crate) fn git2(self) -> Oid {
        self.0
    }

    /// `None` where it is not all hex digits of an id.
    pub fn parse(text: &str) -> Option<Self> {
        let is_whole = CommitId::parse(text).is_ok();
        Oid::from_str(text).ok().filter(|_| is_whole).map(Self)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What git calls a file with this content.
pub fn blob_id(content: &[u8]) -> Result<ObjectId, Error> {
    let id = Oid::hash_object(ObjectType::Blob, content)?;
    Ok(ObjectId(id))
}

pub fn object_id(commit: &CommitId) -> Result<ObjectId, Error> {
    Ok(ObjectId(Oid::from_str(commit.as_str())?))
}

pub fn commit_id(id: ObjectId) -> Result<CommitId, Error> {
    Ok(CommitId::parse(&id.to_string())?)
}
