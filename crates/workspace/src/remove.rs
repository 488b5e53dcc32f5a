//! Removing a workspace. It goes only if nobody would miss anything in it, or, by force, once that was
//! saved. It is renamed into the trash, which is instant, and deleted later.
//!
//! A mark in git's registration says that it is going. After a crash, a marked workspace whose
//! directory is still there stays, for it was never moved; of one whose directory is gone, the rest goes.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::{conflict, no_workspace};
use super::salvage::SalvageScope;
use super::work::Belongings;
use super::{Error, Workspace, Workspaces, silent};
use crate::repos::Repo;
use branchyard_config::crash_point;
use branchyard_git::{self as git, Seen};
use branchyard_model::{Salvage, SalvageReason};
use branchyard_process::who_is_in;
use branchyard_runtime::disk::Moment;
use branchyard_runtime::yard_events::WorkspaceChange;

/// How long processes in a workspace are waited for, and how often that is looked at: there is nothing
/// to be woken by.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);

/// What is to become of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going {
    /// A workspace with work in it stays.
    Unmissed,
    /// Work is saved, and the workspace goes.
    Forced,
}

impl Workspace {
    /// Takes the workspace away, with its lock held by the caller; its files are deleted later. Returns
    /// what was saved of it.
    pub async fn remove(
        self: &Arc<Self>,
        going: Going,
        by: &str,
    ) -> Result<Option<Salvage>, Error> {
        let silent = silent();
        let mut attempts = self.attempts(&silent).await?;
        loop {
            match self.remove_once(going, by).await {
                Err(error) => attempts.mend(error, &silent).await?,
                done => return done,
            }
        }
    }

    async fn remove_once(
        self: &Arc<Self>,
        going: Going,
        by: &str,
    ) -> Result<Option<Salvage>, Error> {
        self.wait_until_left().await?;
        let (this, by) = (self.clone(), by.to_owned());
        self.uninterrupted(async move {
            let _files = this.files.clone().write_owned().await;
            if !this.exists() {
                return Err(no_workspace(&this.branch).into());
            }
            let _registry = this.repo.registry.lock().await;
            this.blocking(move |this| {
                this.guard(&silent())?;
                this.take_away(going, &by)
            })
            .await
        })
        .await
    }

