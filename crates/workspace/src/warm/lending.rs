//! A workspace while others copy from it: no command starts there and no file is moved by us. Several may copy
//! at the same time. Whoever has a use for the workspace itself comes first.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OwnedRwLockReadGuard;

use crate::{TurnGuard, Workspace};

/// How long somebody who wants its turn waits for a copy, before that is given up.
const COURTESY: Duration = Duration::from_millis(500);

/// What is held of a workspace while somebody copies from it.
#[derive(Debug, Default)]
pub(crate) struct Lending(Mutex<Option<Held>>);

#[derive(Debug)]
struct Held {
    copies: usize,
    _turn: TurnGuard,
    _floor: OwnedRwLockReadGuard<()>,
}

/// A workspace that is left as it is until the last of these is dropped.
#[derive(Debug)]
pub(super) struct Lent {
    pub(super) workspace: Arc<Workspace>,
    wanted_since: OnceLock<Instant>,
}

impl Lending {
    fn lock(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workspace {
    /// `None` where somebody is at work, or waits to be.
    pub(super) fn lend(self: &Arc<Self>) -> Option<Lent> {
        let mut held = self.lending.lock();
        match held.as_mut() {
            Some(_) if self.turn.is_wanted() => return None,
            Some(held) => held.copies += 1,
            None => {
                let turn = self
                    .turn
                    .try_take("warm start of another branch", "branchyard")?;
                let floor = self.floor.clone().try_read_owned().ok()?;
                *held = Some(Held {
                    copies: 1,
                    _turn: turn,
                    _floor: floor,
                });
            }
        }
        Some(Lent {
            workspace: self.clone(),
            wanted_since: OnceLock::new(),
        })
    }
}

impl Lent {
    /// Whether somebody has waited for it for long enough.
    pub(super) fn is_called_back(&self) -> bool {
        self.workspace.turn.is_wanted()
            && self.wanted_since.get_or_init(Instant::now).elapsed() > COURTESY
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut held = self.workspace.lending.lock();
        if let Some(others) = held.as_mut() {
            others.copies -= 1;
            if others.copies == 0 {
                *held = None;
            }
        }
    }
}
