//! A workspace while others copy from it. Several may copy at the same time. Whoever has a use for the workspace itself
//! comes first.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::Workspace;

/// How long somebody who wants its lock waits for a copy, before that is given up.
const COURTESY: Duration = Duration::from_millis(500);

/// A workspace that is left as it is until the last of these is dropped.
#[derive(Debug)]
pub(super) struct Lent {
    workspace: Arc<Workspace>,
    wanted_since: OnceLock<Instant>,
}

/// `None` where somebody is at work, or waits to be.
pub(super) fn lend(workspace: &Arc<Workspace>) -> Option<Lent> {
    if workspace.helpers().first().is_some() {
        return None;
    }
    let (queue, files) = (workspace.queue(), workspace.files());
    workspace.lending().begin(queue, files)?;
    Some(Lent {
        workspace: workspace.clone(),
        wanted_since: OnceLock::new(),
    })
}

impl Lent {
    pub(super) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Whether somebody has waited for it for long enough.
    pub(super) fn is_called_back(&self) -> bool {
        self.workspace.queue().is_wanted()
            && self.wanted_since.get_or_init(Instant::now).elapsed() > COURTESY
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.workspace.lending().end();
    }
}
