//! Which sibling a new workspace is made from.
//!
//! The nearest is the one whose tree differs in the fewest paths: that is what will have to be checked out and
//! built again. A merge base says less, for a branch may have had much and little reverted since. One in which
//! nothing was ever built comes after all others.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

use super::lent::{self, Lent};
use super::output::{Wanted, WarmOutput};
use super::sources::Sources;
use super::tracked::{Fault, Tracked};
use crate::files::beneath;
use crate::record::{BuiltFrom, Record};
use crate::submodules::SubmodulesLook;
use crate::{Error, Workspace, build_output, fits, included};
use branchyard_git::{self as git, Difference, IndexFile, Moment, ObjectId, Repository};
use branchyard_model::{BranchName, CommitId};
use branchyard_process::Presence;
use branchyard_runtime::disk::Amount;

/// Of many siblings those that were used last are looked at.
const MANY: usize = 32;
/// One that differs in more paths is no better than none.
const FAR: usize = 20_000;
const BLOCK: u64 = 4096;

/// A sibling that may serve.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) branch: BranchName,
    commit: ObjectId,
    difference: Difference,
}

/// A sibling that serves, and is left alone while this is held.
#[derive(Debug)]
pub(super) struct Seed {
    pub(super) lent: Lent,
    pub(super) commit: CommitId,
    pub(super) difference: Difference,
    pub(super) root: OwnedFd,
    pub(super) index: IndexFile,
    pub(super) tracked: Tracked,
    pub(super) output: WarmOutput,
    pub(super) sources: Sources,
    pub(super) built_from: BuiltFrom,
}

/// The siblings that may serve for a workspace at `goal`, the nearest first.
pub(super) fn nearest(workspace: &Workspace, goal: ObjectId) -> Result<Vec<Candidate>, Error> {
    let mut records = Record::all_of(workspace.repo());
    records.retain(|record| record.branch != *workspace.branch() && !record.had_secret);
    records.sort_by_key(|record| Reverse(record.used_tick));
    records.truncate(MANY);
    let store = workspace.repo().open_store()?;
    let mut found = Vec::new();
    for record in records {
        let Some(commit) = git::read_ref(&store, &record.branch.local_ref())? else {
            continue;
        };
        if !may_take_from(workspace, &store, &record, commit)? {
            continue;
        }
        let branch = record.branch;
        let difference = Difference::between_commits(&store, commit, goal, FAR)?;
        if let Some(difference) = difference.filter(|found| !found.changes_attributes()) {
            let admin = store.path().join("worktrees").join(branch.dir().as_str());
            let is_built = build_output::is_noted(&admin);
            let candidate = Candidate {
                branch,
                commit,
                difference,
            };
            found.push((!is_built, candidate));
        }
    }
    found.sort_by_key(|(unbuilt, candidate)| (*unbuilt, candidate.difference.changes.len()));
    Ok(found.into_iter().map(|(_, candidate)| candidate).collect())
}

/// What a build left behind is as much to be trusted as what it was built from. So a protected branch takes
/// over only what was built from commits that the remote has on that very branch, in a workspace that is
/// at such a commit. And a secret that was for one branch stays there.
fn may_take_from(
    workspace: &Workspace,
    store: &Repository,
    sibling: &Record,
    commit: ObjectId,
) -> Result<bool, Error> {
    if sibling.had_secret {
        return Ok(false);
    }
    if !workspace.repo().protects(workspace.branch()) {
        return Ok(true);
    }
    // A branch that the remote does not have takes nothing.
    let Some(tip) = git::read_ref(store, &workspace.branch().remote_ref())? else {
        return Ok(false);
    };
    Ok(git::is_ancestor(store, commit, tip)? && sibling.built_from.is_in(store, tip)?)
}

