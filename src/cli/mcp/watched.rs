//! What the agent watches in its session of the older protocol. A daemon that was started anew knows the
//! session, and nothing of this: it is told again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};

use super::answer::is_result;
use super::daemon::Daemon;
use super::message::Message;
use super::output::Output;
use super::session::Session;

/// More than a session may watch at once; those before have ended, such as logs of old runs.
const MOST: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Watched(Mutex<Vec<Subscription>>);

#[derive(Debug, Clone)]
struct Subscription {
    uri: String,
    /// The request as it came, and its id.
    request: (Bytes, Value),
}

impl Watched {
    /// A request that was granted may have begun or ended a watch.
    pub(super) fn granted(&self, message: &Message, id: &Value) {
        let Some((method, uri)) = message.about() else {
            return;
        };
        match method {
            "resources/subscribe" => {
                self.forget(uri);
                let mut all = self.all();
                all.push(Subscription {
                    uri: uri.to_owned(),
                    request: (message.line.clone(), id.clone()),
                });
                let too_many = all.len().saturating_sub(MOST);
                all.drain(..too_many);
            }
            "resources/unsubscribe" => self.forget(uri),
            _ => {}
        }
    }

    /// Another session watches nothing.
    pub(super) fn clear(&self) {
        self.all().clear();
    }

    /// Asks for all of it again, and tells the agent of each: nobody knows what changed meanwhile.
    pub(super) async fn repeat(&self, daemon: &Daemon, session: &Session, output: &Output) {
        let all = self.all().clone();
        for Subscription { uri, request } in all {
            let (line, id) = request;
            let Ok(mut answer) = daemon.post(session.headers(), line).await else {
                // Then the stream beside this breaks off too, and is taken up again.
                return;
            };
            match answer.to(&id).await {
                Ok(granted) if is_result(&granted) => {}
                Ok(_) => self.forget(&uri),
                Err(_) => return,
            }
            let told = json!({
                "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri },
            });
            output.message(told.to_string().as_bytes()).await;
        }
    }

    fn forget(&self, uri: &str) {
        self.all().retain(|known| known.uri != uri);
    }

    fn all(&self) -> MutexGuard<'_, Vec<Subscription>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
