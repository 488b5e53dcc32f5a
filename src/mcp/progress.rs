//! Progress notifications, for a client that gave a token.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};

/// A client is promised a word every five seconds, however little happens.
pub(super) const AT_LEAST_EVERY: Duration = Duration::from_secs(4);

#[derive(Debug, Clone)]
pub(super) struct Progress(Option<Arc<Told>>);

#[derive(Debug)]
struct Told {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    /// It must rise with every notification.
    count: AtomicU32,
}

impl Progress {
    pub(super) fn new(context: &RequestContext<RoleServer>) -> Self {
        Self(context.meta.get_progress_token().map(|token| {
            Arc::new(Told {
                peer: context.peer.clone(),
                token,
                count: AtomicU32::new(0),
            })
        }))
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    pub(super) async fn tell(&self, message: String) {
        let Some(told) = &self.0 else { return };
        let count = told.count.fetch_add(1, Ordering::Relaxed) + 1;
        let progress = ProgressNotificationParam::new(told.token.clone(), f64::from(count))
            .with_message(message);
        if let Err(error) = told.peer.notify_progress(progress).await {
            // The client may be gone; the call finds out by itself.
            tracing::debug!(%error, "progress was not told");
        }
    }
}
