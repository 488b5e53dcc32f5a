//! What differs between HEAD, index and files, however it was found.

use std::path::{Path, PathBuf};

use git2::{DiffDelta, Index};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflict::Conflict;
use crate::status::overlooked_changes;
use crate::verbs::changes::shown;
use crate::verbs::delta::{self, ChangeKind, Side};
use crate::verbs::person::text;
use crate::verbs::suspects::is_within;
use crate::{Error, FileChange, Head, Repository, Tracked, files_of};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    pub path: String,
    pub change: ChangeKind,
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
    pub fn has_tracked_changes(&self) -> bool {
        !(self.staged.is_empty() && self.unstaged.is_empty() && self.conflicted.is_empty())
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
            change: match is_there {
                true => ChangeKind::Modified,
                false => ChangeKind::Deleted,
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
            change: change.kind,
            from: None,
            overlooked: false,
            old: with_sides.then(|| Side::new(mode, Some(id))),
            new: (with_sides && change.mode != 0).then(|| Side::new(change.mode, change.id)),
        })
        .collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// What the index has and HEAD has not.
pub(super) fn staged(
    repo: &Repository,
    head: &Head,
    paths: &[PathBuf],
    with_sides: bool,
) -> Result<Vec<Change>, Error> {
    let tree = repo.git2().find_tree(head.tree.git2())?;
    let index = repo.fresh_index()?;
    let mut options = delta::options(paths);
    let repo = repo.git2();
    let mut diff = repo.diff_tree_to_index(Some(&tree), Some(&index), Some(&mut options))?;
    delta::find_renames(&mut diff)?;
    let changes = diff.deltas().filter_map(|delta| change(&delta, with_sides));
    Ok(changes.collect())
}

fn change(delta: &DiffDelta<'_>, with_sides: bool) -> Option<Change> {
    let kind = ChangeKind::of(delta)?;
    if matches!(kind, ChangeKind::Untracked | ChangeKind::Conflicted) {
        return None;
    }
    let (old, new) = (delta.old_file(), delta.new_file());
    let is_moved = matches!(kind, ChangeKind::Renamed | ChangeKind::Copied);
    Some(Change {
        path: delta::path(&new),
        change: kind,
        from: is_moved.then(|| delta::path(&old)),
        overlooked: false,
        old: Side::of(&old).filter(|_| with_sides),
        new: Side::of(&new).filter(|_| with_sides),
    })
}
