//! Changes that are not committed, and so are in the way of whatever moves files.

use git2::Status;

use crate::submodule::record::that_follow;
use crate::{Error, Repository, tracked_changes_beside, tracked_statuses};
use branchyard_model::{ErrorKind, Problem};

/// As many are named in a refusal.
const EXAMPLES: usize = 50;

/// Tracked files that differ from HEAD, in the index or in the workspace.
pub struct LocalChanges {
    pub staged: Vec<String>,
    pub unstaged: Vec<String>,
    /// One that git was told to overlook differs.
    pub overlooked: bool,
}

pub fn local_changes(repo: &Repository) -> Result<LocalChanges, Error> {
    let (mut staged, mut unstaged) = (Vec::new(), Vec::new());
    let in_index = Status::INDEX_NEW
        | Status::INDEX_MODIFIED
        | Status::INDEX_DELETED
        | Status::INDEX_RENAMED
        | Status::INDEX_TYPECHANGE;
    let followers = that_follow(repo.path());
    for (path, status) in tracked_statuses(repo)? {
        if status == Status::WT_MODIFIED && followers.contains(&path) {
            continue;
        }
        let path = path.to_string_lossy().into_owned();
        match status.intersects(in_index) {
            true => staged.push(path),
            false => unstaged.push(path),
        }
    }
    let overlooked =
        staged.is_empty() && unstaged.is_empty() && tracked_changes_beside(repo, &followers)?;
    Ok(LocalChanges {
        staged,
        unstaged,
        overlooked,
    })
}

impl LocalChanges {
    pub fn is_empty(&self) -> bool {
        self.staged.is_empty() && self.unstaged.is_empty() && !self.overlooked
    }

    pub fn files(&self) -> Vec<String> {
        let mut files = self.staged.clone();
        files.extend(self.unstaged.iter().cloned());
        files
    }
}

/// The refusal that names all changed files, if there are any.
pub fn local_changes_in_the_way(repo: &Repository) -> Result<Option<Problem>, Error> {
    let changes = local_changes(repo)?;
    Ok((!changes.is_empty()).then(|| problem(&changes.files())))
}

pub(super) fn problem(files: &[String]) -> Problem {
    let named = match files.is_empty() {
        true => "files that git was told to overlook".to_owned(),
        false => some_of(files),
    };
    let detail = format!("changes that are not committed are in the way: {named}");
    Problem::new(ErrorKind::Conflict, "local_changes", detail)
        .help("commit them (git_commit) or set them aside (git_stash), then ask again")
}

pub(super) fn some_of(files: &[String]) -> String {
    let shown = files[..files.len().min(EXAMPLES)].join(", ");
    match files.len().checked_sub(EXAMPLES) {
        Some(more) if more > 0 => format!("{shown} and {more} more"),
        _ => shown,
    }
}
