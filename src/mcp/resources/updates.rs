//! Telling those who asked that a resource changed.
//!
//! The newer protocol asks by one long request, whose end is the end of it. The older one asks within a
//! session: [`Subscriptions`] lives and dies with that.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rmcp::ErrorData;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::refused;
use super::uri::Uri;
use super::watch::Watch;
use crate::mcp::IDLE_SESSION;
use crate::mcp::audit;
use crate::mcp::call::Call;
use branchyard_model::{ErrorKind, Problem};

/// Resources that one session or one request may watch.
const MOST: usize = 64;

/// What is listened to of a request of the newer protocol: resources, as many as one may watch.
pub(in crate::mcp) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    SubscriptionFilter::builder()
        .resource_subscriptions(watchable(requested))
        .build()
}

/// Names that could be resources, each once.
fn watchable(filter: &SubscriptionFilter) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for uri in filter.resource_subscriptions.iter().flatten() {
        if found.len() < MOST && Uri::parse(uri).is_ok() {
            found.insert(uri.clone());
        }
    }
    found
}

/// Tells of changes until the request ends.
pub(in crate::mcp) async fn listen(
    call: &Call,
    context: &SubscriptionContext,
) -> Result<(), ErrorData> {
    // They go with this set, and that with the request.
    let mut watching = JoinSet::new();
    for uri in watchable(context.accepted()) {
        let watch = audit::looked(call, "subscriptions/listen", Watch::begin(call, &uri)).await;
        let watch = watch.map_err(|problem| refused(problem, &uri))?;
        // The client was told already that it is listened to: what changed since is in the first look.
        let mut watch = watch.telling_first();
        let sink = context.sink().clone();
        watching.spawn(async move {
            while watch.changed().await {
                if let Err(error) = sink.notify_resource_updated(&*uri).await {
                    tracing::debug!(uri, %error, "a change was not told");
                    return;
                }
            }
        });
    }
    context.cancelled().await;
    Ok(())
}

/// What a session of the older protocol watches.
#[derive(Debug)]
pub(in crate::mcp) struct Subscriptions {
    watching: Mutex<HashMap<String, AbortOnDropHandle<Option<()>>>>,
    heard: Arc<Mutex<Instant>>,
    /// The daemon ends.
    close: CancellationToken,
}

impl Subscriptions {
    pub(in crate::mcp) fn new(close: CancellationToken) -> Self {
        Self {
            watching: Mutex::default(),
            heard: Arc::new(Mutex::new(Instant::now())),
            close,
        }
    }

    /// The client asked something: it is there.
    pub(in crate::mcp) fn heard(&self) {
        *lock(&self.heard) = Instant::now();
    }

    pub(in crate::mcp) async fn add(
        &self,
        call: &Call,
        peer: Peer<RoleServer>,
        uri: &str,
    ) -> Result<(), Problem> {
        let watch = Watch::begin(call, uri).await?;
        let mut watching = lock(&self.watching);
        watching.retain(|_, watch| !watch.is_finished());
        if watching.len() >= MOST && !watching.contains_key(uri) {
            let detail = format!("a session watches at most {MOST} resources");
            let problem = Problem::new(ErrorKind::Conflict, "too_many_subscriptions", detail);
            return Err(problem.help("unsubscribe from some of them"));
        }
        let telling = tell(watch, uri.to_owned(), peer, self.heard.clone());
        let task = tokio::spawn(self.close.clone().run_until_cancelled_owned(telling));
        watching.insert(uri.to_owned(), AbortOnDropHandle::new(task));
        Ok(())
    }

    pub(in crate::mcp) fn remove(&self, uri: &str) {
        lock(&self.watching).remove(uri);
    }
}

/// Tells of changes for as long as there is a session. One whose client asked nothing for as long as a
/// silent session is kept may be one whose client went without a word, and every notification would
/// keep it for that long again.
async fn tell(mut watch: Watch, uri: String, peer: Peer<RoleServer>, heard: Arc<Mutex<Instant>>) {
    while watch.changed().await && lock(&heard).elapsed() < IDLE_SESSION {
        let update = ResourceUpdatedNotificationParam::new(&*uri);
        if let Err(error) = peer.notify_resource_updated(update).await {
            tracing::debug!(uri, %error, "a change was not told");
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
