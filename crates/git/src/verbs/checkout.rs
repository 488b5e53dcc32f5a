//! `checkout`: files as the index or a commit has them. The branch stays: a workspace is one branch's.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{DiffDelta, DiffOptions, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::add::no_such_path;
use super::changes::shown;
use super::named::is_tracked;
use super::verb::{Effect, Render, VerbEntry};
use super::{Kept, Named, Verbosity, conflicted, few, input, unresolved};
use crate::status::overlooked_change;
use crate::{
    Error, Git, ObjectId, Repository, UntrackedKind, check_extent, files_of, is_submodule,
    submodules, tracked_statuses, unstaged_changes, untracked_entries, untracked_in,
};
use branchyard_model::{ErrorKind, Problem};

pub const VERB: VerbEntry = VerbEntry {
    name: "checkout",
    title: "Bring files back",
    description: "Makes files what is staged, what the commit in `from` has, or one side of a conflict. Changes are overwritten with `confirm: true` only, and saved first. The branch stays: another one has its own workspace.",
    effect: Effect::DESTROYS.repeatable(),
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Files and directories to bring back, relative to the workspace.
    pub paths: Vec<String>,
    /// The commit, branch or tag to take them from; they are staged as well. What is staged where left out.
    pub from: Option<String>,
    /// Change only what is staged, to what `from` (or the last commit) has; the files stay as they are.
    pub staged: bool,
    /// In files with conflicts, take this side.
    pub side: Option<Side>,
    /// Has to be `true` where files with changes are overwritten. They are saved first.
    pub confirm: bool,
    /// Always refused: a workspace never goes to another branch, which has a workspace of its own.
    #[schemars(skip)]
    pub to_branch: Option<String>,
    /// How much the answer tells.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What the branch had. In a rebase that is the branch that one's own commits are put on.
    Ours,
    /// What was to be merged in. In a rebase that is one's own commit.
    Theirs,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CheckedOut {
    /// How many files were changed by it.
    pub count: usize,
    /// The files that were changed by it.
    pub files: Option<Vec<String>>,
    /// What was saved before it was overwritten.
    pub kept: Option<Kept>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        if let Some(branch) = &self.to_branch {
            let detail = "a workspace stays on its branch";
            return Err(Problem::new(ErrorKind::Conflict, "stays_on_branch", detail)
                .field("to_branch")
                .help(format!("PUT /api/repos/REPO/branches/{branch} or the tool `workspace` with action prepare gives the workspace of that branch; git_branch with action create makes a new one")));
        }
        if self.paths.is_empty() {
            return Err(Problem::unprocessable("paths", "no file is named")
                .help("give `paths`; `.` is all of the workspace"));
        }
        if self.side.is_some() && (self.from.is_some() || self.staged) {
            return Err(Problem::unprocessable(
                "side",
                "a side is taken of a conflict, not of a commit or the index",
            ));
        }
        Ok(())
    }
}

/// Where files are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Index,
    Commit(ObjectId),
    /// Only the index changes.
    Staging(ObjectId),
    Side(Side),
}

/// The files that a checkout of `named` changes. None that is not there can be named.
pub fn changing(repo: &Repository, source: Source, named: &Named) -> Result<Vec<PathBuf>, Error> {
    let tree = match source {
        Source::Commit(id) | Source::Staging(id) => {
            Some(repo.git2().find_commit(id.git2())?.tree()?)
        }
        Source::Index | Source::Side(_) => None,
    };
    let is_in_tree = |path: &Path| {
        tree.as_ref()
            .is_some_and(|tree| tree.get_path(path).is_ok())
    };
    check_named(repo, named, is_in_tree)?;
    let conflicts: Vec<_> = conflicted(repo)?
        .into_iter()
        .filter(|file| named.covers(Path::new(file)))
        .collect();
    if tree.is_some() {
        let head = repo.git2().head().and_then(|head| head.peel_to_tree()).ok();
        check_extent(repo, head.as_ref(), tree.as_ref())?;
    }
    let mut files = BTreeSet::new();
    match source {
        Source::Side(side) => return sides(repo, side, conflicts),
        Source::Index if !conflicts.is_empty() => return Err(unresolved(&conflicts).into()),
        Source::Index => {}
        Source::Staging(_) | Source::Commit(_) => {
            let mut options = DiffOptions::new();
            options.include_typechange(true);
            let diff = repo
                .git2()
                .diff_tree_to_index(tree.as_ref(), None, Some(&mut options))?;
            files.extend(diff.deltas().map(|delta| path_of(&delta)));
        }
    }
    if !matches!(source, Source::Staging(_)) {
        let changed = unstaged_changes(repo)?.into_iter();
        files.extend(changed.map(|((_, _, path), _)| path));
    }
    // Files that the source lacks stay, as with git, unless it is the index that changes.
    let is_changed = |path: &Path| !matches!(source, Source::Commit(_)) || is_in_tree(path);
    files.retain(|path| is_changed(path) && named.covers(path));
    Ok(files.into_iter().collect())
}

fn path_of(delta: &DiffDelta<'_>) -> PathBuf {
    let (old, new) = (delta.old_file(), delta.new_file());
    let path = old.path_bytes().or(new.path_bytes());
    PathBuf::from(OsStr::from_bytes(path.unwrap_or_default()))
}

/// Of the files that a checkout changes, those in whose place it writes: not the directories of
/// submodules, which git leaves as they are.
pub fn written(
    repo: &Repository,
    source: Source,
    files: &[PathBuf],
) -> Result<Vec<PathBuf>, Error> {
    let modules = match source {
        Source::Commit(id) => {
            let tree = repo.git2().find_commit(id.git2())?.tree()?;
            let modules = files.iter().filter(|path| is_submodule(&tree, path));
            modules.cloned().collect()
        }
        Source::Index | Source::Staging(_) | Source::Side(_) => submodules(repo)?,
    };
    let dir = files_of(repo).unwrap_or_else(|| "/".into());
    let is_written = |path: &&PathBuf| !(modules.contains(*path) && dir.join(path).is_dir());
    Ok(files.iter().filter(is_written).cloned().collect())
}

