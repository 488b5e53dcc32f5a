//! A workspace as people and programs see it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::record::Record;
use super::{Error, Workspace};
use crate::git::{self, Seen};
use crate::model::{About, BranchName, CommitId, Holder, RepoName};

#[derive(Debug, Clone, Serialize)]
pub struct Description {
    pub repo: RepoName,
    pub branch: BranchName,
    /// `null` for a branch that only the remote has.
    pub path: Option<PathBuf>,
    pub commit: Option<CommitId>,
    pub tree: Option<CommitId>,
    /// Tracked files or the index differ from the commit.
    pub dirty: bool,
    /// Untracked files, whole directories counted as one; ignored ones are left out.
    pub untracked: usize,
    pub ahead: usize,
    pub behind: usize,
    pub fetched_at: Option<Timestamp>,
    /// The branch was on the remote once and is not any more.
    pub gone_upstream: bool,
    /// Why it may not be removed.
    pub pins: Vec<String>,
    /// Bytes on disk; only where one workspace is asked for, since it is measured by walking it.
    pub size: Option<u64>,
    pub last_used: Option<Timestamp>,
    pub holder: Option<Holder>,
}

impl Workspace {
    /// Describes a workspace that exists.
    pub async fn describe(self: &Arc<Self>, with_size: bool) -> Result<Description, Error> {
        let _floor = self.stand().await;
        self.blocking(move |this| {
            let repo = this.worktree.open()?;
            let about = this.standing(&repo, Some(git::tracked_changes(&repo)?))?;
            let seen = !Seen(&this.branch.dir()).commits(&repo)?.is_empty();
            let on_remote = git::read_ref(&repo, &this.branch.remote_ref())?.is_some();
            let record = Record::load(this.worktree.admin());
            Ok(Description {
                untracked: git::untracked_entries(&repo, false, usize::MAX)?.len(),
                gone_upstream: seen && !on_remote,
                pins: this.pins(&repo, &about)?,
                size: with_size.then(|| size_of(this.path())),
                last_used: record.map(|record| record.last_used),
                holder: this.turn.holder(),
                ..Description::of(
                    &this.repo.name,
                    &this.branch,
                    Some(this.path()),
                    Some(about),
                )
            })
        })
        .await
    }
}

impl Description {
    /// A branch of which only the remote's commit is known.
    pub fn remote_only(repo: &RepoName, branch: &BranchName, commit: CommitId) -> Self {
        Self {
            commit: Some(commit),
            ..Self::of(repo, branch, None, None)
        }
    }

    fn of(repo: &RepoName, branch: &BranchName, path: Option<&Path>, about: Option<About>) -> Self {
        Self {
            repo: repo.clone(),
            branch: branch.clone(),
            path: path.map(Path::to_owned),
            commit: about.as_ref().map(|about| about.commit.clone()),
            tree: about.as_ref().map(|about| about.tree.clone()),
            dirty: about
                .as_ref()
                .is_some_and(|about| about.dirty == Some(true)),
            untracked: 0,
            ahead: about.as_ref().map_or(0, |about| about.ahead),
            behind: about.as_ref().map_or(0, |about| about.behind),
            fetched_at: about.and_then(|about| about.fetched_at),
            gone_upstream: false,
            pins: Vec::new(),
            size: None,
            last_used: None,
            holder: None,
        }
    }
}

/// Bytes that the files under `dir` take up; what vanishes meanwhile counts for nothing.
fn size_of(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => size_of(&entry.path()),
            Ok(meta) => meta.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}
