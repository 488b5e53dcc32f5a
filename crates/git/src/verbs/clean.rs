//! `clean`: which files beside the tracked ones would go.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changes::shown;
use super::verb::{Effect, Render, VerbEntry};
use super::{Kept, Named, Verbosity};
use crate::{
    Error, IgnoreRules, Repository, UntrackedEntry, UntrackedKind, files_of, submodules,
    untracked_entries, untracked_in,
};

pub const VERB: VerbEntry = VerbEntry {
    name: "clean",
    title: "Remove untracked files",
    description: "Lists untracked files; with `dry_run: false` and `confirm: true` they are removed. What somebody could miss is saved first. Repositories within stay unless they are named.",
    effect: Effect::DESTROYS.repeatable(),
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Only what is in these files and directories.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Also untracked directories. Those that `paths` names are looked into anyway.
    #[serde(default)]
    pub directories: bool,
    /// Also what an ignore rule covers, such as build output.
    #[serde(default)]
    pub ignored: bool,
    /// Only say what would go.
    #[serde(default = "yes")]
    pub dry_run: bool,
    /// Has to be `true` for anything to be removed.
    #[serde(default)]
    pub confirm: bool,
    /// How much the answer tells.
    #[serde(default)]
    pub verbosity: Verbosity,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Cleaned {
    /// Whether they were removed, or only listed.
    pub removed: bool,
    pub count: usize,
    /// What goes, whole directories as one.
    pub entries: Option<Vec<Leaving>>,
    /// Repositories of their own that stay, for `paths` does not name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories_kept: Vec<String>,
    /// What was saved before it was removed.
    pub kept: Option<Kept>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leaving {
    pub path: String,
    pub kind: CleanKind,
    pub ignored: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
pub enum CleanKind {
    File,
    Directory,
    Repository,
}

/// What is to go.
#[derive(Debug, Default)]
pub struct Sweep {
    /// Relative to the workspace.
    pub paths: Vec<PathBuf>,
    pub entries: Vec<Leaving>,
    pub repositories_kept: Vec<String>,
}

/// Finds what the request asks for; `named` are its paths.
pub fn sweep(repo: &Repository, request: &Request, named: &Named) -> Result<Sweep, Error> {
    let Some(workdir) = files_of(repo) else {
        return Ok(Sweep::default());
    };
    let mut sweeping = Sweeping {
        rules: IgnoreRules::of(repo)?,
        workdir: &workdir,
        request,
        named,
        found: Sweep::default(),
    };
    let modules = submodules(repo)?;
    for item in untracked_entries(repo)? {
        // A submodule is tracked, though what is in it is its own.
        if !modules.contains(&item.path) {
            sweeping.entry(&item, false)?;
        }
    }
    Ok(sweeping.found)
}

struct Sweeping<'a> {
    rules: IgnoreRules,
    workdir: &'a Path,
    request: &'a Request,
    named: &'a Named,
    found: Sweep,
}

impl Sweeping<'_> {
    /// Returns whether all of it goes.
    fn entry(&mut self, item: &UntrackedEntry, in_ignored: bool) -> Result<bool, Error> {
        let path = &item.path;
        let is_covered = self.named.covers(path);
        if !is_covered && !self.named.reaches_into(path) {
            return Ok(false);
        }
        let ignored = in_ignored || self.rules.is_ignored(path);
        if ignored && !self.request.ignored {
            return Ok(false);
        }
        match item.kind {
            UntrackedKind::File => self.leaves(path, CleanKind::File, ignored),
            UntrackedKind::Repository if self.named.has(path) => {
                self.leaves(path, CleanKind::Repository, ignored);
            }
            UntrackedKind::Repository => {
                if is_covered {
                    self.found.repositories_kept.push(shown(path));
                }
                return Ok(false);
            }
            UntrackedKind::Directory => return self.directory(path, ignored, is_covered),
        }
        Ok(true)
    }

    fn directory(&mut self, path: &Path, ignored: bool, is_covered: bool) -> Result<bool, Error> {
        // As with git, naming a path is enough.
        if is_covered && self.named.is_empty() && !self.request.directories {
            return Ok(false);
        }
        let before = (self.found.paths.len(), self.found.entries.len());
        let mut goes_whole = is_covered;
        for inner in untracked_in(self.workdir, path)? {
            goes_whole &= self.entry(&inner, ignored)?;
        }
        if goes_whole {
            self.found.paths.truncate(before.0);
            self.found.entries.truncate(before.1);
            self.leaves(path, CleanKind::Directory, ignored);
        }
        Ok(goes_whole)
    }

    fn leaves(&mut self, path: &Path, kind: CleanKind, ignored: bool) {
        self.found.paths.push(path.to_owned());
        self.found.entries.push(Leaving {
            path: shown(path),
            kind,
            ignored,
        });
    }
}

impl Cleaned {
    pub fn new(sweep: Sweep, verbosity: Verbosity, removed: bool, kept: Option<Kept>) -> Self {
        Self {
            removed,
            count: sweep.entries.len(),
            entries: (verbosity > Verbosity::Minimal || !removed).then_some(sweep.entries),
            repositories_kept: sweep.repositories_kept,
            kept,
        }
    }
}

impl Render for Cleaned {
    fn text(&self) -> String {
        let done = if self.removed { "removed" } else { "would go" };
        let mut text = format!("{} {done}", self.count);
        for entry in self.entries.iter().flatten() {
            text.push_str(&format!("\n{}", entry.path));
        }
        if !self.repositories_kept.is_empty() {
            let kept = self.repositories_kept.join(", ");
            text.push_str(&format!("\nrepositories that stay: {kept}"));
        }
        text.extend(self.kept.as_ref().map(Kept::line));
        text
    }
}
