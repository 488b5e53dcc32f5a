//! Which files differ: staged, unstaged, or between two commits.

use std::path::Path;

use git2::{DiffDelta, Patch, Tree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::delta::{self, ChangeKind};
use crate::{Error, Repository, Untracked, check_extent, head, unstaged_changes};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    pub path: String,
    pub change: ChangeKind,
    /// What it was called before.
    pub from: Option<String>,
    /// Lines; none of a binary file, or where they were not counted.
    pub additions: Option<usize>,
    pub deletions: Option<usize>,
}

impl Change {
    fn of_file(path: String, change: ChangeKind) -> Self {
        Self {
            path,
            change,
            from: None,
            additions: None,
            deletions: None,
        }
    }
}

/// A line for each change.
pub(super) fn lines(changes: Option<&[Change]>) -> String {
    let line = |change: &Change| {
        let letter = change.change.letter();
        match &change.from {
            Some(from) => format!("\n{letter} {from} -> {}", change.path),
            None => format!("\n{letter} {}", change.path),
        }
    };
    changes.unwrap_or_default().iter().map(line).collect()
}

/// What the next commit would change.
pub fn staged(repo: &Repository) -> Result<Vec<Change>, Error> {
    let tree = repo.git2().find_tree(head(repo)?.tree.git2())?;
    let index = repo.fresh_index()?;
    let mut options = delta::options(&[]);
    let repo = repo.git2();
    let mut diff = repo.diff_tree_to_index(Some(&tree), Some(&index), Some(&mut options))?;
    delta::find_renames(&mut diff)?;
    let changes = diff.deltas().filter_map(|delta| change_of(&delta));
    Ok(changes.collect())
}

/// Changes to tracked files that the next commit would leave out.
pub fn unstaged(repo: &Repository) -> Result<Vec<Change>, Error> {
    let mut changes: Vec<_> = conflicted(repo)?
        .into_iter()
        .map(|path| Change::of_file(path, ChangeKind::Conflicted))
        .collect();
    changes.extend(
        unstaged_changes(repo)?
            .iter()
            .map(|((_, _, path), change)| Change::of_file(shown(path), change.kind)),
    );
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// Files that git does not know, whole directories as one; ignored ones are left out.
pub fn untracked(repo: &Repository) -> Result<Vec<String>, Error> {
    let found = Untracked::in_worktree(repo, false)?;
    Ok(found.paths.iter().map(|path| shown(path)).collect())
}

/// Files that a merge left for somebody to decide about, each once.
pub fn conflicted(repo: &Repository) -> Result<Vec<String>, Error> {
    let index = repo.fresh_index()?;
    let mut files = Vec::new();
    if index.has_conflicts() {
        for conflict in index.conflicts()? {
            let conflict = conflict?;
            let side = conflict.our.or(conflict.their).or(conflict.ancestor);
            files.extend(side.map(|side| String::from_utf8_lossy(&side.path).into_owned()));
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// What differs between two trees, with the lines counted.
pub(super) fn between(
    repo: &Repository,
    old: Option<&Tree<'_>>,
    new: Option<&Tree<'_>>,
) -> Result<Vec<Change>, Error> {
    check_extent(repo, old, new)?;
    let mut options = delta::options(&[]);
    let repo = repo.git2();
    let mut diff = repo.diff_tree_to_tree(old, new, Some(&mut options))?;
    delta::find_renames(&mut diff)?;
    let mut changes = Vec::new();
    for (at, delta) in diff.deltas().enumerate() {
        let Some(mut change) = change_of(&delta) else {
            continue;
        };
        if let Some(patch) = Patch::from_diff(&diff, at)?
            && !patch.delta().flags().is_binary()
        {
            let (_, additions, deletions) = patch.line_stats()?;
            (change.additions, change.deletions) = (Some(additions), Some(deletions));
        }
        changes.push(change);
    }
    Ok(changes)
}

/// The bytes of a file's name, as text.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn change_of(delta: &DiffDelta<'_>) -> Option<Change> {
    let change = ChangeKind::of(delta)?;
    let from = (change == ChangeKind::Renamed).then(|| delta::path(&delta.old_file()));
    Some(Change {
        from,
        ..Change::of_file(delta::path(&delta.new_file()), change)
    })
}
