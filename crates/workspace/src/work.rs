//! What a user could miss: the reasons why a workspace may not simply go. Beside the tracked files it
//! tells what is somebody's from what a build made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::build_output::{self, BuildOutputNotes};
use super::{Error, Pin, Workspace};
use crate::included::IncludedFiles;
use crate::submodules::SubmodulesLook;
use crate::{built_from, pin, standing};
use branchyard_git::{
    self as git, IgnoreRules, Repository, ScanResult, Submodule, UntrackedEntry, UntrackedKind,
};
use branchyard_model::CommitId;

/// Enough names to recognise what is meant.
const EXAMPLES: usize = 5;

/// What lies beside the tracked files, told apart; all paths are relative to the workspace.
#[derive(Debug, Default)]
pub(super) struct Belongings {
    /// Files that are somebody's, and in which untracked or ignored entry they were found.
    pub(super) files: Vec<WorkEntry>,
    /// Repositories of their own.
    pub(super) repositories: Vec<WorkEntry>,
    /// Submodules that somebody worked in, and what of it is not among their untracked files.
    pub(super) submodules: Vec<WorkedSubmodule>,
    /// Directories without a file in them.
    pub(super) empty: Vec<PathBuf>,
    pub(super) output: Vec<OutputEntry>,
    /// Entries that `git status` shows as untracked, whole directories as one.
    pub(super) untracked: usize,
    /// The same look found tracked files or the index to differ from HEAD.
    pub(super) is_changed: bool,
}

#[derive(Debug)]
pub(super) struct WorkedSubmodule {
    pub(super) path: PathBuf,
    /// Git's own files of it, by its name among the registrations; none of what stands in the place of one.
    pub(super) registration: Option<PathBuf>,
    /// None of one that is only in another.
    why: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct WorkEntry {
    pub(super) path: PathBuf,
    /// The whole untracked or ignored entry that it belongs to, as a person would name it.
    entry: String,
    ignored: bool,
}

/// What a build made: a file or directory, whole.
#[derive(Debug, Clone)]
pub(super) struct OutputEntry {
    pub(super) item: UntrackedEntry,
    /// Git overlooks it, so nobody's status shows it.
    pub(super) ignored: bool,
}

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// At every file.
    Whole,
    /// At each untracked or ignored entry until something in it is found to be somebody's.
    UntilFound,
}

/// Why this workspace, which exists, may not simply go; empty if nothing in it would be missed.
pub async fn reasons_to_stay(workspace: &Arc<Workspace>) -> Result<Vec<String>, Error> {
    let _files = workspace.share_files().await;
    workspace
        .looking(|this| {
            let repo = this.worktree().open()?;
            reasons(this, &repo, &belongings(this, &repo, Look::UntilFound)?)
        })
        .await
}

/// All reasons: that somebody pinned it, and the work in it.
pub(super) fn reasons(
    workspace: &Workspace,
    repo: &Repository,
    belongings: &Belongings,
) -> Result<Vec<String>, Error> {
    let mut reasons: Vec<String> = pin::pinned(workspace).iter().map(Pin::says).collect();
    reasons.extend(pins(workspace, repo, belongings)?);
    Ok(reasons)
}

/// Notes that a command starts here: what is born until it ends is its output. It is made from `commit`, or
/// from more than is known; after an error, that is not written down, and the command must not start.
pub fn command_begins(workspace: &Workspace, commit: Option<&CommitId>) -> Result<(), Error> {
    built_from::note_built_from(workspace, commit)?;
    if let Err(error) = build_output::note_begin(workspace.worktree().admin()) {
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "what this command makes will count as work");
    }
    Ok(())
}

/// Notes that the command ended at `at`. The caller holds the workspace's lock.
pub fn command_ended(workspace: &Workspace, at: Timestamp) {
    let admin = workspace.worktree().admin();
    let noted = build_output::note_end(admin, at)
        .map_err(Error::io("note the end of a command"))
        .and_then(|is_crowded| match is_crowded {
            true => settle_output(workspace),
            false => Ok(()),
        });
    if let Err(error) = noted {
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "what this command made will count as work");
    }
}

fn settle_output(workspace: &Workspace) -> Result<(), Error> {
    let output = belongings(workspace, &workspace.worktree().open()?, Look::Whole)?.output;
    let made = output
        .iter()
        .map(|output| (output.item.path.as_path(), &output.item.meta));
    let admin = workspace.worktree().admin();
    BuildOutputNotes::load(admin)
        .settle(admin, made)
        .map_err(Error::io("keep what commands made"))
}

/// Whether there is nothing beside the tracked files but build output. Blocks.
pub fn has_only_output(workspace: &Workspace) -> Result<bool, Error> {
    let found = belongings(workspace, &workspace.worktree().open()?, Look::UntilFound)?;
    Ok(found.files.is_empty() && found.repositories.is_empty() && found.submodules.is_empty())
}

/// Looks at all files, and tells what lies beside the tracked ones apart.
pub(super) fn belongings(
    workspace: &Workspace,
    repo: &Repository,
    look: Look,
) -> Result<Belongings, Error> {
    let submodules = SubmodulesLook::of(workspace)?;
    let looked = git::scan_beside(repo, &submodules.untouched())?;
    told_apart(workspace, repo, look, (looked, &submodules))
}

