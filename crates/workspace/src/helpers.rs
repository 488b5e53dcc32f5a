//! Commands that go on in a workspace beside its lock, such as a server that tests talk to. Whatever is done there next
//! has to know of them: they may write at any time, and they go before the workspace does.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use branchyard_model::RunId;

/// Those of one workspace.
#[derive(Debug, Default)]
pub struct Helpers(Arc<watch::Sender<Vec<Helper>>>);

#[derive(Clone)]
struct Helper {
    run: RunId,
    /// Asks it to end, for this reason.
    stop: Arc<dyn Fn(&str) + Send + Sync>,
}

/// One that is at work, until this is dropped.
#[derive(Debug)]
#[must_use = "the helper is forgotten when this is dropped"]
pub struct HelperGuard {
    helpers: Arc<watch::Sender<Vec<Helper>>>,
    run: RunId,
}

impl Helpers {
    /// Notes a helper, which `stop` ends. The caller holds the workspace's lock.
    pub fn enter(&self, run: RunId, stop: impl Fn(&str) + Send + Sync + 'static) -> HelperGuard {
        let stop = Arc::new(stop);
        self.0
            .send_modify(|helpers| helpers.push(Helper { run, stop }));
        HelperGuard {
            helpers: self.0.clone(),
            run,
        }
    }

    /// The first of those that are at work.
    pub fn first(&self) -> Option<RunId> {
        self.0.borrow().first().map(|helper| helper.run)
    }

    /// Ends all, and returns when they are gone. The caller holds the workspace's lock, so no other comes.
    pub async fn end(&self, reason: &str) {
        let helpers = self.0.borrow().clone();
        for helper in helpers {
            (helper.stop)(reason);
        }
        // The sender is our own, so it cannot go while we wait.
        let _ = self.0.subscribe().wait_for(Vec::is_empty).await;
    }
}

impl Drop for HelperGuard {
    fn drop(&mut self) {
        self.helpers
            .send_modify(|helpers| helpers.retain(|helper| helper.run != self.run));
    }
}

impl fmt::Debug for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Helper").field(&self.run).finish()
    }
}
