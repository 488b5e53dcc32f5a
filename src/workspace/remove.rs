//! Removing a workspace. It goes only if nobody would miss anything in it: renamed into the trash,
//! which is instant, and deleted later.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::error::{conflict, no_workspace};
use super::{Error, Workspace, Workspaces, silent};
use crate::git::{self, Seen};
use crate::repos::Repo;

impl Workspace {
    /// Takes the workspace away, with its turn held by the caller; its files are deleted later.
    pub async fn remove(self: &Arc<Self>, trash: &Path) -> Result<(), Error> {
        let doomed = in_trash(trash, &self.branch.dir());
        let this = self.clone();
        self.uninterrupted(async move {
            let _floor = this.floor.clone().write_owned().await;
            if !this.exists() {
                return Err(no_workspace(&this.branch).into());
            }
            let _registry = this.repo.registry.lock().await;
            this.blocking(move |this| {
                this.guard(&silent())?;
                this.take_away(&doomed)?;
                delete_later(&this.tasks, doomed);
                Ok(())
            })
            .await
        })
        .await
    }

    fn take_away(&self, target: &Path) -> Result<(), Error> {
        let repo = self.worktree.open()?;
        let about = self.standing(&repo, Some(git::tracked_changes(&repo)?))?;
        let pins = self.pins(&repo, &about)?;
        if !pins.is_empty() {
            let detail = format!(
                "the workspace of {} has work in it: {}",
                self.branch,
                pins.join("; ")
            );
            return Err(conflict("workspace_has_work", detail)
                .field("branch")
                .help("commit and push it, or move it elsewhere; declare build output in `build_output`")
                .into());
        }
        fs::rename(self.path(), target).map_err(Error::io("move the workspace to the trash"))?;
        self.worktree.forget()?;
        // Nothing pins it, so the remote was seen to have every commit of the branch.
        let store = self.repo.open_store()?;
        git::delete_ref(&store, &self.branch.local_ref())?;
        git::forget_parked(&store, &self.branch)?;
        Seen(&self.branch.dir()).forget(&store)?;
        Ok(())
    }
}

impl Workspaces {
    /// What is left of a repo that somebody could miss; empty if it may go.
    pub fn left_of(&self, repo: &Repo) -> Result<Vec<String>, Error> {
        let mut left: Vec<String> = fs::read_dir(repo.home())
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name != ".git")
            .collect();
        if repo.is_cloned() {
            left.extend(git::unpushed_refs(&repo.open_store()?)?);
        }
        Ok(left)
    }

    /// Moves a repo's directory to the trash.
    pub fn discard(&self, home: &Path, trash: &Path) -> Result<(), Error> {
        if !home.exists() {
            return Ok(());
        }
        let name = home
            .file_name()
            .map(|name| name.to_string_lossy())
            .unwrap_or_default();
        let doomed = in_trash(trash, &name);
        fs::rename(home, &doomed).map_err(Error::io("move the repository to the trash"))?;
        delete_later(&self.tasks, doomed);
        Ok(())
    }
}

fn in_trash(trash: &Path, name: &dyn std::fmt::Display) -> PathBuf {
    trash.join(format!("{name}-{}", uuid::Uuid::now_v7()))
}

fn delete_later(tasks: &TaskTracker, doomed: PathBuf) {
    tasks.spawn_blocking(move || {
        if let Err(error) = fs::remove_dir_all(&doomed) {
            tracing::warn!(path = %doomed.display(), %error, "failed to empty the trash");
        }
    });
}
