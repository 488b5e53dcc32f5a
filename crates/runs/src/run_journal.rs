//! The journal of a run has one writer at a time: the daemon, then the supervisor, then the daemon.

use std::io;
use std::path::PathBuf;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::history::History;
use branchyard_journal::{self as journal, Extent, FrameKind, Writer};
use branchyard_model::{Event, RunId};
use branchyard_runtime::disk::DiskGuard;

/// Who may write.
pub(super) enum JournalOwner {
    Daemon(Writer),
    /// With the supervisor; what is left is what the viewers hang on to.
    Supervisor(watch::Sender<Extent>),
}

/// What of a long output is not in the journal, in bytes, once its end was brought there.
#[derive(Debug, Default)]
pub(super) struct BroughtTail {
    pub(super) left_out: u64,
    pub(super) lost: u64,
}

/// The journal of one run, whoever writes it now.
pub(super) struct RunJournal {
    run: RunId,
    home: PathBuf,
    path: PathBuf,
    margin: DiskGuard,
    owner: Mutex<JournalOwner>,
}

impl RunJournal {
    pub(super) fn new(
        history: &History,
        run: RunId,
        margin: DiskGuard,
        owner: JournalOwner,
    ) -> Self {
        Self {
            run,
            home: history.home(run),
            path: history.journal(run),
            margin,
            owner: Mutex::new(owner),
        }
    }

    /// Lets go of the journal so that another process can write it.
    pub(super) fn hand_over(&self) -> io::Result<(u64, watch::Sender<Extent>)> {
        let mut owner = self.owner.lock();
        let extent = match &*owner {
            JournalOwner::Daemon(writer) => writer.extent(),
            JournalOwner::Supervisor(_) => {
                return Err(io::Error::other("the journal is with a supervisor"));
            }
        };
        *owner = JournalOwner::Supervisor(extent.clone());
        let len = extent.borrow().len;
        Ok((len, extent))
    }

    pub(super) fn take_back(&self, len: u64) -> io::Result<()> {
        let mut owner = self.owner.lock();
        if let JournalOwner::Supervisor(extent) = &*owner {
            *owner = JournalOwner::Daemon(Writer::take_back(&self.path, len, extent.clone())?);
        }
        Ok(())
    }

    /// What a supervisor that went had kept aside of a long output. Returns how many bytes the limit left out.
    pub(super) fn recover_tail(&self) -> u64 {
        let JournalOwner::Daemon(journal) = &mut *self.owner.lock() else {
            return 0;
        };
        let recovered = journal::recover_tail(&self.home, journal);
        let left_out = recovered.as_ref().ok().copied();
        self.note_failure(recovered.map(drop));
        left_out.unwrap_or(0)
    }

    /// Brings a tail into the journal that its supervisor could not: most likely the disk was full.
    /// Returns how many bytes the limit left out of the output, or how many are lost after all.
    pub(super) fn bring_tail(&self) -> BroughtTail {
        let JournalOwner::Daemon(journal) = &mut *self.owner.lock() else {
            return BroughtTail::default();
        };
        let error = match journal::recover_tail(&self.home, journal) {
            Ok(left_out) => return BroughtTail { left_out, lost: 0 },
            Err(error) => error,
        };
        tracing::warn!(run = %self.run, %error, "the end of an output is given up");
        let given_up = journal::give_up_tail(&self.home, &self.path);
        let lost = given_up.as_ref().ok().copied();
        self.note_failure(given_up.map(drop));
        BroughtTail {
            left_out: 0,
            lost: lost.unwrap_or(0),
        }
    }

    /// As [`RunJournal::tell`], with the reserve's room if need be.
    pub(super) fn tell_surely(&self, event: &Event) {
        let told = self.margin.spend(|| match &mut *self.owner.lock() {
            JournalOwner::Daemon(journal) if !journal.is_closed() => journal.event(event),
            _ => Ok(()),
        });
        self.note_failure(told);
    }

    /// Journals an event. A journal that cannot be written never fails the run, and one that is with
    /// the supervisor is not ours to write.
    pub(super) fn tell(&self, event: &Event) {
        if let JournalOwner::Daemon(journal) = &mut *self.owner.lock()
            && !journal.is_closed()
        {
            self.note_failure(journal.event(event));
        }
    }

    /// Journals what was said elsewhere. Once the journal is closed, nothing follows.
    pub(super) fn repeat(&self, kind: FrameKind, said: &[u8], micros: u64) -> io::Result<()> {
        match &mut *self.owner.lock() {
            JournalOwner::Daemon(journal) if !journal.is_closed() => {
                journal.append_at(kind, said, micros)
            }
            _ => Ok(()),
        }
    }

    /// Journals the last event; nothing can follow it. After an error it was not told.
    pub(super) fn tell_last(&self, event: &Event) -> io::Result<()> {
        match &mut *self.owner.lock() {
            JournalOwner::Daemon(journal) => {
                journal.event(event)?;
                journal.close();
            }
            JournalOwner::Supervisor(extent) => extent.send_modify(|extent| extent.closed = true),
        }
        Ok(())
    }

    fn note_failure(&self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            tracing::error!(run = %self.run, %error, "failed to journal an event");
        }
    }
}
