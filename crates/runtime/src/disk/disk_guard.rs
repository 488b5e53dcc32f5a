//! The margin that the yard keeps on its disk: may new work begin, what becomes of a write that is refused, and the
//! reserve, which is let go when it is needed and made anew when there is room for it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use super::reserve::Reserve;
use super::{Room, Shortage};
use branchyard_model::{ErrorKind, Problem};

/// How often a reserve that is not whole is looked after, if nobody asks for anything.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct DiskGuard(Arc<GuardShared>);

#[derive(Debug)]
struct GuardShared {
    workspaces: PathBuf,
    state: PathBuf,
    reserve: Reserve,
    wake: Notify,
}

impl DiskGuard {
    /// The margin of the yard in `workspaces`, whose state is kept in `state`. Writes nothing.
    pub fn of(workspaces: &Path, state: &Path) -> Self {
        Self(Arc::new(GuardShared {
            workspaces: workspaces.to_owned(),
            state: state.to_owned(),
            reserve: Reserve::at(state.join("reserve")),
            wake: Notify::new(),
        }))
    }

    /// Where the daemon keeps its state.
    pub fn state(&self) -> &Path {
        &self.0.state
    }

    /// What there is too little of for new work. The room of a reserve that is to be made anew is not
    /// there for it.
    pub fn shortage(&self) -> Option<Shortage> {
        if !self.0.reserve.is_whole() {
            // There may be room for it by now.
            self.0.wake.notify_one();
        }
        // The daemon's own state may be on a disk of its own.
        [&self.0.workspaces, &self.0.state]
            .into_iter()
            .find_map(|dir| room(dir)?.shortage_beside(self.0.reserve.missing()))
    }

    /// Refuses new work while there is too little room for it.
    pub fn check(&self) -> Result<(), Problem> {
        let shortage = self.shortage();
        shortage.map_or(Ok(()), |shortage| Err(self.refusal(&shortage.to_string())))
    }

    /// What to tell of a failure: where the disk is full, that is what it came from, whatever it looks
    /// like from inside.
    #[must_use]
    pub fn judge(&self, problem: Problem) -> Problem {
        if problem.kind == ErrorKind::StorageFull {
            return self.refusal(&problem.detail);
        }
        if problem.kind == ErrorKind::Internal
            && let Some(shortage) = self.shortage()
        {
            let Problem { code, detail, .. } = problem;
            tracing::warn!(code, error = detail, %shortage, "failed for want of room");
            return self.refusal(&shortage.to_string());
        }
        problem
    }

    fn refusal(&self, detail: &str) -> Problem {
        let there = match workspaces_in(&self.0.workspaces) {
            1 => "there is 1 workspace".to_owned(),
            many => format!("there are {many} workspaces"),
        };
        Problem::new(ErrorKind::StorageFull, "disk_full", detail).help(format!(
            "{there}: `branchyard reap --dry-run` shows what could go, `branchyard reap` lets it go; \
             or delete other files on that disk, or make it larger; then ask again"
        ))
    }

    /// Does a write of the daemon's own, with a share of the reserve let go where the disk has no room
    /// for it, and another one for as long as that does not help.
    pub fn spend<T>(&self, mut write: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match write() {
                Err(error) if (is_full(&error) || self.is_exhausted()) && self.let_go() => {}
                outcome => return outcome,
            }
        }
    }

    /// Sees to it that there is a little room for what the daemon is about to write, if need be out of
    /// the reserve.
    pub fn make_do(&self) {
        while self.make_room() {}
    }

    /// Lets a share of the reserve go if the disk is full; false if it is not, or none is left.
    pub fn make_room(&self) -> bool {
        self.is_exhausted() && self.let_go()
    }

    /// Lets a share of the reserve go; false where none is left.
    fn let_go(&self) -> bool {
        let gone = self.0.reserve.let_go();
        match &gone {
            Ok(false) => {}
            Ok(true) => {
                tracing::warn!(dir = %self.0.state.display(), "the disk is full; a share of the reserve is let go");
            }
            Err(error) => {
                tracing::error!(%error, "the disk is full, and the reserve cannot be let go");
            }
        }
        gone.unwrap_or(false)
    }

    /// Makes the reserve, whenever it is not whole and there is room for it beside what new work needs.
    /// Goes on for ever; dropped, it has `tasks` see a reserve that is being made to its end.
    pub async fn keep(self, tasks: TaskTracker) {
        loop {
            let margin = self.clone();
            let made = tasks.spawn_blocking(move || margin.make_reserve()).await;
            if let Err(error) = made.map_err(io::Error::other).flatten() {
                tracing::warn!(%error, "the reserve could not be made; it is tried again");
            }
            let woken = self.0.wake.notified();
            // Often asked is not often looked: a refusal may be followed by many.
            tokio::time::sleep(LOOK_AGAIN / 100).await;
            let _ = tokio::time::timeout(LOOK_AGAIN, woken).await;
        }
    }

    fn make_reserve(&self) -> io::Result<()> {
        if self.0.reserve.is_whole() {
            return Ok(());
        }
        let room = Room::of(&self.0.state)?;
        if room.shortage_beside(self.0.reserve.missing()).is_none() {
            self.0.reserve.make()?;
            tracing::info!("the reserve for a full disk is whole");
        }
        Ok(())
    }

    fn is_exhausted(&self) -> bool {
        room(&self.0.state).is_some_and(|room| room.is_exhausted())
    }
}

/// Where it cannot be told, nobody is held up by that.
fn room(dir: &Path) -> Option<Room> {
    Room::of(dir)
        .inspect_err(|error| tracing::error!(%error, "failed to see how full the disk is"))
        .ok()
}

/// Whether a write failed for want of room.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// How many workspaces there are, by git's own administration of them.
fn workspaces_in(dir: &Path) -> usize {
    let inside = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten();
    inside(dir)
        .map(|repo| inside(&repo.path().join(".git/worktrees")).count())
        .sum()
}
