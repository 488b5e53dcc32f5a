//! New files that a commit of everything leaves out, because a build made them, or may have made them.
//!
//! A file that was born while a run was at work is most likely its output, but a caller may have written it
//! meanwhile. It is neither published unasked nor forgotten: it stays where it is, and the answer names it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::work::{Look, OutputEntry};
use super::{Error, Workspace};
use crate::included::{self, IncludedFiles};
use crate::submodules::SubmodulesLook;
use crate::work;
use branchyard_git::verbs::withheld::Withheld;
use branchyard_git::{self as git, IgnoreRules, Repository, ScanResult, UntrackedKind};

const DECLARED: &str = "`build_output` names it; name it in `paths` to commit it";
const BORN_DURING_RUN: &str =
    "it was created while a run was at work here; if it is not build output, name it in `paths`";

/// What is left out of "everything".
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Files and directories, whole.
    pub(super) paths: HashSet<PathBuf>,
    pub(super) withheld: Vec<Withheld>,
}

impl LeftOut {
    /// What is left out where these paths were named besides: each of them is staged as it was named, so only what
    /// is told of changes.
    pub(super) fn but(mut self, named: &[PathBuf]) -> Self {
        let is_named = |path: &str| named.iter().any(|named| Path::new(path) == named);
        self.withheld.retain(|withheld| !is_named(&withheld.path));
        self
    }

    pub(super) fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|part| self.paths.contains(part))
    }
}

/// New files that git would add and the yard holds to be build output, whole directories as one. Blocks.
pub(super) fn left_out(workspace: &Workspace, repo: &Repository) -> Result<LeftOut, Error> {
    let rules = IgnoreRules::of(repo)?;
    let mut untracked = git::untracked_entries(repo)?;
    untracked.retain(|item| !rules.is_ignored(&item.path));
    let looked = ScanResult {
        changed: false,
        untracked,
    };
    let mut found = LeftOut::default();
    // What is in a submodule is none of this commit's.
    let looked = (looked, &SubmodulesLook::default());
    for output in work::told_apart(workspace, repo, Look::Whole, looked)?.output {
        if output.ignored || !is_shown(workspace, &rules, &output)? {
            continue;
        }
        found.withheld.push(withheld(workspace, &output));
        found.paths.insert(output.item.path);
    }
    for path in IncludedFiles::of(workspace)?.shown(repo)? {
        if !found.covers(&path) {
            found.withheld.push(Withheld {
                path: path.to_string_lossy().into_owned(),
                why: included::WITHHELD.to_owned(),
            });
            found.paths.insert(path);
        }
    }
    Ok(found)
}

/// Whether git shows anything of it: an empty directory, or one with ignored files alone, is none of its business.
fn is_shown(
    workspace: &Workspace,
    rules: &IgnoreRules,
    output: &OutputEntry,
) -> Result<bool, Error> {
    let mut pending = vec![output.item.clone()];
    while let Some(item) = pending.pop() {
        if rules.is_ignored(&item.path) {
            continue;
        }
        match item.kind {
            UntrackedKind::File | UntrackedKind::Repository => return Ok(true),
            UntrackedKind::Directory => {
                pending.extend(git::untracked_in(workspace.path(), &item.path)?);
            }
        }
    }
    Ok(false)
}

fn withheld(workspace: &Workspace, output: &OutputEntry) -> Withheld {
    let path = &output.item.path;
    let why = match workspace.repo().config().build_output.matches(path) {
        true => DECLARED,
        false => BORN_DURING_RUN,
    };
    let slash = match output.item.kind {
        UntrackedKind::File => "",
        UntrackedKind::Directory | UntrackedKind::Repository => "/",
    };
    Withheld {
        path: format!("{}{slash}", path.to_string_lossy()),
        why: why.to_owned(),
    }
}