pub(super) fn told_apart(
    this: &Workspace,
    repo: &Repository,
    look: Look,
    (looked, submodules): (ScanResult, &SubmodulesLook),
) -> Result<Belongings, Error> {
    let mut sorting = Sorting {
        workspace: this,
        rules: IgnoreRules::of(repo)?,
        submodules,
        made: BuildOutputNotes::load(this.worktree().admin()),
        // Where they are not known, they count as work.
        included: IncludedFiles::of(this).unwrap_or_default(),
        look,
        found: Belongings::default(),
    };
    for looked in submodules.iter() {
        let path = looked.submodule().path();
        let cut_off = || "its last move was cut off".to_owned();
        let why = looked.work().map(str::to_owned);
        let why = why.or_else(|| looked.is_cut_off().then(cut_off));
        let mut outer = sorting.found.submodules.iter();
        if why.is_some() || outer.any(|outer| path.starts_with(&outer.path)) {
            sorting.found.submodules.push(WorkedSubmodule {
                path: path.to_owned(),
                registration: Some(looked.submodule().registration().to_owned()),
                why,
            });
        }
    }
    sorting.found.is_changed = looked.changed;
    for item in submodules.expand(looked.untracked) {
        sorting.entry(item)?;
    }
    Ok(sorting.found)
}

/// The work in this workspace, one reason each; empty if nothing would be missed. In doubt it is work.
pub(super) fn pins(
    workspace: &Workspace,
    repo: &Repository,
    belongings: &Belongings,
) -> Result<Vec<String>, Error> {
    let mut pins = tracked_work(workspace, repo, belongings.is_changed)?;
    if !git::other_submodules(workspace.worktree())?.is_empty() {
        pins.push("submodules, whose repositories would go with it".to_owned());
    }
    let worked = belongings.submodules.iter();
    pins.extend(worked.filter_map(|worked| {
        let (path, why) = (worked.path.display(), worked.why.as_ref()?);
        Some(format!("the submodule {path}: {why}"))
    }));
    let stashes = stashes(workspace, repo).len();
    if stashes > 0 {
        pins.push(format!("{stashes} stash(es) of this branch"));
    }
    for (ignored, kind) in [(false, "untracked"), (true, "ignored")] {
        pins.extend(named(kind, &belongings.files, |found| {
            found.ignored == ignored
        }));
    }
    if !belongings.repositories.is_empty() {
        let names = examples(&belongings.repositories, |_| true);
        pins.push(format!("repositories of their own: {names}"));
    }
    Ok(pins)
}

/// The work in commits, index and tracked files; whether the latter changed is known.
pub(super) fn tracked_work(
    workspace: &Workspace,
    repo: &Repository,
    is_changed: bool,
) -> Result<Vec<String>, Error> {
    let mut pins = Vec::new();
    let head = match git::head(repo) {
        Err(git::Error::Unborn) => {
            return Ok(vec![
                "a branch without a commit, where it was moved by hand".to_owned(),
            ]);
        }
        head => head?,
    };
    let about = standing::standing(workspace, repo, Some(is_changed))?;
    if let Some(operation) = head.operation {
        pins.push(format!("a {operation} is under way"));
    }
    if is_changed {
        pins.push("changes to tracked files".to_owned());
    }
    if about.ahead > 0 {
        pins.push(format!(
            "{} commit(s) that the remote does not have",
            about.ahead
        ));
    }
    // Moved elsewhere by hand, the workspace still stands for its branch, which would go with it.
    if head.branch.as_deref() != Some(workspace.branch().as_str()) {
        let unseen = git::unseen_commits(repo, workspace.branch())?;
        if unseen > 0 {
            pins.push(format!(
                "{unseen} commit(s) on {} that the remote does not have",
                workspace.branch()
            ));
        }
    }
    Ok(pins)
}

/// Stashes are shared by all worktrees; their subject says whose they are.
pub(super) fn stashes(workspace: &Workspace, repo: &Repository) -> Vec<git::Stash> {
    let subjects = git::verbs::stash::subjects(workspace.branch());
    git::stashes(repo)
        .into_iter()
        .filter(|stash| {
            subjects
                .iter()
                .any(|own| stash.message.starts_with(own.as_str()))
        })
        .collect()
}

struct Sorting<'a> {
    workspace: &'a Workspace,
    rules: IgnoreRules,
    submodules: &'a SubmodulesLook,
    made: BuildOutputNotes,
    included: IncludedFiles,
    look: Look,
    found: Belongings,
}