/// Refuses paths that are neither tracked nor there in another way.
pub(super) fn check_named(
    repo: &Repository,
    named: &Named,
    is_there: impl Fn(&Path) -> bool,
) -> Result<(), Error> {
    let index = repo.fresh_index()?;
    let is_missing = |path: &&Path| !is_tracked(&index, path) && !is_there(path);
    let missing: Vec<String> = named.iter().filter(is_missing).map(shown).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(no_such_path(&missing).into()),
    }
}

/// Of the files with conflicts, each of which must have that side.
fn sides(repo: &Repository, side: Side, conflicts: Vec<String>) -> Result<Vec<PathBuf>, Error> {
    let stage = match side {
        Side::Ours => 2,
        Side::Theirs => 3,
    };
    let refused =
        |code: &str, detail: String| Problem::new(ErrorKind::Conflict, code, detail).field("side");
    if conflicts.is_empty() {
        let detail = "none of these files has a conflict".to_owned();
        return Err(refused("no_conflicts", detail).into());
    }
    let index = repo.git2().index()?;
    let (files, lacking): (Vec<_>, Vec<_>) = conflicts
        .into_iter()
        .partition(|file| index.get_path(Path::new(file), stage).is_some());
    if !lacking.is_empty() {
        let detail = format!("that side has deleted {}", few(&lacking));
        return Err(refused("side_is_deleted", detail)
            .help("git_resolve decides about a file that one side deleted")
            .into());
    }
    Ok(files.into_iter().map(PathBuf::from).collect())
}

/// Of the files that a checkout changes, those of which no commit has what is there now.
pub fn overwritten(repo: &Repository, files: &[PathBuf]) -> Result<Vec<String>, Error> {
    let Some(workdir) = files_of(repo).filter(|_| !files.is_empty()) else {
        return Ok(Vec::new());
    };
    let files: BTreeSet<&Path> = files.iter().map(PathBuf::as_path).collect();
    let mut lost = Vec::new();
    for (path, status) in tracked_statuses(repo)? {
        // A file in a directory that stands where a file is to come is in the way, too.
        let is_hit = path.ancestors().any(|part| files.contains(part));
        if is_hit && status != Status::WT_DELETED {
            lost.push(shown(&path));
        }
    }
    lost.extend(untracked_in_the_way(repo, &workdir, &files)?);
    for file in files {
        let is_in_the_way =
            fs::symlink_metadata(workdir.join(file)).is_ok_and(|meta| meta.is_dir());
        if is_in_the_way {
            lost.push(format!("{}/", shown(file)));
        }
    }
    if overlooked_change(&repo.git2().index()?, &workdir) {
        lost.push("files that git was told to overlook".to_owned());
    }
    Ok(lost)
}

/// Untracked files, ignored or not, at the paths of `files` or in directories that stand there.
fn untracked_in_the_way(
    repo: &Repository,
    workdir: &Path,
    files: &BTreeSet<&Path>,
) -> Result<Vec<String>, Error> {
    let modules = submodules(repo)?;
    let mut pending = untracked_entries(repo)?;
    let mut found = Vec::new();
    while let Some(item) = pending.pop() {
        let path = &item.path;
        let is_hit = path.ancestors().any(|part| files.contains(part));
        let leads_there = || files.iter().any(|file| file.starts_with(path));
        if modules.contains(path) || (!is_hit && !leads_there()) {
            continue;
        }
        match item.kind {
            UntrackedKind::Directory => pending.extend(untracked_in(workdir, path)?),
            _ if is_hit => found.push(shown(path)),
            _ => {}
        }
    }
    found.sort();
    Ok(found)
}

/// Brings `files` back, whose old ones are gone by now. One that a person has put in its place meanwhile stays.
pub async fn checkout(
    git: &Git,
    dir: &Path,
    source: Source,
    files: &[PathBuf],
) -> Result<(), Error> {
    if let Source::Staging(id) | Source::Commit(id) = source {
        // What the commit lacks stays where it is, unless it is the index alone that changes.
        let overlay = match source {
            Source::Commit(_) => "--overlay",
            _ => "--no-overlay",
        };
        git.in_worktree(dir)
            .literal_paths()
            .args(["restore", "--quiet", "--staged", overlay])
            .arg(format!("--source={id}"))
            .args(["--pathspec-from-file=-", "--pathspec-file-nul"])
            .input(input::paths(files)?)
            .output()
            .await?;
    }
    let stage: &[&str] = match source {
        Source::Staging(_) => return Ok(()),
        Source::Index | Source::Commit(_) => &["--index"],
        Source::Side(Side::Ours) => &["--stage=2"],
        Source::Side(Side::Theirs) => &["--stage=3"],
    };
    let command = git.in_worktree(dir).args(["checkout-index", "--quiet"]);
    let command = command.args(stage).args(["-z", "--stdin"]);
    match command.input(input::paths(files)?).output().await {
        // Of files that are there already it is quiet, and says no all the same.
        Err(Error::Refused {
            code: Some(1),
            stderr,
            ..
        }) if stderr.is_empty() => Ok(()),
        written => written.map(drop),
    }
}

impl Render for CheckedOut {
    fn text(&self) -> String {
        let mut text = format!("{} file(s) brought back", self.count);
        for file in self.files.iter().flatten() {
            text.push_str(&format!("\n{file}"));
        }
        text.extend(self.kept.as_ref().map(Kept::line));
        text
    }
}
