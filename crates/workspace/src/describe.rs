//! A workspace as people and programs see it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::no_workspace;
use super::work::Look;
use super::{Error, Pin, Prepared, Sizes, Workspace};
use crate::submodules::SubmodulesLook;
use crate::{FilesGuard, sizes, standing, work};
use branchyard_git::{self as git, ScanResult, Seen};
use branchyard_model::{About, BranchName, CommitId, Holder, RepoName, slug};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Description {
    pub repo: RepoName,
    pub branch: BranchName,
    /// `null` for a branch that only the remote has.
    pub path: Option<PathBuf>,
    /// One word for the branch of this repo, as builds see it in `BRANCHYARD_SLUG`.
    #[serde(default)]
    pub slug: String,
    /// The first of its ten ports, `BRANCHYARD_PORT` of its builds; `null` until it was prepared or built.
    pub port: Option<u16>,
    pub commit: Option<CommitId>,
    pub tree: Option<CommitId>,
    /// The first line of the commit's message; `null` for a branch that only the remote has.
    pub subject: Option<String>,
    /// Tracked files or the index differ from the commit.
    #[serde(default)]
    pub dirty: bool,
    /// Untracked files, whole directories counted as one; ignored ones are left out.
    #[serde(default)]
    pub untracked: usize,
    #[serde(default)]
    pub ahead: usize,
    #[serde(default)]
    pub behind: usize,
    pub fetched_at: Option<Timestamp>,
    /// A rebase, merge or the like that waits to be finished.
    pub operation: Option<Cow<'static, str>>,
    /// The branch was on the remote once and is not any more.
    #[serde(default)]
    pub gone_upstream: bool,
    /// Why it may not be removed.
    #[serde(default)]
    pub pins: Vec<String>,
    /// Bytes on disk, as they were last measured.
    pub size: Option<u64>,
    pub sizes: Option<Sizes>,
    /// Who wants it kept, by hand.
    pub pinned: Option<Pin>,
    pub last_used: Option<Timestamp>,
    pub holder: Option<Holder>,
}

/// Describes a workspace that exists. One that was never measured is, if `with_size` says so: that
/// walks all of it.
pub async fn describe(workspace: &Arc<Workspace>, with_size: bool) -> Result<Description, Error> {
    let files_guard = workspace.share_files().await;
    // It may have gone while another held the files.
    if !workspace.exists() {
        return Err(no_workspace(workspace.branch()).into());
    }
    describe_with(workspace, with_size, None, files_guard).await
}

/// Describes what was just made ready: what is known of its tracked files holds for as long as its files are
/// held.
pub async fn describe_prepared(
    workspace: &Arc<Workspace>,
    (about, files_guard): Prepared,
) -> Result<Description, Error> {
    // A caller who prepares it may want to know where its servers are going to listen.
    if let Err(error) = workspace.lease_ports() {
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "a workspace has no ports");
    }
    describe_with(workspace, true, about.dirty, files_guard).await
}

async fn describe_with(
    workspace: &Arc<Workspace>,
    with_size: bool,
    changed: Option<bool>,
    _files: FilesGuard,
) -> Result<Description, Error> {
    workspace
        .looking(move |this| {
            let repo = this.worktree().open()?;
            let head = git::head(&repo);
            let operation = head.as_ref().ok().and_then(|head| head.operation);
            let operation = operation.map(Cow::Borrowed);
            let subject = head.as_ref().ok().and_then(|head| head.subject.clone());
            let submodules = SubmodulesLook::of(this)?;
            let looked = match changed {
                Some(changed) => ScanResult {
                    changed,
                    untracked: git::untracked_entries(&repo)?,
                },
                None => {
                    let status = this.scanner().all(&repo)?;
                    let untouched = submodules.untouched();
                    ScanResult::closely(&repo, status.as_ref().as_ref(), &untouched)?
                }
            };
            let belongings =
                work::told_apart(this, &repo, Look::UntilFound, (looked, &submodules))?;
            let about = match head {
                Err(git::Error::Unborn) => None,
                _ => Some(standing::standing(
                    this,
                    &repo,
                    Some(belongings.is_changed || !belongings.submodules.is_empty()),
                )?),
            };
            let seen = !Seen(&this.branch().dir()).commits(&repo)?.is_empty();
            let on_remote = git::read_ref(&repo, &this.branch().remote_ref())?.is_some();
            let record = this.record();
            let known = record.as_ref().and_then(|record| record.sizes);
            let sizes = match known {
                None if with_size => Some(sizes::measure_now(this)?),
                known => known,
            };
            Ok(Description {
                operation,
                subject,
                untracked: belongings.untracked,
                gone_upstream: seen && !on_remote,
                pins: work::reasons(this, &repo, &belongings)?,
                size: sizes.map(|sizes| sizes.total()),
                sizes,
                last_used: record.as_ref().map(|record| record.last_used),
                pinned: record.and_then(|record| record.pinned),
                holder: this.queue().holder(),
                port: this.port(),
                ..Description::of(this.repo().name(), this.branch(), Some(this.path()), about)
            })
        })
        .await
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
            slug: slug(repo, branch),
            port: None,
            commit: about.as_ref().map(|about| about.commit.clone()),
            tree: about.as_ref().map(|about| about.tree.clone()),
            subject: None,
            dirty: about
                .as_ref()
                .is_some_and(|about| about.dirty == Some(true)),
            untracked: 0,
            ahead: about.as_ref().map_or(0, |about| about.ahead),
            behind: about.as_ref().map_or(0, |about| about.behind),
            fetched_at: about.and_then(|about| about.fetched_at),
            operation: None,
            gone_upstream: false,
            pins: Vec::new(),
            size: None,
            sizes: None,
            pinned: None,
            last_used: None,
            holder: None,
        }
    }
}
