//! What a workspace is about: its commit, its changes, how it stands to its remote. Reads only, in
//! process; every function blocks and belongs on the blocking pool.

use std::path::Path;

use git2::{ErrorCode, Index, IndexEntry, Oid, RepositoryState, Revwalk};

use super::file_comparer::hash_at;
use super::refs::parked_oid;
use super::verbs::person::text;
use super::{Error, Seen, read_ref};
use crate::{ObjectId, Repository};
use branchyard_model::{About, BranchName};

/// Bits of an index entry that tell git not to look at the file.
pub(super) const ASSUME_UNCHANGED: u16 = 0x8000;
pub(super) const SKIP_WORKTREE: u16 = 0x4000;

/// Where HEAD points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub commit: ObjectId,
    pub tree: ObjectId,
    /// The branch, unless HEAD is detached.
    pub branch: Option<String>,
    /// A rebase, merge or the like that waits to be finished.
    pub operation: Option<&'static str>,
    /// The first line of the commit's message.
    pub subject: Option<String>,
}

pub fn head(repo: &Repository) -> Result<Head, Error> {
    let reference = repo.git2().head().map_err(|error| match error.code() {
        ErrorCode::UnbornBranch => Error::Unborn,
        _ => error.into(),
    })?;
    let commit = reference.peel_to_commit()?;
    let branch = reference.shorthand().ok().map(str::to_owned);
    Ok(Head {
        commit: ObjectId::of(commit.id()),
        tree: ObjectId::of(commit.tree_id()),
        branch: branch.filter(|_| reference.is_branch()),
        operation: operation(repo.git2().state()),
        subject: commit.summary_bytes().map(text),
    })
}

/// The same; `None` on a branch without a commit.
pub(crate) fn head_if_born(repo: &Repository) -> Result<Option<Head>, Error> {
    match head(repo) {
        Err(Error::Unborn) => Ok(None),
        found => found.map(Some),
    }
}

/// The whole picture for an answer or a run.
pub fn standing(
    repo: &Repository,
    branch: &BranchName,
    dirty: Option<bool>,
) -> Result<About, Error> {
    let head = head(repo)?;
    let remote = read_ref(repo, &branch.remote_ref())?;
    let known = known_commits(repo, branch, remote.map(ObjectId::git2))?;
    Ok(About {
        commit: crate::commit_id(head.commit)?,
        tree: crate::commit_id(head.tree)?,
        dirty,
        ahead: missing_from(repo, head.commit.git2(), &known)?,
        behind: remote.map_or(Ok(0), |remote| {
            missing_from(repo, remote.git2(), &[head.commit.git2()])
        })?,
        fetched_at: None,
        stale: false,
    })
}

/// How many commits of the branch, or of what it was parked at, would be lost with it, whatever HEAD
/// points to now.
pub fn unseen_commits(repo: &Repository, branch: &BranchName) -> Result<usize, Error> {
    let remote = read_ref(repo, &branch.remote_ref())?;
    let known = known_commits(repo, branch, remote.map(ObjectId::git2))?;
    let tips = [
        read_ref(repo, &branch.local_ref())?,
        parked_oid(repo, branch)?.map(ObjectId::of),
    ];
    tips.into_iter().flatten().try_fold(0, |count, tip| {
        Ok(count + missing_from(repo, tip.git2(), &known)?)
    })
}

/// One of the stashes, which all worktrees of a store share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stash {
    pub commit: ObjectId,
    pub message: String,
}

/// All stashes, the newest first.
pub fn stashes(repo: &Repository) -> Vec<Stash> {
    // There is no log where there is no stash.
    let Ok(log) = repo.git2().reflog("refs/stash") else {
        return Vec::new();
    };
    log.iter()
        .map(|entry| Stash {
            commit: ObjectId::of(entry.id_new()),
            message: text(entry.message_bytes().unwrap_or_default()),
        })
        .collect()
}