    /// A person's command may be about to end there, and is given a moment.
    pub(super) async fn wait_until_left(self: &Arc<Self>) -> Result<(), Error> {
        let patience = Instant::now() + PATIENCE;
        while self
            .blocking(|this| Ok(who_is_in(this.path()).is_some()))
            .await?
            && Instant::now() < patience
        {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Takes the workspace, which exists, out of sight. The caller holds the workspace, its files and the registry.
    pub(super) fn take_away(&self, going: Going, by: &str) -> Result<Option<Salvage>, Error> {
        if going == Going::Unmissed
            && let Some(pin) = self.pinned()
        {
            return Err(self.refuse_pinned(&pin).into());
        }
        let looked_at = Moment::now();
        let repo = self.worktree.open()?;
        let tip = git::read_ref(&repo, &self.branch.local_ref())?;
        let (mut work, belongings) = self.at_stake(&repo)?;
        if !work.is_empty() && going == Going::Unmissed {
            let detail = format!(
                "the workspace of {} has work in it: {}",
                self.branch,
                work.join("; ")
            );
            return Err(conflict("workspace_has_work", detail)
                .field("branch")
                .help("commit and push it, or remove the workspace with `?force=true` (`--force`), which saves it as a salvage; declare build output in `build_output`")
                .into());
        }
        if let Some(pid) = who_is_in(self.path()) {
            let detail = format!(
                "process {pid} has its working directory or an open file in the workspace of {}",
                self.branch
            );
            return Err(conflict("workspace_in_use", detail)
                .field("branch")
                .help("end that process, or have it leave the directory")
                .into());
        }
        for dir in [self.path(), self.worktree.admin()] {
            self.grounds
                .trash
                .check(dir)
                .map_err(|error| self.cannot_discard("move the workspace to the trash", error))?;
        }
        // These pin nothing, but somebody might want them back.
        work.extend(belongings.shown_output());
        let left = git::left_behind(&self.worktree)?;
        if left > 0 {
            work.push(format!("{left} commit(s) that were left behind here"));
        }
        let saved = match work.is_empty() {
            true => None,
            false => Some(self.salvage(
                work,
                &belongings,
                SalvageScope::All,
                SalvageReason::Remove,
                by,
            )?),
        };
        crash_point("remove-saved");
        self.worktree.mark_removing(tip)?;
        crash_point("remove-marked");
        let (trash, dir) = (&self.grounds.trash, self.branch.dir());
        if let Err(error) = trash.take_seen(self.path(), &dir, looked_at) {
            self.worktree.unmark_removing()?;
            return Err(Error::io("move the workspace to the trash")(error));
        }
        crash_point("remove-moved");
        self.finish_removal(Some(looked_at))?;
        self.tell(WorkspaceChange::Removed);
        Ok(saved)
    }

    /// What is left to do once the directory is gone. Its commits are known to the remote, or saved, as far as they were
    /// there at `looked_at`, which is not known any more after a crash.
    fn finish_removal(&self, looked_at: Option<Moment>) -> Result<(), Error> {
        let store = self.repo.open_store()?;
        let branch = self.branch.local_ref();
        // Moved by somebody since, it is not what was decided on.
        if let Some(marked) = self.worktree.removing_from() {
            git::delete_ref_at(&store, &branch, &marked)?;
        }
        crash_point("remove-unnamed");
        git::forget_parked(&store, &self.branch)?;
        Seen(&self.branch.dir()).forget(&store)?;
        let (trash, admin) = (&self.grounds.trash, self.worktree.admin());
        let name = format!("{}-admin", self.branch.dir());
        let taken = match looked_at {
            Some(looked_at) => {
                self.worktree.drop_own_files()?;
                trash.take_seen(admin, &name, looked_at)
            }
            None => trash.take(admin, &name),
        };
        taken.map_err(Error::io("forget the worktree"))
    }

    /// After a crash in the middle of a removal: completes it, or calls it off. Returns whether there
    /// was one. Nobody else may use the workspace meanwhile.
    pub fn converge_removal(&self) -> Result<bool, Error> {
        if !self.worktree.is_removing() {
            return Ok(false);
        }
        if self.path().exists() {
            self.worktree.unmark_removing()?;
        } else {
            self.finish_removal(None)?;
        }
        Ok(true)
    }
}

impl Belongings {
    /// Whether somebody could miss something of it.
    pub(super) fn would_be_missed(&self) -> bool {
        !self.files.is_empty() || !self.repositories.is_empty() || self.shown_output().is_some()
    }

    /// Build output that `git status` shows.
    pub(super) fn shown_output(&self) -> Option<String> {
        let shown = self.output.iter().filter(|output| !output.ignored).count();
        (shown > 0).then(|| format!("build output that git does not ignore ({shown})"))
    }
}

impl Workspaces {
    /// What is left of a repo that somebody could miss; empty if it may go.
    pub fn left_of(&self, repo: &Repo) -> Result<Vec<String>, Error> {
        let mut left = Vec::new();
        let entries = match fs::read_dir(repo.home()) {
            Ok(entries) => Some(entries),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("look through the repository's directory")(error)),
        };
        for entry in entries.into_iter().flatten() {
            let entry = entry.map_err(Error::io("look through the repository's directory"))?;
            // Whatever bytes its name has.
            left.push(entry.file_name().to_string_lossy().into_owned());
        }
        left.retain(|name| name != ".git");
        if repo.is_cloned() {
            left.extend(git::unpushed_refs(&repo.open_store()?)?);
        }
        Ok(left)
    }

    /// Moves a repo's directory to the trash.
    pub fn discard(&self, home: &Path) -> Result<(), Error> {
        if !home.exists() {
            return Ok(());
        }
        let name = home
            .file_name()
            .map(|name| name.to_string_lossy())
            .unwrap_or_default();
        self.grounds
            .trash
            .take(home, &name)
            .map_err(Error::io("move the repository to the trash"))
    }
}
