//! Our own refs in the store. They are named by a workspace's directory, which is flat, so that
//! `feature` and `feature/x` can both have theirs.

use std::path::Path;

use git2::{ErrorCode, Oid};

use super::Error;
use crate::{ObjectId, Repository};
use branchyard_model::{BranchName, CommitId, DirName};

/// The remote commits that a workspace was last moved to. A move writes the new one beside the old
/// before files change and drops the old after, so that a crash in between is not taken for work.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a>(pub &'a DirName);

impl Seen<'_> {
    fn current(self) -> String {
        format!("refs/branchyard/seen/{}", self.0)
    }

    fn next(self) -> String {
        format!("refs/branchyard/seen-next/{}", self.0)
    }

    /// Everything that the remote was seen to have for this workspace.
    pub fn commits(self, store: &Repository) -> Result<Vec<ObjectId>, Error> {
        [self.current(), self.next()]
            .iter()
            .filter_map(|name| read_ref(store, name).transpose())
            .collect()
    }

    /// What it was moved to for certain: a move that was only begun may never have brought the commit here.
    pub fn arrived_at(self, store: &Repository) -> Result<Option<ObjectId>, Error> {
        read_ref(store, &self.current())
    }

    pub fn begin_move(self, store: &Repository, to: ObjectId) -> Result<(), Error> {
        write_ref(store, &self.next(), to.git2())
    }

    pub fn finish_move(self, store: &Repository, to: ObjectId) -> Result<(), Error> {
        write_ref(store, &self.current(), to.git2())?;
        delete_ref(store, &self.next())
    }

    /// Where a move that has not come to its end leads.
    pub fn move_under_way(self, store: &Repository) -> Result<Option<ObjectId>, Error> {
        read_ref(store, &self.next())
    }

    /// The files could not be moved after all.
    pub fn abandon_move(self, store: &Repository) -> Result<(), Error> {
        delete_ref(store, &self.next())
    }

    /// Notes that the remote has the commit that the workspace is at; costs a read if that is known.
    pub fn settle(self, store: &Repository, at: ObjectId) -> Result<(), Error> {
        match self.commits(store)?.as_slice() {
            [only] if *only == at => Ok(()),
            _ => self.finish_move(store, at),
        }
    }

    pub fn forget(self, store: &Repository) -> Result<(), Error> {
        delete_ref(store, &self.next())?;
        delete_ref(store, &self.current())
    }
}

