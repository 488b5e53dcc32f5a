//! What an integration will write, told before it begins. Git keeps untracked files that stand in its
//! way, and overwrites ignored ones without a word, whatever it is told (`--no-overwrite-ignore` is heard
//! by fast-forwards alone); so that is looked at here.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Delta, ErrorCode, Oid, Sort, Tree};

use super::changes::{self, local_changes};
use crate::verbs::operation::Operation;
use crate::{
    Error, Repository, UntrackedEntry, UntrackedKind, check_extent, files_of, untracked_entries,
    untracked_in,
};
use branchyard_model::{ErrorKind, Problem};

/// One three-way merge: what `theirs` changed since `base` is brought to `ours`.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// None where they have nothing in common.
    pub(crate) base: Option<Oid>,
    pub(crate) ours: Oid,
    pub(crate) theirs: Oid,
}

/// What steps may write.
#[derive(Debug, Default)]
pub struct Way {
    /// Paths that get a content.
    written: BTreeSet<PathBuf>,
    removed: BTreeSet<PathBuf>,
    /// Names of files that may follow a directory which the other side renamed, wherever that is now.
    relocated: HashSet<OsString>,
}

impl Way {
    pub fn of(repo: &Repository, steps: &[Step]) -> Result<Self, Error> {
        let mut way = Self::default();
        for step in steps {
            way.add(repo, step)?;
        }
        Ok(way)
    }

    pub(crate) fn of_merge(repo: &Repository, ours: Oid, theirs: Oid) -> Result<Self, Error> {
        let base = base_of(repo, ours, theirs)?;
        Self::of(repo, &[Step { base, ours, theirs }])
    }

    /// Of replaying what HEAD has and `upstream` has not, on top of `onto`.
    pub(crate) fn of_rebase(
        repo: &Repository,
        head: Oid,
        upstream: Oid,
        onto: Oid,
    ) -> Result<Self, Error> {
        let mut walk = repo.git2().revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
        walk.push(head)?;
        walk.hide(upstream)?;
        // The first thing it does is to check out what it goes onto.
        let mut steps = vec![Step {
            base: Some(head),
            ours: head,
            theirs: onto,
        }];
        for commit in walk {
            steps.extend(Step::of(repo, Operation::Rebase, commit?, onto, None)?);
        }
        Self::of(repo, &steps)
    }

    /// Refuses to begin while something else is under way, while anything is staged, or where files or
    /// changes of somebody's are in the way.
    pub fn check(&self, repo: &Repository) -> Result<(), Error> {
        self.check_operation(repo)?;
        let changes = local_changes(repo)?;
        let mut in_the_way = changes.staged;
        let touched = changes.unstaged.into_iter();
        in_the_way.extend(touched.filter(|path| self.touches(path)));
        if !in_the_way.is_empty() {
            return Err(changes::problem(&in_the_way).into());
        }
        self.check_untracked(repo)
    }

    /// Refuses where one of these files, which have changes, is written or removed.
    pub fn check_changes(&self, changed: impl Iterator<Item = String>) -> Result<(), Error> {
        let in_the_way: Vec<String> = changed.filter(|path| self.touches(path)).collect();
        match in_the_way.is_empty() {
            true => Ok(()),
            false => Err(changes::problem(&in_the_way).into()),
        }
    }

    /// As [`Way::check`], and refuses any change at all.
    pub fn check_untouched(&self, repo: &Repository) -> Result<(), Error> {
        self.check_operation(repo)?;
        if let Some(problem) = changes::local_changes_in_the_way(repo)? {
            return Err(problem.into());
        }
        self.check_untracked(repo)
    }

    fn check_operation(&self, repo: &Repository) -> Result<(), Error> {
        match Operation::under_way(repo)? {
            Some(operation) => Err(operation.in_the_way().into()),
            None => Ok(()),
        }
    }

