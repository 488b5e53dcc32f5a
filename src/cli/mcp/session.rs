//! The session of the older protocol. It outlives the daemon that it was opened with: one that does not
//! know it is told again what the agent said at its start.

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::sync::{Mutex, watch};

use super::answer::Answer;
use super::daemon::{Cut, Daemon};

pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    id: HeaderValue,
    /// What both sides agreed on.
    version: HeaderValue,
}

#[derive(Debug, Default)]
pub(super) struct Sessions {
    current: watch::Sender<Option<Session>>,
    opening: Mutex<Opening>,
}

/// How the agent opened its session.
#[derive(Debug, Default)]
struct Opening {
    initialize: Option<(Bytes, Value)>,
    initialized: Option<Bytes>,
}

impl Session {
    pub(super) fn headers(&self) -> HeaderMap {
        HeaderMap::from_iter([
            (SESSION_ID, self.id.clone()),
            (PROTOCOL_VERSION, self.version.clone()),
        ])
    }

    /// The session that an answer to `initialize` opened, if it did.
    fn opened(answer: &Answer, result: &[u8]) -> Option<Self> {
        let id = answer.response().headers().get(SESSION_ID)?.clone();
        let welcome: Value = serde_json::from_slice(result).ok()?;
        let version = welcome["result"]["protocolVersion"].as_str()?;
        let version = HeaderValue::from_str(version).ok()?;
        Some(Self { id, version })
    }
}

impl Sessions {
    pub(super) fn current(&self) -> Option<Session> {
        self.current.borrow().clone()
    }

    pub(super) fn changes(&self) -> watch::Receiver<Option<Session>> {
        self.current.subscribe()
    }

    /// The agent said `initialize`, and this was the answer.
    pub(super) async fn open(&self, initialize: Bytes, id: Value, answer: &Answer, result: &[u8]) {
        let Some(session) = Session::opened(answer, result) else {
            return;
        };
        *self.opening.lock().await = Opening {
            initialize: Some((initialize, id)),
            initialized: None,
        };
        self.current.send_replace(Some(session));
    }

    /// The agent said that it is ready.
    pub(super) async fn confirmed(&self, initialized: Bytes) {
        self.opening.lock().await.initialized = Some(initialized);
    }

    /// Opens a session in place of `gone`, once for all who miss it.
    pub(super) async fn renew(&self, daemon: &Daemon, gone: &Session) -> Result<(), Cut> {
        let opening = self.opening.lock().await;
        if self.current().as_ref() != Some(gone) {
            return Ok(());
        }
        let Some((initialize, id)) = &opening.initialize else {
            return Ok(());
        };
        let mut answer = daemon.post(HeaderMap::new(), initialize.clone()).await?;
        let result = answer.to(id).await.map_err(Cut::Broken)?;
        let Some(session) = Session::opened(&answer, &result) else {
            return Err(Cut::Refused(reqwest::StatusCode::NOT_FOUND, result));
        };
        if let Some(initialized) = &opening.initialized {
            daemon.post(session.headers(), initialized.clone()).await?;
        }
        self.current.send_replace(Some(session));
        Ok(())
    }
}
