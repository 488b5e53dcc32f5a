//! Writing the files of a new workspace in this process: threads read blobs and write files side by side, and the
//! index is written once. Git does the same in two processes, each in a sandbox, which costs as much again.
//!
//! Git has the last word. What it might convert on the way to the disk is left to it file by file; where anything at all
//! is unusual (a name, a mode, a setting), or goes wrong, it does the rest, and tells what is wrong in the way
//! that callers know.

mod names;
mod plan;
mod write;

use std::fs;
use std::io;

use git2::Oid;

use super::attributes::{BYTE_ORDER_MARK, Convertible, FILE_NAME};
use super::index_file::NewIndex;
use super::{Error, FileStat, Worktree};
use crate::Repository;
pub use names::is_plain_name;
pub(super) use plan::{CheckoutEntry, CheckoutKind, CheckoutPlan};
pub(super) use write::files as write_entries;

/// What a store and its workspaces set, and what means nothing to a checkout.
const KNOWN: [&str; 7] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "extensions.worktreeconfig",
    "lfs.repositoryformatversion",
    "submodule.active",
];
const HARMLESS: [&str; 5] = ["branch.", "gc.", "maintenance.", "push.", "remote."];
/// Every file is held against every line that could convert it; beyond these, a bounded process does it.
const MAX_ATTRIBUTES: usize = 1 << 20;
const MAX_LINES: usize = 1000;

/// Writes the files of HEAD and the index into a worktree that has neither. Returns whether that was all of them: those
/// that are left are not in the index either. After an error there may be files, but no index.
pub(super) fn write_files(worktree: &Worktree) -> Result<bool, Error> {
    let repo = Repository::open_bare(worktree.admin())?;
    check_settings(&repo)?;
    check_untouched(worktree)?;
    let tree = repo.git2().head()?.peel_to_tree()?;
    let mut plan = CheckoutPlan::of(&repo, &tree, worktree.path())?;
    leave_what_is_converted(&repo, &mut plan.entries)?;
    if plan.entries.iter().all(CheckoutEntry::is_left) {
        return Err(unusual("every file may be converted"));
    }
    let stats = write_entries(&plan.entries, worktree.path(), repo.git2().commondir())
        .map_err(Error::io("write files"))?;
    let mut index = NewIndex::new();
    for (entry, stat) in plan.entries.iter().zip(&stats) {
        if let Some(stat) = stat {
            let stat = FileStat::of(stat);
            index.push(entry.path(), entry.kind().mode(), entry.id(), &stat);
        }
    }
    let is_whole = stats.iter().all(Option::is_some);
    // A cache of trees that counts entries which are missing would be a lie.
    let trees = is_whole.then_some(&plan.trees);
    let written = index.write(&worktree.admin().join("index"), trees);
    written.map_err(Error::io("write the index"))?;
    Ok(is_whole)
}

fn unusual(what: impl Into<String>) -> Error {
    Error::io("leave files to git")(io::Error::other(what.into()))
}

/// An error if something is set that could change what a checkout writes. None of that is ours.
pub(super) fn check_settings(repo: &Repository) -> Result<(), Error> {
    let config = repo.git2().config()?;
    let mut entries = config.entries(None)?;
    while let Some(entry) = entries.next() {
        let name = String::from_utf8_lossy(entry?.name_bytes()).to_ascii_lowercase();
        if !KNOWN.contains(&name.as_str()) && !HARMLESS.iter().any(|known| name.starts_with(known))
        {
            return Err(unusual(format!("{name} is set")));
        }
    }
    // The store takes attributes away, but not at every moment.
    let attributes = repo.git2().commondir().join("info/attributes");
    if !config.get_bool("core.filemode")? || fs::symlink_metadata(attributes).is_ok() {
        return Err(unusual("modes are not kept, or files are converted"));
    }
    Ok(())
}

/// With anything there already, only git knows what is to become of it.
fn check_untouched(worktree: &Worktree) -> Result<(), Error> {
    let untouched = || -> io::Result<bool> {
        let mut names = fs::read_dir(worktree.path())?;
        let is_empty = names.all(|entry| entry.is_ok_and(|entry| entry.file_name() == ".git"));
        let has_index = fs::exists(worktree.admin().join("index"))?;
        let is_sparse = fs::exists(worktree.admin().join("info/sparse-checkout"))?;
        Ok(is_empty && !has_index && !is_sparse)
    };
    match untouched().map_err(Error::io("look at a new worktree"))? {
        true => Ok(()),
        false => Err(unusual("something is there already")),
    }
}

/// Leaves to git what it might not write as it is in the repository.
pub(super) fn leave_what_is_converted(
    repo: &Repository,
    entries: &mut [CheckoutEntry],
) -> Result<(), Error> {
    let attributes = entries.iter().filter(|entry| entry.name() == FILE_NAME);
    let convertible = convertible(repo, attributes.map(|entry| (entry.path(), entry.id())))?;
    for entry in entries.iter_mut() {
        // Links and directories are never converted.
        let is_file = matches!(entry.kind(), CheckoutKind::File | CheckoutKind::Program);
        let is_meant = convertible.iter().any(|files| files.includes(entry.path()));
        entry.leave_if(is_file && is_meant);
    }
    Ok(())
}

/// Which files git may convert by these files of attributes; an error where that is too much to find out.
pub(super) fn convertible<'a>(
    repo: &Repository,
    attributes: impl Iterator<Item = (&'a [u8], Oid)>,
) -> Result<Vec<Convertible>, Error> {
    let (mut convertible, mut size) = (Vec::new(), 0);
    let odb = repo.git2().odb()?;
    for (path, id) in attributes {
        size += odb.read_header(id)?.0;
        if size > MAX_ATTRIBUTES {
            return Err(unusual("there are too many attributes"));
        }
        let blob = repo.git2().find_blob(id)?;
        // Git heeds this one only where it is a file already.
        if blob.content().starts_with(BYTE_ORDER_MARK) {
            return Err(unusual("attributes begin with a byte order mark"));
        }
        let inside = &path[..path.len() - FILE_NAME.len()];
        convertible.extend(Convertible::by(blob.content(), inside).take(MAX_LINES));
        if convertible.len() >= MAX_LINES {
            return Err(unusual("there are too many attributes"));
        }
    }
    Ok(convertible)
}
