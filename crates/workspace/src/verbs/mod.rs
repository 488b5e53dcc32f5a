//! Git verbs in a workspace: looks, which share its files beside whatever runs there, and changes,
//! each of which has the workspace to itself.

mod branch;
mod checkout;
mod clean;
mod commit;
mod fetch;
mod history;
mod look;
mod operation;
mod pull;
mod push;
mod reset;
mod resolve;
mod stash;
mod tag;
mod worktree;

use crate::FilesGuard;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use git2::Repository;
use tokio::sync::OwnedRwLockWriteGuard;

pub use operation::GoOn;

use super::error::conflict;
use super::{Error, Reporter, Workspace, WorkspaceLock};
use branchyard_git as git;
use branchyard_model::About;

/// What a change means for those who read the workspace's files meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Neither files nor index nor HEAD change: only refs do that are no branch.
    Untouched,
    /// They stay as they are: reads go on.
    Stay,
    /// They may change by our hand: reads wait, and never see half of it.
    Move,
    /// The work itself locks the files when it comes to that, for it also waits for others.
    Later,
}

/// The files, as they are held during a change.
enum Held {
    Later,
    Shared(#[expect(dead_code, reason = "held")] FilesGuard),
    Alone(#[expect(dead_code, reason = "held")] OwnedRwLockWriteGuard<()>),
}

impl Workspace {
    /// Scanner at the repository of a workspace that exists; the caller shares the files.
    pub async fn look<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Self, &Repository) -> Result<T, Error> + Send + 'static,
    ) -> Result<(About, T), Error> {
        self.looking(move |this| {
            let repo = this.worktree.open()?;
            let answer = look(this, &repo)?;
            // A look at the whole tree is not for every read.
            Ok((this.standing(&repo, None)?, answer))
        })
        .await
    }

    /// Changes the workspace, which is made first where there is none. Once it has begun it comes to its
    /// end, whatever becomes of the caller; the lock is released then.
    pub async fn change<T, Doing>(
        self: &Arc<Self>,
        lock: WorkspaceLock,
        files: Files,
        report: &Reporter,
        work: impl FnOnce(Arc<Self>, Reporter) -> Doing + Send + 'static,
    ) -> Result<(About, T), Error>
    where
        T: Send + 'static,
        Doing: Future<Output = Result<T, Error>> + Send,
    {
        drop(self.ensure(Instant::now(), report).await?);
        let (this, report) = (self.clone(), report.clone());
        self.uninterrupted(async move {
            let _lock = lock;
            let _files = this.hold(files).await;
            this.guard(&report)?;
            // A git that was killed leaves locks behind, and one that lives is soon done.
            this.wait_for_index().await?;
            this.blocking(move |this| {
                let repo = this.worktree.open()?;
                this.check_head(&repo, &git::head(&repo)?)?;
                match files {
                    Files::Untouched | Files::Stay => Ok(()),
                    Files::Move | Files::Later => this.note_files_changed(),
                }
            })
            .await?;
            let answer = work(this.clone(), report).await?;
            this.note(|_| {})?;
            Ok((this.about().await?, answer))
        })
        .await
    }

    async fn hold(&self, files: Files) -> Held {
        match files {
            Files::Later => Held::Later,
            Files::Untouched | Files::Stay => Held::Shared(self.share_files().await),
            Files::Move => Held::Alone(self.files.clone().write_owned().await),
        }
    }

    /// Scanner at the repository of this workspace, and changes nothing.
    async fn look_at_repository<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Self, &Repository) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.looking(move |this| look(this, &this.worktree.open()?))
            .await
    }

    /// Runs blocking work on the repository of this workspace.
    pub async fn with_repository<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &Repository) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.blocking(move |this| work(this, &this.worktree.open()?))
            .await
    }

    /// The paths that a caller named in `field`, each relative to the workspace and inside it, and not
    /// behind a link that leads out of it. There need be nothing at them. Blocks.
    pub fn inside(&self, field: &str, paths: &[String]) -> Result<Vec<PathBuf>, Error> {
        let at_fault = |problem: branchyard_model::Problem| problem.field(field);
        let root = self.open_root()?;
        let mut inside = Vec::new();
        for path in paths {
            let path = self.relative(path).map_err(at_fault)?;
            self.check_parent(&root, &path).map_err(at_fault)?;
            inside.push(match path.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => path,
            });
        }
        Ok(inside)
    }
}

/// What git itself refused is nothing that went wrong inside: the caller is told its words.
fn in_gits_words(error: git::Error) -> Error {
    match error {
        git::Error::Refused { verb, stderr, .. } => {
            let detail = format!("git {verb} refused: {stderr}");
            conflict("git_refused", detail).into()
        }
        other => other.into(),
    }
}
