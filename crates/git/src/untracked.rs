//! What git would show as untracked: all that nothing tracked is in, without what it ignores.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::scan::untracked_entries;
use super::{Error, GITLINK, IgnoreRules, UntrackedEntry, UntrackedKind, files_of, untracked_in};
use crate::Repository;

#[derive(Debug, Default)]
pub struct Untracked {
    /// Sorted; a directory has a slash at its end.
    pub paths: Vec<PathBuf>,
    /// Something may be a repository or only look like one, which git judges by what is in it.
    pub is_doubtful: bool,
}

impl Untracked {
    /// By a walk through the worktree. Directories are shown as one, unless each file is wanted.
    pub fn in_worktree(repo: &Repository, each_file: bool) -> Result<Self, Error> {
        let untracked = untracked_entries(repo)?;
        let index = repo.git2().index()?;
        let mode_of = |path: &Path| index.get_path(path, 0).map(|entry| entry.mode);
        Self::among(&untracked, repo, mode_of, each_file)
    }

    /// Among what was found. `mode_of` is that of what is tracked at a path.
    pub fn among(
        untracked: &[UntrackedEntry],
        repo: &Repository,
        mode_of: impl Fn(&Path) -> Option<u32>,
        each_file: bool,
    ) -> Result<Self, Error> {
        let Some(workdir) = files_of(repo) else {
            return Ok(Self::default());
        };
        let mut search = UntrackedSearch {
            rules: IgnoreRules::of(repo)?,
            workdir: &workdir,
            each_file,
            found: Self::default(),
        };
        for item in untracked {
            if search.rules.is_below_ignored(&item.path) {
                continue;
            }
            match mode_of(&item.path) {
                None => search.add(item)?,
                // A submodule is not looked into.
                Some(GITLINK) => {}
                // Of a file that became a directory git says that the file is gone, and nothing of the directory.
                Some(_) if each_file => search.add(item)?,
                Some(_) => {}
            }
        }
        // By their bytes, as git sorts them, and not by their parts.
        let bytes = |path: &PathBuf| path.clone().into_os_string();
        search.found.paths.sort_by_cached_key(bytes);
        Ok(search.found)
    }
}

struct UntrackedSearch<'a> {
    rules: IgnoreRules,
    workdir: &'a Path,
    each_file: bool,
    found: Untracked,
}

impl UntrackedSearch<'_> {
    fn add(&mut self, item: &UntrackedEntry) -> Result<(), Error> {
        let path = &item.path;
        if self.is_hidden(item) {
            return Ok(());
        }
        match item.kind {
            UntrackedKind::File => self.found.paths.push(path.clone()),
            UntrackedKind::Repository => {
                self.found.is_doubtful = true;
                self.found.paths.push(with_slash(path));
            }
            UntrackedKind::Directory if self.each_file => {
                for inside in untracked_in(self.workdir, path)? {
                    self.add(&inside)?;
                }
            }
            UntrackedKind::Directory => {
                if self.has_something(path)? {
                    self.found.paths.push(with_slash(path));
                }
            }
        }
        Ok(())
    }

    /// Whether there is a file in it, however deep, that is shown.
    fn has_something(&mut self, dir: &Path) -> Result<bool, Error> {
        for item in untracked_in(self.workdir, dir)? {
            if self.is_hidden(&item) {
                continue;
            }
            let is_shown = match item.kind {
                UntrackedKind::File => true,
                UntrackedKind::Directory => self.has_something(&item.path)?,
                UntrackedKind::Repository => {
                    self.found.is_doubtful = true;
                    true
                }
            };
            if is_shown {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ignored, or of a kind that git knows nothing of.
    fn is_hidden(&self, item: &UntrackedEntry) -> bool {
        let kind = item.meta.file_type();
        let is_known = kind.is_dir() || kind.is_file() || kind.is_symlink();
        !is_known || self.rules.is_ignored(&item.path)
    }
}

fn with_slash(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push("/");
    name.into()
}
