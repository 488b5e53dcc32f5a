//! Looking at a workspace without changing a file of it: what it is about, whose it is, and whether
//! git's own files in it are as we left them.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use git2::{Oid, Repository};

use super::error::conflict;
use super::record::Record;
use super::single_flight::SingleFlight;
use super::{Error, Report, Reporter, Workspace};
use branchyard_git::{self as git, For, Head, MetadataStatus, Seen};
use branchyard_model::{About, CommitId, Problem};
use branchyard_process::Captured;
use branchyard_runtime::yard_events::WorkspaceChange;

/// Seconds between two notes of reads.
const BETWEEN_NOTES: u64 = 60;

/// Scanner at all files, each shared by those who ask together.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    tracked: SingleFlight<Option<MetadataStatus>>,
    all: SingleFlight<Option<MetadataStatus>>,
}

impl Scanner {
    pub(super) fn tracked(&self, repo: &Repository) -> Result<Arc<Option<MetadataStatus>>, Error> {
        self.tracked
            .ask(|| Ok(MetadataStatus::at(repo, For::Suspects)?))
    }

    pub(super) fn all(&self, repo: &Repository) -> Result<Arc<Option<MetadataStatus>>, Error> {
        self.all.ask(|| Ok(MetadataStatus::at(repo, For::Both)?))
    }
}

impl Workspace {
    /// What the workspace is about as it stands; nothing is asked, nothing moves.
    pub async fn about(self: &Arc<Self>) -> Result<About, Error> {
        self.looking(|this| {
            let repo = this.worktree.open()?;
            let dirty = git::tracked_changes(&repo)?;
            this.standing(&repo, Some(dirty))
        })
        .await
    }

    /// Runs a git command that only reads. The caller shares the files.
    pub async fn git_read(
        &self,
        args: &[String],
        max: usize,
        patience: Duration,
    ) -> Result<Captured, Error> {
        let command = self
            .repo
            .git()
            .in_worktree(self.path())
            .args(args)
            .read_only(patience);
        Ok(command.capture(max, |_| {}).await?)
    }

    /// Undoes what somebody planted in git's own files, of the store and of this workspace, which
    /// exists. To be called before every git command that runs here: without it, git would start
    /// whatever programs those files name.
    pub fn guard(&self, report: &Reporter) -> Result<(), Error> {
        let mut restored = self.repo.guard_store_files()?;
        restored.extend(self.mend_links()?);
        if let Some(warning) = self.repo.tampered(&restored) {
            report(Report::Warning(warning));
        }
        Ok(())
    }

    /// `dirty` is given by whoever looked; a look at the whole tree is not for every read.
    pub(super) fn standing(&self, repo: &Repository, dirty: Option<bool>) -> Result<About, Error> {
        let mut about = git::standing(repo, &self.branch, dirty)?;
        about.fetched_at = Record::load(self.worktree.admin()).and_then(|record| record.fetched_at);
        Ok(about)
    }

    /// HEAD must be on the workspace's own branch; a rebase of that branch, and a parked workspace,
    /// have it detached for good reason.
    pub(super) fn check_head(&self, repo: &Repository, head: &Head) -> Result<(), Error> {
        let at_home = head.branch.as_deref() == Some(self.branch.as_str())
            || git::rebased_branch(self.worktree.admin()).as_deref()
                == Some(self.branch.local_ref().as_str())
            || (head.branch.is_none() && git::parked_tip(repo, &self.branch.dir())?.is_some());
        if at_home {
            return Ok(());
        }
        Err(self
            .drifted(head.branch.as_deref().unwrap_or("a detached commit"))
            .into())
    }

    pub(super) fn drifted(&self, now_on: &str) -> Problem {
        let detail = format!(
            "the workspace of {} was moved to {now_on} by hand",
            self.branch
        );
        conflict("drifted", detail).field("branch").help(format!(
            "move it back with `git -C {} checkout {}`",
            self.path().display(),
            self.branch
        ))
    }

    /// The directory must be the one that was made for this very branch.
    pub(super) fn check_owner(&self) -> Result<(), Error> {
        match Record::load(self.worktree.admin()) {
            Some(record) if record.branch != self.branch => {
                let detail = format!(
                    "{} belongs to the branch {}",
                    self.path().display(),
                    record.branch
                );
                Err(conflict("path_occupied", detail).into())
            }
            Some(_) => Ok(()),
            None => Err(Error::io("read the workspace's record")(
                io::ErrorKind::NotFound.into(),
            )),
        }
    }

    pub(super) async fn local_tip(self: &Arc<Self>) -> Result<Option<CommitId>, Error> {
        let name = self.branch.local_ref();
        self.store_ref(name).await
    }

    /// Where the remote stood when it was last fetched.
    pub async fn remote_tip(self: &Arc<Self>) -> Result<Option<CommitId>, Error> {
        let name = self.branch.remote_ref();
        self.store_ref(name).await
    }

    async fn store_ref(self: &Arc<Self>, name: String) -> Result<Option<CommitId>, Error> {
        self.blocking(move |this| {
            let id = git::read_ref(&this.repo.open_store()?, &name)?;
            Ok(id.and_then(|id| CommitId::parse(&id.to_string()).ok()))
        })
        .await
    }

    /// Writes down what the remote was seen to have.
    pub(super) async fn seen(
        self: &Arc<Self>,
        commit: CommitId,
        change: fn(Seen<'_>, &Repository, Oid) -> Result<(), git::Error>,
    ) -> Result<(), Error> {
        self.blocking(move |this| {
            let store = this.repo.open_store()?;
            let id = Oid::from_str(commit.as_str()).map_err(git::Error::from)?;
            Ok(change(Seen(&this.branch.dir()), &store, id)?)
        })
        .await
    }

    /// Changes the workspace's record and notes that it was used.
    pub(super) fn note(&self, change: impl FnOnce(&mut Record)) -> Result<(), Error> {
        let tick = self.grounds.ticks.now();
        self.change_record(|record| {
            record.last_used = jiff::Timestamp::now();
            record.used_tick = Some(tick);
            change(record);
        })
    }

    /// Notes a use that changed nothing; not each of many in a row costs a write. On a full disk it is
    /// still answered.
    pub(super) fn note_read(&self) {
        let used = Record::load(self.worktree.admin()).and_then(|record| record.used_tick);
        if self.grounds.ticks.is_known(used) && self.grounds.ticks.since(used) < BETWEEN_NOTES {
            return;
        }
        if let Err(error) = self.note(|_| {}) {
            tracing::warn!(repo = %self.repo.name, branch = %self.branch, %error, "a use is not written down");
        }
    }

    /// Changes the workspace's record without using the workspace.
    pub(super) fn change_record(&self, change: impl FnOnce(&mut Record)) -> Result<(), Error> {
        // Read, change, write: two at a time would lose one of the changes.
        let _one_at_a_time = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let admin = self.worktree.admin();
        let mut record = Record::load(admin)
            .unwrap_or_else(|| Record::new(self.branch.clone(), self.grounds.ticks.now()));
        change(&mut record);
        record
            .save(admin)
            .map_err(Error::io("record the workspace's use"))?;
        self.tell(WorkspaceChange::Updated);
        Ok(())
    }
}
