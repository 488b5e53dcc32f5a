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
    let first = walk.by_ref().take(MOST_OUTGOING);
    let first = first.map(|id| Ok(Brief::of(&repo.git2().find_commit(id?)?)));
    let told = first.collect::<Result<Vec<_>, Error>>()?;
    let more = walk.count();
    let in_all = (more > 0).then_some(told.len() + more);
    Ok((told, in_all))
}

/// Whether the branch contained this commit at some time, by its log and by what it was moved to.
fn was_here(repo: &Repository, branch: &BranchName, commit: Oid) -> Result<bool, Error> {
    let arrived = Seen(&branch.dir()).arrived_at(repo)?;
    let mut tips = Vec::from_iter(arrived.map(ObjectId::git2));
    match repo.git2().reflog(&branch.local_ref()) {
        Ok(log) => tips.extend(
            log.iter()
                .flat_map(|entry| [entry.id_new(), entry.id_old()]),
        ),
        Err(error) if error.code() == ErrorCode::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    tips.sort_unstable();
    tips.dedup();
    for tip in tips.into_iter().filter(|tip| !tip.is_zero()) {
        // A log may name what is not in the store any more.
        if tip == commit
            || repo
                .git2()
                .graph_descendant_of(tip, commit)
                .unwrap_or(false)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
