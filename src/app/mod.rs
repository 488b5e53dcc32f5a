//! The handle that all faces share: HTTP, MCP, and the page later. What a face offers is a call
//! on [`App`]; no face reaches below it.

mod agents;
mod branches;
mod findings;
mod inspect;
mod machine;
mod reaper;
mod repos;
mod runs;
mod salvage;
pub mod verbs;

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::auth::Auth;
use crate::config::Config;
use crate::disk::Margin;
use crate::repos::Repos;
use crate::runs::Runs;
use crate::workspace::{Reaper, Workspaces};

pub use agents::{Begun, CloneRequest, InitRequest};
pub use findings::reconcile;
pub use inspect::{About, GitOutput, QuickRequest};
pub use machine::{EnvironmentReport, Machine, Tool};
pub use repos::RepoSummary;
pub use salvage::{RestoreRequest, SalvageDetail, SalvageFilter, SalvageItem};

/// Everything that the faces need; cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

#[derive(Debug)]
pub struct Parts {
    pub config: Arc<Config>,
    pub auth: Auth,
    pub repos: Arc<Repos>,
    pub workspaces: Arc<Workspaces>,
    pub reaper: Arc<Reaper>,
    pub runs: Runs,
    pub margin: Margin,
    pub tasks: TaskTracker,
}

impl App {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
