//! Which files of a worktree git ignores. The rules are read by our own code: libgit2 opens by name whatever is
//! called `.gitignore`, and would wait for ever for the writer of a FIFO.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::plain_file::read_plain;
use super::verbs::conflicts::{Read, Working};
use super::{Error, files_of};
use crate::Repository;
use branchyard_model::check_glob;

const FILE_NAME: &str = ".gitignore";
/// Rules of more text than that are not heeded: to compile them would take seconds and much memory.
pub const MAX_RULES: usize = 256 << 10;

/// The rules of one worktree, each file read once.
#[derive(Debug, Default)]
pub struct IgnoreRules {
    files: Option<(PathBuf, Working)>,
    /// Those of the store, for all of its worktrees.
    exclude: Option<Gitignore>,
    by_directory: RefCell<HashMap<PathBuf, Option<Rc<Gitignore>>>>,
    ignored_directories: RefCell<HashMap<PathBuf, bool>>,
}

impl IgnoreRules {
    pub fn of(repo: &Repository) -> Result<Self, Error> {
        let Some(workdir) = files_of(repo) else {
            return Ok(Self::default());
        };
        let exclude = read_plain(
            &repo.git2().commondir().join("info/exclude"),
            MAX_RULES as u64,
        );
        let exclude = exclude.ok().flatten();
        Ok(Self {
            files: Some((workdir.clone(), Working::open(&workdir)?)),
            exclude: exclude.and_then(|text| parse_rules(&text, Path::new(""))),
            ..Self::default()
        })
    }

    /// Whether git ignores what is at `path`, relative to the worktree, itself or with a directory above it.
    pub fn is_ignored(&self, path: &Path) -> bool {
        let Some((workdir, _)) = &self.files else {
            return false;
        };
        let is_directory = fs::symlink_metadata(workdir.join(path)).is_ok_and(|meta| meta.is_dir());
        match is_directory {
            true => self.is_directory_ignored(path),
            false => self.is_below_ignored(path) || self.decide(path, false),
        }
    }

    /// Git looks for nothing in a directory that it ignores, whatever the rules say of its files.
    pub fn is_below_ignored(&self, path: &Path) -> bool {
        path.parent()
            .is_some_and(|above| self.is_directory_ignored(above))
    }

    fn is_directory_ignored(&self, directory: &Path) -> bool {
        if directory.as_os_str().is_empty() {
            return false;
        }
        if let Some(known) = self.ignored_directories.borrow().get(directory) {
            return *known;
        }
        let is_ignored = self.is_below_ignored(directory) || self.decide(directory, true);
        let mut known = self.ignored_directories.borrow_mut();
        known.insert(directory.to_owned(), is_ignored);
        is_ignored
    }

    /// The innermost file that says anything of it decides.
    fn decide(&self, path: &Path, is_directory: bool) -> bool {
        // Git keeps nothing of that name, wherever it is.
        if path.file_name().is_some_and(|name| name == ".git") {
            return true;
        }
        let inner = path.ancestors().skip(1).find_map(|directory| {
            let rules = self.rules_of(directory)?;
            decision(&rules.matched(path, is_directory))
        });
        inner
            .or_else(|| decision(&self.exclude.as_ref()?.matched(path, is_directory)))
            .unwrap_or(false)
    }

    fn rules_of(&self, directory: &Path) -> Option<Rc<Gitignore>> {
        if let Some(known) = self.by_directory.borrow().get(directory) {
            return known.clone();
        }
        let (_, working) = self.files.as_ref()?;
        let rules = match working.read(&directory.join(FILE_NAME), MAX_RULES as u64) {
            Read::Whole(text) => parse_rules(&text, directory).map(Rc::new),
            Read::TooLarge | Read::NoFile => None,
        };
        let mut known = self.by_directory.borrow_mut();
        known.insert(directory.to_owned(), rules.clone());
        rules
    }
}

fn decision<T>(found: &Match<T>) -> Option<bool> {
    match found {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// The rules in the text of a `.gitignore`, for what is below `directory`.
pub fn parse_rules(text: &[u8], directory: &Path) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(text).lines() {
        // As git does, what is no rule is passed over. To the library braces mean something, and those of a
        // hostile file could nest deeper than its parser's stack reaches.
        if check_glob(line).is_ok() {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().ok()
}