/// Refs of a store whose commits no remote branch has, and stashes: what would be lost with the store.
pub fn unpushed_refs(store: &Repository) -> Result<Vec<String>, Error> {
    let (mut remote, mut own) = (Vec::new(), Vec::new());
    for reference in store.git2().references()? {
        let reference = reference?;
        let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
        match reference.target() {
            Some(id) if name.starts_with("refs/remotes/") => remote.push(id),
            Some(id)
                if !name.starts_with("refs/tags/") && !name.starts_with("refs/branchyard/seen") =>
            {
                own.push((name, id));
            }
            _ => {}
        }
    }
    let mut unpushed = Vec::new();
    for (name, id) in own {
        if name == "refs/stash" || missing_from(store, id, &remote)? > 0 {
            unpushed.push(name);
        }
    }
    Ok(unpushed)
}

/// The full ref of the branch that a rebase under way is about.
pub fn rebased_branch(admin: &Path) -> Option<String> {
    ["rebase-merge", "rebase-apply"]
        .iter()
        .find_map(|dir| std::fs::read_to_string(admin.join(dir).join("head-name")).ok())
        .map(|name| name.trim().to_owned())
}

/// What the remote was seen to have of this branch. Of one that it never had, all that it has of
/// others: a branch that was just made from one of them is not ahead of anything.
fn known_commits(
    repo: &Repository,
    branch: &BranchName,
    remote: Option<Oid>,
) -> Result<Vec<Oid>, Error> {
    let seen = Seen(&branch.dir()).commits(repo)?.into_iter();
    let mut known: Vec<Oid> = seen.map(ObjectId::git2).chain(remote).collect();
    if known.is_empty() {
        let refs = repo.git2().references_glob("refs/remotes/origin/*")?;
        known.extend(refs.filter_map(|reference| reference.ok()?.target()));
    }
    Ok(known)
}

/// How many commits `tip` has that none of `known` has.
pub(crate) fn missing_from(repo: &Repository, tip: Oid, known: &[Oid]) -> Result<usize, Error> {
    if known.contains(&tip) {
        return Ok(0);
    }
    let mut walk = repo.git2().revwalk()?;
    walk.push(tip)?;
    for id in known {
        walk.hide(*id)?;
    }
    count(&mut walk)
}

/// How many commits are left of a walk.
pub(crate) fn count(walk: &mut Revwalk<'_>) -> Result<usize, Error> {
    Ok(walk.try_fold(0, |count, commit| commit.map(|_| count + 1))?)
}

/// Status passes over files flagged `assume-unchanged` or `skip-worktree`, but an edit to one is
/// somebody's work all the same.
pub(super) fn overlooked_change(index: &Index, workdir: &Path) -> bool {
    overlooked_changes(index, workdir).next().is_some()
}

/// The entries of flagged files that are not what the index says.
pub(super) fn overlooked_changes(
    index: &Index,
    workdir: &Path,
) -> impl Iterator<Item = IndexEntry> {
    index
        .iter()
        .filter(|entry| {
            entry.flags & ASSUME_UNCHANGED != 0 || entry.flags_extended & SKIP_WORKTREE != 0
        })
        .filter(|entry| differs(entry, workdir))
}

fn differs(entry: &IndexEntry, workdir: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let path = workdir.join(std::ffi::OsStr::from_bytes(&entry.path));
    match path.symlink_metadata() {
        // Absent is what skip-worktree means, but not assume-unchanged.
        Err(_) => entry.flags_extended & SKIP_WORKTREE == 0,
        Ok(meta) => hash_at(&path, &meta) != Some(entry.id),
    }
}

fn operation(state: RepositoryState) -> Option<&'static str> {
    match state {
        RepositoryState::Clean => None,
        RepositoryState::Merge => Some("merge"),
        RepositoryState::Revert | RepositoryState::RevertSequence => Some("revert"),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => Some("cherry-pick"),
        RepositoryState::Bisect => Some("bisect"),
        RepositoryState::Rebase
        | RepositoryState::RebaseInteractive
        | RepositoryState::RebaseMerge => Some("rebase"),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => Some("am"),
    }
}
