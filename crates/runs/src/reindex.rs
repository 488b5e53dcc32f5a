//! The index of runs, brought to what is on disk when a daemon starts: what it cannot start without at once,
//! and the rest, which may be a hundred thousand old runs, while it serves.

use super::history::{History, read};
use super::idempotency;
use branchyard_db::run_index;
use branchyard_model::{RunId, RunRecord};
use branchyard_process::Exit;

/// So many runs are handed to the index before it is waited for.
const AT_ONCE: usize = 1000;

impl History {
    /// Brings the index to what is on disk, as far as that cannot wait; returns the runs that it still
    /// lacks after that. There are many of those only where the index is made anew.
    pub(super) fn reconcile(&self) -> Result<Vec<RunId>, run_index::Error> {
        let (known, on_disk) = (self.store().ids()?, self.ids());
        let gone: Vec<_> = known.difference(&on_disk).copied().collect();
        self.store().remove(&gone);
        let missing = on_disk.difference(&known).copied();
        let (mut later, now): (Vec<_>, Vec<_>) = missing.partition(|id| self.can_wait(*id));
        for id in now {
            self.index(id);
        }
        later.sort();
        Ok(later)
    }

    /// Whether nobody need know of a run before the daemon serves: its command has ended, so it holds no
    /// lock, and its key, if it had any, has expired.
    fn can_wait(&self, run: RunId) -> bool {
        run.made_at() < idempotency::horizon() && Exit::is_in(&self.home(run))
    }

    /// Takes a run into the index; its record, if there is something left to do about it.
    fn index(&self, run: RunId) -> Option<RunRecord> {
        match read(&self.home(run)) {
            Ok(Some(record)) => {
                self.note(&record);
                return (!record.state.is_ended()).then_some(record);
            }
            unread => {
                if let Some(record) = self.mend_record(run) {
                    return (!record.state.is_ended()).then_some(record);
                }
                match unread {
                    Err(error) => {
                        tracing::error!(%run, %error, "the record of a run cannot be read; it is left as it is");
                    }
                    // It never came to be a run.
                    Ok(_) => self.discard(run),
                }
            }
        }
        None
    }

    /// Tells an index that was emptied of all runs again, the newest first; those under way as `live` has them. Returns how
    /// many there are. Blocks.
    pub(super) fn index_again(&self, live: impl Fn(RunId) -> Option<RunRecord>) -> usize {
        let mut ids: Vec<_> = self.ids().into_iter().collect();
        ids.sort();
        // A directory without a record is a run that is only just being asked for.
        let note = |id| {
            if let Some(record) = live(id).or_else(|| read(&self.home(id)).ok().flatten()) {
                self.note(&record);
            }
        };
        let mut were_live = Vec::new();
        for (told, id) in ids.iter().rev().enumerate() {
            were_live.extend(live(*id).map(|record| record.run_id));
            note(*id);
            if told.is_multiple_of(AT_ONCE) {
                self.store().catch_up();
            }
        }
        // One that ended just now may have told its end before it was told of as running.
        were_live.into_iter().for_each(note);
        self.store().catch_up();
        ids.len()
    }

    /// Indexes what [`History::open`] left for later, the newest first; ends early once `is_over`, for the
    /// next daemon to go on. Returns the runs of those whose end was not recorded. Blocks.
    pub(super) fn index_the_rest(
        &self,
        mut later: Vec<RunId>,
        is_over: impl Fn() -> bool,
    ) -> Vec<RunRecord> {
        let (runs, mut unended) = (later.len(), Vec::new());
        while let Some(run) = later.pop()
            && !is_over()
        {
            unended.extend(self.index(run));
            if later.len().is_multiple_of(AT_ONCE) {
                self.store().catch_up();
            }
        }
        if runs > 0 {
            tracing::info!(runs = runs - later.len(), "old runs were indexed");
        }
        unended
    }
}