pub fn read_ref(store: &Repository, name: &str) -> Result<Option<ObjectId>, Error> {
    match store.git2().refname_to_id(name) {
        Ok(id) => Ok(Some(ObjectId::of(id))),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Has a ref keep a commit.
pub fn keep(store: &Repository, name: &str, commit: ObjectId) -> Result<(), Error> {
    write_ref(store, name, commit.git2())
}

pub(super) fn write_ref(store: &Repository, name: &str, to: Oid) -> Result<(), Error> {
    store.git2().reference(name, to, true, "branchyard")?;
    Ok(())
}

/// Deletes a ref if it is still at `commit`. One that moves meanwhile stays: libgit2 compares once more under the ref's
/// lock.
pub fn delete_ref_at(store: &Repository, name: &str, commit: &str) -> Result<(), Error> {
    match store.git2().find_reference(name) {
        Ok(reference) if reference.target().is_none_or(|at| at.to_string() != commit) => Ok(()),
        Ok(mut reference) => match reference.delete() {
            Err(error) if error.code() == ErrorCode::Modified => Ok(()),
            deleted => Ok(deleted?),
        },
        Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Moves a ref if it is still where it was `seen`, or still not there. Returns whether it was.
pub(super) fn move_ref(
    store: &Repository,
    name: &str,
    to: Oid,
    seen: Option<Oid>,
    log: &str,
) -> Result<bool, Error> {
    let moved = match seen {
        Some(seen) => store.git2().reference_matching(name, to, true, seen, log),
        None => store.git2().reference(name, to, false, log),
    };
    match moved {
        Ok(_) => Ok(true),
        Err(error) => match error.code() {
            ErrorCode::Modified | ErrorCode::Exists | ErrorCode::NotFound => Ok(false),
            _ => Err(error.into()),
        },
    }
}

pub fn delete_ref(store: &Repository, name: &str) -> Result<(), Error> {
    match store.git2().find_reference(name) {
        Ok(mut reference) => Ok(reference.delete()?),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Branches whose refs under `prefix` (`refs/heads/`, `refs/remotes/origin/`) cannot stand beside `branch`.
pub fn colliding_refs(
    store: &Repository,
    prefix: &str,
    branch: &BranchName,
) -> Result<Vec<BranchName>, Error> {
    named_under(store, prefix, |name| branch.collides_with(name))
}

/// The branches that the remote had, as far as it was ever asked for them.
pub fn remote_branches(store: &Repository) -> Result<Vec<BranchName>, Error> {
    named_under(store, "refs/remotes/origin/", |_| true)
}

fn named_under(
    store: &Repository,
    prefix: &str,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<BranchName>, Error> {
    let names = names_under(store, prefix)?.into_iter();
    let names = names.filter(|name| wanted(name));
    Ok(names
        .filter_map(|name| BranchName::parse(&name).ok())
        .collect())
}

/// The refs whose full names begin so.
pub fn refs_under(store: &Repository, prefix: &str) -> Result<Vec<String>, Error> {
    let names = names_under(store, prefix)?.into_iter();
    Ok(names.map(|name| format!("{prefix}{name}")).collect())
}

/// What stands after `prefix` in the names of refs.
pub(super) fn names_under(store: &Repository, prefix: &str) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for reference in store.git2().references_glob(&format!("{prefix}*"))? {
        let reference = reference?;
        let name = reference.name().ok();
        found.extend(
            name.and_then(|name| name.strip_prefix(prefix))
                .map(str::to_owned),
        );
    }
    Ok(found)
}

fn parked_ref(dir: &DirName) -> String {
    format!("refs/branchyard/parked/{dir}")
}

/// Where a parked workspace's branch stood.
pub fn parked_tip(store: &Repository, dir: &DirName) -> Result<Option<CommitId>, Error> {
    Ok(read_ref(store, &parked_ref(dir))?.and_then(|id| CommitId::parse(&id.to_string()).ok()))
}

pub(super) fn parked_oid(store: &Repository, branch: &BranchName) -> Result<Option<Oid>, Error> {
    Ok(read_ref(store, &parked_ref(&branch.dir()))?.map(ObjectId::git2))
}

/// Makes room for a branch whose name collides with this one: the tip is kept under our own ref, the
/// workspace's HEAD is detached with its files untouched, and the branch goes. Returns false, with
/// nothing changed, where the workspace (its administrative directory is `admin`) is in the middle of
/// something that needs the branch.
pub fn park(store: &Repository, branch: &BranchName, admin: &Path) -> Result<bool, Error> {
    let Some(tip) = read_ref(store, &branch.local_ref())? else {
        return Ok(true);
    };
    let on_branch = format!("ref: {}\n", branch.local_ref());
    let in_use = admin.is_dir();
    if in_use && std::fs::read_to_string(admin.join("HEAD")).ok().as_ref() != Some(&on_branch) {
        return Ok(false);
    }
    write_ref(store, &parked_ref(&branch.dir()), tip.git2())?;
    if in_use {
        set_head(admin, &format!("{tip}\n"))?;
    }
    delete_ref(store, &branch.local_ref())?;
    Ok(true)
}

/// The reverse of [`park`], once nothing collides any more. Commits made on top while HEAD was
/// detached belong to the branch; returns false, with nothing changed, where HEAD was moved elsewhere.
pub fn unpark(store: &Repository, branch: &BranchName, admin: &Path) -> Result<bool, Error> {
    let Some(kept) = read_ref(store, &parked_ref(&branch.dir()))? else {
        return Ok(true);
    };
    let head = std::fs::read_to_string(admin.join("HEAD")).map_err(Error::io("read HEAD"))?;
    let Ok(tip) = Oid::from_str(head.trim()) else {
        return Ok(false);
    };
    if tip != kept.git2() && !store.git2().graph_descendant_of(tip, kept.git2())? {
        return Ok(false);
    }
    write_ref(store, &branch.local_ref(), tip)?;
    set_head(admin, &format!("ref: {}\n", branch.local_ref()))?;
    forget_parked(store, branch)?;
    Ok(true)
}

/// As [`unpark`], for a branch whose workspace is gone.
pub fn unpark_branch(store: &Repository, branch: &BranchName) -> Result<(), Error> {
    let Some(kept) = read_ref(store, &parked_ref(&branch.dir()))? else {
        return Ok(());
    };
    if read_ref(store, &branch.local_ref())?.is_none() {
        write_ref(store, &branch.local_ref(), kept.git2())?;
    }
    forget_parked(store, branch)
}

pub fn forget_parked(store: &Repository, branch: &BranchName) -> Result<(), Error> {
    delete_ref(store, &parked_ref(&branch.dir()))
}

pub(super) fn set_head(admin: &Path, content: &str) -> Result<(), Error> {
    let fresh = admin.join("HEAD.branchyard");
    std::fs::write(&fresh, content)
        .and_then(|()| std::fs::rename(&fresh, admin.join("HEAD")))
        .map_err(Error::io("move HEAD"))
}