impl Seed {
    /// Takes hold of a sibling and looks whether it is as it should be; else says what is not.
    pub(super) fn take(
        taker: &Workspace,
        candidate: Candidate,
        goal: ObjectId,
    ) -> Result<Result<Self, Fault>, Error> {
        let workspace = taker.sibling(&candidate.branch);
        let Some(lent) = lent::lend(&workspace) else {
            return Ok(Err("something is under way there"));
        };
        let admin = workspace.worktree().admin();
        let record = Record::load(admin).filter(|record| record.branch == *workspace.branch());
        let Some(record) = record.filter(|_| workspace.exists()) else {
            return Ok(Err("it is not whole"));
        };
        if !workspace.worktree().altered().is_empty() {
            return Ok(Err("it is not whole"));
        }
        if !included::may_lend(&workspace, taker)? {
            return Ok(Err(
                "builds there were supplied with files that are not for this branch",
            ));
        }
        // A command may have come in between, which is over by now.
        if !may_take_from(
            taker,
            &taker.repo().open_store()?,
            &record,
            candidate.commit,
        )? {
            return Ok(Err("what was built there is not for this branch"));
        }
        if admin.join("index.lock").exists() || !is_unattended(&workspace) {
            return Ok(Err("somebody is at work there"));
        }
        if !git::other_submodules(workspace.worktree())?.is_empty() {
            return Ok(Err("it has submodules of somebody's own"));
        }
        if SubmodulesLook::of(&workspace)?.with_work().next().is_some() {
            return Ok(Err("it has changes in submodules"));
        }
        let repo = workspace.worktree().open()?;
        let head = git::head(&repo)?;
        if head.commit != candidate.commit
            || head.branch.as_deref() != Some(workspace.branch().as_str())
            || head.operation.is_some()
        {
            return Ok(Err("it is not on its branch"));
        }
        let read = IndexFile::read(&admin.join("index"));
        let Some(index) = read.map_err(Error::io("read the index of a sibling"))? else {
            return Ok(Err("its index is not a plain one"));
        };
        if candidate.difference.changes.len() * 2 > index.entries().len() {
            return Ok(Err("most of it differs"));
        }
        if !index.holds(&repo, head.tree)? {
            return Ok(Err("it has staged changes"));
        }
        let now = now();
        let root = beneath::open_root(&workspace)?;
        let looked = Tracked::look(&root, &index, now);
        let tracked = match looked.map_err(Error::io("look at a sibling"))? {
            Ok(tracked) => tracked,
            Err(fault) => return Ok(Err(fault)),
        };
        let entries = index.entries();
        // The index is HEAD's tree, so that what it has of a file is what HEAD has.
        let doubtful = tracked.doubtful.iter().map(|n| &entries[*n]);
        let doubtful = doubtful.filter_map(|entry| {
            let path = Path::new(OsStr::from_bytes(index.path(entry)));
            Some((entry.mode(), index.id(entry)?, path))
        });
        if git::is_any_changed(&repo, doubtful)? {
            return Ok(Err("it has changes"));
        }
        let mut sources = Sources::of(&index, &candidate.difference);
        let wanted = Wanted {
            from: candidate.commit,
            goal,
            difference: &candidate.difference,
            sources: &sources,
            is_strict: taker.repo().protects(taker.branch()),
        };
        let output = match WarmOutput::gather(&workspace, &repo, &wanted, now)? {
            Ok(output) => output,
            Err(fault) => return Ok(Err(fault)),
        };
        sources.miss(&output.left_behind);
        if !fits::has_plenty_beside(taker.repo(), need(&tracked, &output)) {
            return Ok(Err("there is little room on the disk"));
        }
        let commit = git::commit_id(candidate.commit)?;
        Ok(Ok(Self {
            lent,
            commit,
            difference: candidate.difference,
            root,
            index,
            tracked,
            output,
            sources,
            built_from: record.built_from,
        }))
    }

    /// Whether nobody is at work in it, whom no lock of ours would keep out.
    pub(super) fn is_unattended(&self) -> bool {
        is_unattended(self.lent.workspace())
    }
}

/// A shell or an editor that was left open there is reason enough: it may start a build at any moment.
fn is_unattended(workspace: &Workspace) -> bool {
    !Presence::below(workspace.path()).worker_is_in(workspace.path())
}

fn need(tracked: &Tracked, output: &WarmOutput) -> Amount {
    let (files, output) = (tracked.stats.len() as u64, output.need());
    Amount {
        bytes: tracked.bytes() + files * BLOCK + output.bytes,
        inodes: files + output.inodes,
    }
}

fn now() -> Moment {
    let now = clock_gettime(ClockId::Realtime);
    let narrow = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    (narrow(now.tv_sec), narrow(now.tv_nsec))
}
