//! Registering a worktree on a new branch: what `git worktree add -b` leaves in the store, without the two
//! processes that it takes. A branch that exists may be in use in ways that git knows better, and is its to add.

use std::fs;
use std::io;

use git2::{Oid, Signature};

use crate::marks::PREPARING;
use crate::refs::set_head;
use crate::{Error, Repository, Settings, Worktree};
use branchyard_model::CommitId;

/// Makes the branch at `start` in the store at `repo`, and an empty worktree of it that is marked as being
/// prepared. The caller holds the registry lock.
pub(crate) fn register(
    worktree: &Worktree,
    repo: &Repository,
    start: &CommitId,
    settings: &Settings,
) -> Result<(), Error> {
    let start = repo
        .git2()
        .find_commit(Oid::from_str(start.as_str())?)?
        .id();
    let branch = worktree.branch().local_ref();
    let why = format!("branch: Created from {start}");
    repo.git2().reference(&branch, start, false, &why)?;
    note(repo, &branch, start, settings, Some(&why))?;

    let admin = worktree.admin();
    let made = || -> io::Result<()> {
        if let Some(all) = admin.parent() {
            fs::create_dir_all(all)?;
        }
        fs::create_dir(admin)?;
        // First, so that whatever a crash leaves is known for what it is.
        fs::write(admin.join("locked"), format!("{PREPARING}\n"))?;
        fs::create_dir(admin.join("refs"))?;
        fs::create_dir_all(worktree.path())
    };
    made().map_err(Error::io("register the worktree"))?;
    set_head(admin, &format!("ref: {branch}\n"))?;
    worktree
        .guard()
        .map_err(Error::io("register the worktree"))?;
    // Git gives no reason for the first line of HEAD's own log.
    note(&worktree.open()?, "HEAD", start, settings, None)
}

/// Has the log of a new ref say when it came to be, in the name that git commands have: libgit2 knows none.
fn note(
    repo: &Repository,
    name: &str,
    start: Oid,
    settings: &Settings,
    why: Option<&str>,
) -> Result<(), Error> {
    let me = Signature::now(&settings.user_name, &settings.user_email)?;
    let mut log = repo.git2().reflog(name)?;
    while !log.is_empty() {
        log.remove(0, false)?;
    }
    log.append(start, &me, why)?;
    Ok(log.write()?)
}
