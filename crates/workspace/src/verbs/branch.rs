//! Deleting a branch with its workspace, and giving it another name.

use std::sync::Arc;
use std::time::Instant;

use crate::error::conflict;
use crate::salvage::SalvageScope;
use crate::{Error, Going, Reporter, Workspace, WorkspaceLock};
use branchyard_git as git;
use branchyard_git::verbs::{branch, operation_under_way};
use branchyard_model::{BranchName, Salvage, SalvageId, SalvageReason};
use branchyard_process::who_is_in;

impl Workspace {
    /// Deletes the branch here, and its workspace where it has one. One with commits or work of its own
    /// stays, unless that is to be saved and it is to go by force. The caller holds the workspace's lock.
    pub async fn delete_branch(
        self: &Arc<Self>,
        force: bool,
        by: &str,
        report: &Reporter,
    ) -> Result<Option<Salvage>, Error> {
        let unmerged = self
            .blocking(|this| Ok(branch::unmerged(&this.repo.open_store()?, &this.branch)?))
            .await?;
        if unmerged > 0 && !force {
            let detail = format!(
                "{} has {unmerged} commit(s) that neither the remote nor another branch has",
                self.branch
            );
            return Err(conflict("unmerged", detail)
                .field("name")
                .help("push or merge them, or give `force: true`, which saves them first")
                .into());
        }
        if !self.exists() && unmerged > 0 {
            // Only a workspace can be saved.
            drop(self.ensure(Instant::now(), report).await?);
        }
        if self.exists() {
            let going = match force {
                true => Going::Forced,
                false => Going::Unmissed,
            };
            return self.remove(going, by).await;
        }
        self.delete_ref_only().await.map(|()| None)
    }

    async fn delete_ref_only(self: &Arc<Self>) -> Result<(), Error> {
        let this = self.clone();
        self.uninterrupted(async move {
            let _registry = this.repo.registry.lock().await;
            this.blocking(|this| {
                this.check_nobody_has_it()?;
                let store = this.repo.open_store()?;
                Ok(git::delete_ref(&store, &this.branch.local_ref())?)
            })
            .await
        })
        .await
    }

    /// Gives the branch another name: `new` gets its commits and all work, then this workspace goes.
    /// Returns what was saved of it on the way.
    pub async fn rename_to(
        self: &Arc<Self>,
        new: &Arc<Self>,
        turns: [WorkspaceLock; 2],
        by: &str,
        report: &Reporter,
    ) -> Result<Option<Salvage>, Error> {
        drop(self.ensure(Instant::now(), report).await?);
        self.check_free(new).await?;
        self.wait_until_left().await?;
        let (this, new, by, report) = (self.clone(), new.clone(), by.to_owned(), report.clone());
        self.uninterrupted(async move {
            let _turns = turns;
            let copy = this.copy_of_all(&by).await?;
            new.restore(copy, false, &by, &report).await?;
            let saved = this.remove(Going::Forced, &by).await?;
            // All of it is in the new workspace, and what is work in the other salvage.
            this.blocking(move |this| {
                Ok(git::forget_salvage(
                    &this.repo.open_store()?,
                    copy,
                    &this.grounds.archives,
                )?)
            })
            .await?;
            Ok(saved)
        })
        .await
    }

    /// The new name must be nobody's, and the old workspace one that can go.
    async fn check_free(self: &Arc<Self>, new: &Arc<Self>) -> Result<(), Error> {
        let taken = |branch: &BranchName, place: &str| {
            conflict("branch_exists", format!("{branch} already exists {place}"))
                .field("new_name")
                .help("choose another name")
        };
        if self.branch.collides_with(new.branch.as_str()) {
            let detail = format!(
                "{} and {} cannot stand beside each other",
                self.branch, new.branch
            );
            return Err(conflict("branch_collides", detail).field("new_name").into());
        }
        if new.exists() || new.is_known().await? {
            return Err(taken(&new.branch, "in the yard").into());
        }
        let asked = self.repo.ask(&new.branch, Instant::now()).await?;
        if asked.head.is_some() {
            return Err(taken(&new.branch, "on the remote").into());
        }
        self.blocking(|this| {
            let repo = this.worktree.open()?;
            // It is under way under the old name, and would end with it.
            if let Some(operation) = git::head(&repo)?.operation {
                return Err(operation_under_way(operation).field("name").into());
            }
            if !this.stashes(&repo).is_empty() {
                let detail = format!("{} has stashes, which carry its name", this.branch);
                return Err(conflict("has_stashes", detail)
                    .field("name")
                    .help("pop or drop them first with git_stash")
                    .into());
            }
            match who_is_in(this.path()) {
                None => Ok(()),
                Some(pid) => {
                    let detail = format!(
                        "process {pid} is at work in the workspace of {}",
                        this.branch
                    );
                    Err(conflict("workspace_in_use", detail)
                        .field("name")
                        .help("end that process, or have it leave the directory")
                        .into())
                }
            }
        })
        .await
    }

    async fn copy_of_all(self: &Arc<Self>, by: &str) -> Result<SalvageId, Error> {
        let by = by.to_owned();
        let _files = self.files.clone().write_owned().await;
        self.blocking(move |this| {
            let (mut work, belongings) = this.at_stake(&this.worktree.open()?)?;
            work.push("all of it, for another name".to_owned());
            let reason = SalvageReason::Rename;
            Ok(this
                .salvage(work, &belongings, SalvageScope::All, reason, &by)?
                .id)
        })
        .await
    }
}
