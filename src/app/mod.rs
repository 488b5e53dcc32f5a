//! What all faces share: HTTP, MCP, and the page later. A face finds out by [`App`] who asks, and is given
//! a [`AuthorizedApp`] for them; what it offers is a call on that, and it reaches nothing below.

pub mod activity;
pub mod agents;
pub mod artifacts;
pub mod audit;
mod authorized_app;
pub mod badge;
pub mod branches;
pub mod code_env;
pub mod deliveries;
pub mod health;
pub mod hooks;
pub mod inconsistencies;
pub mod inspect;
pub mod load;
mod machine;
pub mod make_targets;
pub mod pipelines;
pub mod reaper;
pub mod repos;
pub mod runs;
pub mod salvage;
pub mod session;
pub mod test_history;
pub mod tokens;
pub mod verbs;
mod workspace_lock;
pub mod yard_events;

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use audit::Auditor;
use branchyard_auth::{Auth, Limiter, Principal, Tickets, Tokens};
use branchyard_config::Config;
use branchyard_db::security_db::audit::Audit;
use branchyard_model::Problem;
use branchyard_outbox::Outbox;
use branchyard_pipelines::Pipelines;
use branchyard_runs::Runs;
use branchyard_runtime::background::Loops;
use branchyard_runtime::disk::DiskGuard;
use branchyard_triggers::Triggers;
use branchyard_workspace::repos::Repos;
use branchyard_workspace::{Mended, Reaper, Workspaces};

pub use activity::{Activity, Worker};
pub use agents::{Begun, CloneRequest, InitRequest};
pub use authorized_app::AuthorizedApp;
pub use branches::{BranchPage, Unavailable};
pub use health::Readiness;
pub use inconsistencies::reconcile;
pub use inspect::{About, GitOutput, QuickRequest};
pub use load::{Load, RepoUsage, WaitingRun};
pub use machine::{EnvironmentReport, Machine, Tool};
pub use make_targets::MakeTargets;
pub use repos::RepoSummary;
pub use runs::LastRun;
pub use salvage::{RestoreRequest, SalvageDetail, SalvageFilter, SalvageItem};
pub use session::{Session, Ticket};
pub use tokens::{
    Good, MadeToken, RevokedTokens, TokenFilter, TokenRequest, TokenState, TokenView, WhoAmI,
};
pub use yard_events::{Bulletin, Queue, Told};

/// The way in for those who come with a credential; cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

/// What the yard is made of. The faces have none of it: they are given a [`AuthorizedApp`].
#[derive(Debug)]
pub struct Parts {
    pub config: Arc<Config>,
    pub auth: Auth,
    pub tokens: Tokens,
    pub audit: Audit,
    pub limiter: Limiter,
    pub tickets: Tickets,
    pub repos: Arc<Repos>,
    pub workspaces: Arc<Workspaces>,
    pub reaper: Arc<Reaper>,
    pub runs: Runs,
    pub pipelines: Pipelines,
    pub triggers: Triggers,
    pub outbox: Outbox,
    pub margin: DiskGuard,
    pub loops: Loops,
    /// What was amiss on disk, and was mended before anyone was served.
    pub mended_at_start: Vec<Mended>,
    pub tasks: TaskTracker,
}

impl App {
    pub fn new(parts: Arc<Parts>) -> Self {
        Self(parts)
    }

    /// Who shows this credential, or none.
    pub async fn who(&self, credential: Option<&str>) -> Result<Principal, Problem> {
        self.0.auth.who(credential).await
    }

    /// An error if the yard is not where it was when the daemon started.
    pub fn check_place(&self) -> Result<(), Problem> {
        self.0.workspaces.check_place()
    }

    /// What there is for this principal.
    pub fn for_principal(&self, principal: Principal) -> AuthorizedApp {
        AuthorizedApp::new(self.0.clone(), principal)
    }

    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Who has too much under way.
    pub fn limiter(&self) -> &Limiter {
        &self.0.limiter
    }

    /// Where it is written down who did what.
    pub fn auditor(&self) -> Auditor {
        Auditor::new(self.0.clone())
    }

    /// Where faces may keep what is theirs.
    pub fn margin(&self) -> &DiskGuard {
        &self.0.margin
    }
}
