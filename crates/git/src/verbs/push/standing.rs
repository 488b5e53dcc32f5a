//! How a branch stands to that of the remote: what is pushed, taken in, or replaced.

use git2::{ErrorCode, Oid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verbs::Brief;
use crate::{Error, ObjectId, Repository, Seen};
use branchyard_model::BranchName;

/// Commits that are told of a push: the first one of a repository can have all its history in it.
const MOST_OUTGOING: usize = 200;

/// How a branch here stands to that of the remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Same,
    /// The remote lacks commits, and has none that are not here.
    Ahead,
    /// The remote has more, which was never here.
    Behind,
    /// What the remote has was here once, and is not any more.
    Rewritten,
    /// Both have commits that the other lacks.
    Apart,
}

/// How the branch, which is at `local`, stands to the `remote` one. Blocks.
pub fn standing(
    repo: &Repository,
    branch: &BranchName,
    local: ObjectId,
    remote: Option<ObjectId>,
) -> Result<Standing, Error> {
    let Some(remote) = remote else {
        return Ok(Standing::Ahead);
    };
    let (local, remote) = (local.git2(), remote.git2());
    if local == remote {
        return Ok(Standing::Same);
    }
    if repo.git2().graph_descendant_of(local, remote)? {
        return Ok(Standing::Ahead);
    }
    if was_here(repo, branch, remote)? {
        return Ok(Standing::Rewritten);
    }
    match repo.git2().graph_descendant_of(remote, local)? {
        true => Ok(Standing::Behind),
        false => Ok(Standing::Apart),
    }
}

/// The commits of `local` that the remote lacks, the newest first: those that it has of no branch, if it
/// lacks this one. With them, how many there are where that is more than are told. Blocks.
pub fn outgoing(
    repo: &Repository,
    local: ObjectId,
    remote: Option<ObjectId>,
) -> Result<(Vec<Brief>, Option<usize>), Error> {
    let mut walk = repo.git2().revwalk()?;
    walk.push(local.git2())?;
    match remote {
        Some(remote) => walk.hide(remote.git2())?,
        None => walk.hide_glob("refs/remotes/origin/*")?,
    }
    let (told, in_all) = Brief::newest(repo, walk, MOST_OUTGOING)?;
    let is_more = in_all > told.len();
    Ok((told, is_more.then_some(in_all)))
}

/// Whether the branch contained this commit at some time, by its log and by what it was moved to.
fn was_here(repo: &Repository, branch: &BranchName, commit: Oid) -> Result<bool, Error> {
    let arrived = Seen(&branch.dir()).arrived_at(repo)?;
    let mut tips = Vec::from_iter(arrived.map(ObjectId::git2));
    match repo.git2().reflog(&branch.local_ref()) {
        Ok(log) => tips.extend(log.iter().flat_map(|it| [it.id_new(), it.id_old()])),
        Err(error) if error.code() == ErrorCode::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    tips.sort_unstable();
    tips.dedup();
    // A log may name what is not in the store any more.
    let leads_there = |tip| {
        repo.git2()
            .graph_descendant_of(tip, commit)
            .unwrap_or(false)
    };
    let mut tips = tips.into_iter().filter(|tip| !tip.is_zero());
    Ok(tips.any(|tip| tip == commit || leads_there(tip)))
}
