//! Sessions of the older protocol: what their `initialize` said, so that neither a restart nor a long
//! silence makes an agent begin again; and whose they are.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use dashmap::DashMap;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{
    SessionManager, SessionState, SessionStore, SessionStoreError,
};

use super::session_files::{SessionFiles, StoredSession};
use crate::app::App;
use branchyard_auth::Principal;
use branchyard_model::{ErrorKind, Problem};

pub(super) const HEADER: &str = "mcp-session-id";
/// So many are in memory, where each takes about 100 KiB. Beyond that one leaves it, and comes back from disk when it is named again: of the
/// principal who has most, the one that was named longest ago.
const MOST: usize = 256;
/// How exactly the disk knows when a session was last named.
const BETWEEN_TOUCHES: Duration = Duration::from_secs(60 * 60);

tokio::task_local! {
    /// Who asks: the store is not told.
    static ASKER: String;
}

/// Runs `answer` on behalf of `principal`.
pub(super) async fn asked_by<T>(principal: String, answer: impl Future<Output = T>) -> T {
    ASKER.scope(principal, answer).await
}

#[derive(Debug)]
pub(super) struct Sessions {
    files: Arc<SessionFiles>,
    manager: Arc<LocalSessionManager>,
    known: DashMap<String, KnownSession>,
}

#[derive(Debug, Clone)]
struct KnownSession {
    principal: String,
    named_at: Instant,
    touched_at: Instant,
}

impl Sessions {
    pub(super) fn open(app: &App, manager: Arc<LocalSessionManager>) -> Self {
        let dir = app.margin().state().join("mcp-sessions");
        Self {
            files: Arc::new(SessionFiles::open(dir, app.margin().clone())),
            manager,
            known: DashMap::new(),
        }
    }

    /// A session that is another's is as good as none.
    pub(super) async fn check(
        &self,
        headers: &HeaderMap,
        principal: &Principal,
    ) -> Result<(), Problem> {
        let Some(id) = headers.get(HEADER) else {
            return Ok(());
        };
        let unknown = || {
            let detail = "there is no such MCP session";
            Problem::new(ErrorKind::NotFound, "session_not_found", detail)
                .field(HEADER)
                .help("begin again with `initialize`")
        };
        let id = id.to_str().map_err(|_| unknown())?;
        let known = self.known.get(id).map(|known| known.clone());
        let known = match known {
            Some(known) => Some(known),
            None => self.find(id).await?,
        };
        let mut known = known
            .filter(|known| known.principal == principal.name())
            .ok_or_else(unknown)?;
        known.named_at = Instant::now();
        if known.touched_at.elapsed() > BETWEEN_TOUCHES {
            known.touched_at = known.named_at;
            self.touch(id).await?;
        }
        self.remember(id, known).await;
        Ok(())
    }

    /// One that is on disk.
    async fn find(&self, id: &str) -> Result<Option<KnownSession>, Problem> {
        let name = id.to_owned();
        let kept = self.on_disk(move |files| files.read(&name)).await;
        let Some(kept) = kept.map_err(|error| unreadable(&error))? else {
            return Ok(None);
        };
        self.touch(id).await?;
        Ok(Some(KnownSession::now(kept.principal)))
    }

    async fn touch(&self, id: &str) -> Result<(), Problem> {
        let id = id.to_owned();
        let touched = self.on_disk(move |files| files.touch(&id)).await;
        touched.map_err(|error| unreadable(&error))
    }

    async fn remember(&self, id: &str, known: KnownSession) {
        self.known.insert(id.to_owned(), known);
        while self.known.len() > MOST {
            let Some(oldest) = self.oldest_of_the_greediest() else {
                return;
            };
            self.known.remove(&oldest);
            if let Err(error) = self.manager.close_session(&oldest.into()).await {
                tracing::warn!(%error, "an MCP session does not leave memory");
            }
        }
    }

    /// Nobody loses a session to what another opens.
    fn oldest_of_the_greediest(&self) -> Option<String> {
        let mut counts = HashMap::<_, usize>::new();
        for known in &self.known {
            *counts.entry(known.principal.clone()).or_default() += 1;
        }
        let (greediest, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let theirs = self.known.iter();
        let theirs = theirs.filter(|known| known.principal == greediest);
        let oldest = theirs.min_by_key(|known| known.named_at);
        oldest.map(|known| known.key().clone())
    }

    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SessionFiles) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let files = self.files.clone();
        let working = tokio::task::spawn_blocking(move || work(&files));
        working.await.map_err(io::Error::other)?
    }
}

impl KnownSession {
    fn now(principal: String) -> Self {
        let now = Instant::now();
        Self {
            principal,
            named_at: now,
            touched_at: now,
        }
    }
}

fn unreadable(error: &io::Error) -> Problem {
    Problem::unwritten(
        "session_unreadable",
        "the MCP session cannot be read",
        error,
    )
}

#[async_trait::async_trait]
impl SessionStore for Sessions {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let id = id.to_owned();
        let kept = self.on_disk(move |files| files.read(&id)).await?;
        Ok(kept.map(|kept| kept.state))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let principal = ASKER.with(String::clone);
        self.remember(id, KnownSession::now(principal.clone()))
            .await;
        let (id, state) = (id.to_owned(), state.clone());
        let kept = StoredSession { principal, state };
        Ok(self.on_disk(move |files| files.write(&id, &kept)).await?)
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        self.known.remove(id);
        let id = id.to_owned();
        Ok(self.on_disk(move |files| files.remove(&id)).await?)
    }
}
