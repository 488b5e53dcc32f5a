//! What a look at index and files finds: one walk through HEAD's tree, one through the files.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Diff, DiffDelta, Index};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Request;
use super::conflict::{Conflict, conflicts};
use crate::status::overlooked_changes;
use crate::verbs::Verbosity;
use crate::verbs::delta::{self, Kind, Side};
use crate::verbs::person::text;
use crate::verbs::suspects::is_within;
use crate::{
    Error, FileChange, FileChangeKind, Head, Repository, Tracked, Untracked, files_of,
    unstaged_changes,
};

/// The bit of an index entry that says that only its name was added.
const INTENT_TO_ADD: u16 = 0x2000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    pub path: String,
    pub kind: Kind,
    /// What it was called before, where it was renamed.
    pub from: Option<String>,
    /// Git was told not to look at this file (`assume-unchanged`, `skip-worktree`), and does not show
    /// the change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlooked: bool,
    /// With `full` only.
    pub old: Option<Side>,
    /// With `full` only.
    pub new: Option<Side>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    pub staged: Vec<Change>,
    pub unstaged: Vec<Change>,
    pub conflicted: Vec<Conflict>,
    pub untracked: Vec<String>,
    pub ignored: Vec<String>,
}

impl Found {
    /// Everything but ignored files: which directory to tell in place of its files, libgit2 decides
    /// otherwise than git does.
    pub(super) fn look(
        repo: &Repository,
        head: &Head,
        paths: &[PathBuf],
        request: &Request,
    ) -> Result<Self, Error> {
        let with_sides = request.verbosity == Verbosity::Full;
        let index = repo.git2().index()?;
        let mut found = Self {
            conflicted: conflicts(&index, with_sides)?,
            ..Self::default()
        };
        found
            .conflicted
            .retain(|conflict| is_within(Path::new(&conflict.path), paths));

        let tree = repo.git2().find_tree(head.tree.git2())?;
        let mut options = delta::options(paths);
        let mut staged =
            repo.git2()
                .diff_tree_to_index(Some(&tree), Some(&index), Some(&mut options))?;
        delta::find_renames(&mut staged)?;
        found.staged = changes(&staged, with_sides);

        let is_asked_for = |path: &Path| is_within(path, paths);
        let mut changed = unstaged_changes(repo)?;
        changed.retain(|((_, _, path), _)| is_asked_for(path));
        found.unstaged = unstaged(changed, with_sides);
        if request.untracked {
            let untracked = Untracked::in_worktree(repo, request.each_file)?.paths;
            let untracked = untracked.iter().filter(|path| is_asked_for(path));
            found.untracked = untracked.map(|path| shown(path)).collect();
        }
        move_announced(&mut found, &index);
        // Of a file that became a directory git says only that the file is gone.
        let is_tracked = |path: &str| index.get_path(Path::new(path), 0).is_some();
        let was_file = |path: &String| path.strip_suffix('/').is_some_and(is_tracked);
        found.untracked.retain(|path| !was_file(path));
        add_overlooked(&mut found, repo, &index, paths);
        Ok(found)
    }

    pub fn has_tracked_changes(&self) -> bool {
        !(self.staged.is_empty() && self.unstaged.is_empty() && self.conflicted.is_empty())
    }
}

/// Files that were announced (`add --intent-to-add`) are not staged: the index has nothing of them.
fn move_announced(found: &mut Found, index: &Index) {
    let is_announced = |change: &Change| {
        let entry = index.get_path(Path::new(&change.path), 0);
        change.kind == Kind::Added
            && entry.is_some_and(|entry| entry.flags_extended & INTENT_TO_ADD != 0)
    };
    for mut announced in found.staged.extract_if(.., |change| is_announced(change)) {
        let here = |change: &&mut Change| change.path == announced.path;
        match found.unstaged.iter_mut().find(here) {
            Some(change) if change.kind == Kind::Modified => change.kind = Kind::Added,
            Some(_) => {}
            None => {
                (announced.old, announced.new) = (None, None);
                found.unstaged.push(announced);
            }
        }
    }
}

/// Adds what differs of the files that git was told to overlook.
pub(super) fn add_overlooked(
    found: &mut Found,
    repo: &Repository,
    index: &Index,
    paths: &[PathBuf],
) {
    let Some(workdir) = files_of(repo) else {
        return;
    };
    for entry in overlooked_changes(index, &workdir) {
        let path = text(&entry.path);
        if !is_within(Path::new(&path), paths) {
            continue;
        }
        let is_there = workdir.join(&path).symlink_metadata().is_ok();
        found.unstaged.push(Change {
            path,
            kind: match is_there {
                true => Kind::Modified,
                false => Kind::Deleted,
            },
            from: None,
            overlooked: true,
            old: None,
            new: None,
        });
    }
}

/// Files that differ from the index.
pub(super) fn unstaged(changed: Vec<(Tracked, FileChange)>, with_sides: bool) -> Vec<Change> {
    let changes = changed.into_iter();
    let mut changes: Vec<_> = changes
        .map(|((mode, id, path), change)| Change {
            path: shown(&path),
            kind: match change.kind {
                FileChangeKind::Modified => Kind::Modified,
                FileChangeKind::Deleted => Kind::Deleted,
                FileChangeKind::Typechange => Kind::Typechange,
            },
            from: None,
            overlooked: false,
            old: with_sides.then(|| Side::new(mode, Some(id))),
            new: (with_sides && change.mode != 0).then(|| Side::new(change.mode, change.id)),
        })
        .collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// The name of a path, as text.
pub(super) fn shown(path: &Path) -> String {
    text(path.as_os_str().as_bytes())
}

/// What is tracked and staged; conflicts are told apart.
fn changes(diff: &Diff<'_>, with_sides: bool) -> Vec<Change> {
    let changes = diff.deltas().filter_map(|delta| change(&delta, with_sides));
    changes.collect()
}

fn change(delta: &DiffDelta<'_>, with_sides: bool) -> Option<Change> {
    let kind = Kind::of(delta)?;
    if matches!(kind, Kind::Untracked | Kind::Conflicted) {
        return None;
    }
    let (old, new) = (delta.old_file(), delta.new_file());
    let is_moved = matches!(kind, Kind::Renamed | Kind::Copied);
    Some(Change {
        path: delta::path(&new),
        kind,
        from: is_moved.then(|| delta::path(&old)),
        overlooked: false,
        old: Side::of(&old).filter(|_| with_sides),
        new: Side::of(&new).filter(|_| with_sides),
    })
}