    /// Refuses where files that are not tracked are in the way, ignored or not.
    pub fn check_untracked(&self, repo: &Repository) -> Result<(), Error> {
        let Some(workdir) = files_of(repo) else {
            return Ok(());
        };
        let mut found = Vec::new();
        let mut pending = untracked_entries(repo)?;
        while let Some(item) = pending.pop() {
            match item.kind {
                UntrackedKind::Directory if self.leads_into(&item) => {
                    pending.extend(untracked_in(&workdir, &item.path)?);
                }
                UntrackedKind::Directory => {}
                _ if self.writes_over(&item.path) => {
                    found.push(item.path.to_string_lossy().into_owned());
                }
                _ => {}
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        found.sort();
        let named = changes::some_of(&found);
        let detail =
            format!("files that are not tracked are in the way, and would be lost: {named}");
        Err(Problem::new(ErrorKind::Conflict, "in_the_way", detail)
            .help("move them elsewhere, remove them, or commit them; then ask again")
            .into())
    }

    fn touches(&self, path: &str) -> bool {
        let path = Path::new(path);
        self.writes_over(path) || self.removed.contains(path)
    }

    /// Whether something is written to `path`, to a place beneath it, or in place of a directory above.
    fn writes_over(&self, path: &Path) -> bool {
        path.ancestors().any(|place| self.written.contains(place))
            || has_beneath(&self.written, path)
            || path
                .file_name()
                .is_some_and(|name| self.relocated.contains(name))
    }

    /// Whether anything in a directory could be in the way.
    fn leads_into(&self, dir: &UntrackedEntry) -> bool {
        !self.relocated.is_empty() || self.writes_over(&dir.path)
    }

    fn add(&mut self, repo: &Repository, step: &Step) -> Result<(), Error> {
        let base = step.base.map(|base| repo.tree_of(base)).transpose()?;
        let (ours, theirs) = (repo.tree_of(step.ours)?, repo.tree_of(step.theirs)?);
        for (side, other, is_brought) in [(&theirs, &ours, true), (&ours, &theirs, false)] {
            check_extent(repo, base.as_ref(), Some(side))?;
            for delta in repo.diff_trees(base.as_ref(), Some(side))?.deltas() {
                let file = match delta.status() {
                    Delta::Deleted => delta.old_file(),
                    _ => delta.new_file(),
                };
                let Some(path) = file.path_bytes() else {
                    continue;
                };
                let path = PathBuf::from(OsStr::from_bytes(path));
                if delta.status() == Delta::Added && has_moved(&path, base.as_ref(), other) {
                    self.relocated.extend(path.file_name().map(OsStr::to_owned));
                }
                match delta.status() {
                    _ if !is_brought => {}
                    Delta::Deleted => drop(self.removed.insert(path)),
                    _ => drop(self.written.insert(path)),
                }
            }
        }
        Ok(())
    }
}

impl Step {
    /// What a commit changed since its parent of this number (the first, where there is none), brought
    /// to `ours`; with a revert, the same undone. None where nothing would be left to write.
    pub(crate) fn of(
        repo: &Repository,
        operation: Operation,
        commit: Oid,
        ours: Oid,
        mainline: Option<usize>,
    ) -> Result<Option<Self>, Error> {
        let number = mainline.map_or(0, |number| number.saturating_sub(1));
        let parent = repo.git2().find_commit(commit)?.parent_ids().nth(number);
        let (base, theirs) = match operation {
            Operation::Revert => (Some(commit), parent),
            _ => (parent, Some(commit)),
        };
        Ok(theirs.map(|theirs| Self { base, ours, theirs }))
    }
}

/// The best commit that both have. Blocks.
pub(crate) fn base_of(repo: &Repository, ours: Oid, theirs: Oid) -> Result<Option<Oid>, Error> {
    match repo.git2().merge_base(ours, theirs) {
        Ok(base) => Ok(Some(base)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a directory that `path` was added to is gone on the other side: git takes it for renamed, and
/// lets the file follow.
fn has_moved(path: &Path, base: Option<&Tree<'_>>, other: &Tree<'_>) -> bool {
    path.ancestors()
        .skip(1)
        .filter(|dir| *dir != Path::new(""))
        .any(|dir| {
            base.is_some_and(|base| base.get_path(dir).is_ok()) && other.get_path(dir).is_err()
        })
}

fn has_beneath(paths: &BTreeSet<PathBuf>, dir: &Path) -> bool {
    // Paths are ordered by their parts, so what is beneath a directory follows it directly.
    let behind = (Bound::Excluded(dir), Bound::Unbounded);
    let mut following = paths.range::<Path, _>(behind);
    following.next().is_some_and(|path| path.starts_with(dir))
}
