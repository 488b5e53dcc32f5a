//! The handle that all faces share: HTTP today, MCP and the page later. What a face offers is a call
//! on [`App`]; no face reaches below it.

mod branches;
mod inspect;
mod machine;

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::auth::Auth;
use crate::config::Config;
use crate::repos::Repos;
use crate::runs::Runs;
use crate::workspace::Workspaces;

pub use inspect::{About, GitOutput, QuickRequest};
pub use machine::{EnvironmentReport, Machine, Tool};

/// Everything that the faces need; cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

#[derive(Debug)]
pub struct Parts {
    pub config: Arc<Config>,
    pub auth: Auth,
    pub repos: Arc<Repos>,
    pub workspaces: Arc<Workspaces>,
    pub runs: Runs,
    pub tasks: TaskTracker,
    /// Where removed workspaces wait to be deleted.
    pub trash: PathBuf,
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