impl Sorting<'_> {
    /// One untracked or ignored entry, whole.
    fn entry(&mut self, item: UntrackedEntry) -> Result<(), Error> {
        let ignored = self.is_ignored(&item.path);
        let mut name = item.path.to_string_lossy().into_owned();
        if item.kind != UntrackedKind::File {
            name.push('/');
        }
        let output = self.found.output.len();
        let somebodys = self.sort(item, &name, ignored)?;
        let is_hollow = !somebodys && output == self.found.output.len();
        if !ignored && !is_hollow {
            self.found.untracked += 1;
        }
        Ok(())
    }

    /// Returns whether something in it is somebody's.
    fn sort(&mut self, item: UntrackedEntry, entry: &str, ignored: bool) -> Result<bool, Error> {
        // What is in it was found apart.
        if self.submodules.at(&item.path).is_some() {
            return Ok(false);
        }
        // What the operator supplied can be had again.
        if item.kind == UntrackedKind::File && self.included.is_unchanged(&item.path) {
            return Ok(false);
        }
        let globs = &self.workspace.repo().config().build_output;
        let is_declared = globs.matches(&item.path);
        let is_made = is_declared || self.made.explains(&item.path, &item.meta);
        let is_whole = is_declared || item.kind == UntrackedKind::File;
        // What a run put beside the operator's files is told apart from them.
        let is_mixed = !is_whole && self.included.reach_into(&item.path);
        if is_made && !is_mixed && (is_whole || !self.has_work_in(&item)?) {
            let ignored = ignored || self.is_ignored(&item.path);
            self.found.output.push(OutputEntry { item, ignored });
            return Ok(false);
        }
        let found = WorkEntry {
            path: item.path.clone(),
            entry: entry.to_owned(),
            ignored: ignored || self.is_ignored(&item.path),
        };
        match item.kind {
            UntrackedKind::File => self.found.files.push(found),
            UntrackedKind::Repository => self.found.repositories.push(found),
            UntrackedKind::Directory => return self.descend(&item.path, entry, found.ignored),
        }
        Ok(true)
    }

    /// By the rules of the innermost repository that it is in.
    fn is_ignored(&self, path: &Path) -> bool {
        match self.submodules.around(path) {
            Some(submodule) => submodule.ignores(path),
            None => self.rules.is_ignored(path),
        }
    }

    /// Whether somebody put something into a directory that a command made. A repository is looked into
    /// like any other, its `.git` included: a commit there changes nothing of the directory itself.
    fn has_work_in(&self, dir: &UntrackedEntry) -> Result<bool, Error> {
        let globs = &self.workspace.repo().config().build_output;
        for item in git::untracked_in(self.workspace.path(), &dir.path)? {
            if globs.matches(&item.path) || self.submodules.at(&item.path).is_some() {
                continue;
            }
            let is_made = self.made.explains(&item.path, &item.meta);
            let has_work = match item.kind {
                UntrackedKind::File => !is_made && !self.included.is_unchanged(&item.path),
                UntrackedKind::Directory | UntrackedKind::Repository => self.has_work_in(&item)?,
            };
            if has_work {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn descend(&mut self, dir: &Path, entry: &str, ignored: bool) -> Result<bool, Error> {
        let inside = git::untracked_in(self.workspace.path(), dir)?;
        if inside.is_empty() {
            self.found.empty.push(dir.to_owned());
        }
        let mut somebodys = false;
        for item in inside {
            somebodys |= self.sort(item, entry, ignored)?;
            if somebodys && self.look == Look::UntilFound {
                break;
            }
        }
        Ok(somebodys)
    }
}

fn named(kind: &str, found: &[WorkEntry], which: impl Fn(&WorkEntry) -> bool) -> Option<String> {
    let names = examples(found, which);
    (!names.is_empty()).then(|| format!("{kind} files: {names}"))
}

fn examples(found: &[WorkEntry], which: impl Fn(&WorkEntry) -> bool) -> String {
    let mut names: Vec<&str> = found
        .iter()
        .filter(|found| which(found))
        .map(|found| found.entry.as_str())
        .collect();
    names.dedup();
    let shown = names[..names.len().min(EXAMPLES)].join(", ");
    match names.len().checked_sub(EXAMPLES) {
        Some(more) if more > 0 => format!("{shown} and {more} more"),
        _ => shown,
    }
}

impl Belongings {
    /// Whether somebody could miss something of what is not tracked.
    pub(super) fn would_be_missed(&self) -> bool {
        !self.files.is_empty() || !self.repositories.is_empty() || self.shown_output().is_some()
    }

    /// Build output that `git status` shows.
    pub(super) fn shown_output(&self) -> Option<String> {
        let shown = self.output.iter().filter(|output| !output.ignored).count();
        (shown > 0).then(|| format!("build output that git does not ignore ({shown})"))
    }
}

/// Counts what is at the places of these submodules as work, for which there is a reason.
pub(super) fn add_submodules(
    belongings: &mut Belongings,
    workspace: &Workspace,
    stay: Vec<(PathBuf, String)>,
) {
    for (path, why) in stay {
        let mut known = belongings.submodules.iter();
        if known.any(|known| path.starts_with(&known.path)) {
            continue;
        }
        let filled = Submodule::new(workspace.worktree(), &path, "");
        let is_filled = filled.worktree().admin().exists();
        belongings.submodules.push(WorkedSubmodule {
            registration: is_filled.then(|| filled.registration().to_owned()),
            path,
            why: Some(why),
        });
    }
}
