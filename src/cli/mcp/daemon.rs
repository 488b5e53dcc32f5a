//! The way to the daemon, which may be started anew meanwhile, at another address and with another key.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use tokio::time::Instant;

use super::answer::{Answer, whole};
use crate::cli::client::Client;
use crate::cli::exit::Failure;
use crate::cli::render::Console;
use branchyard::mcp::headers;
use branchyard_config::Limits;

const PATH: &str = "/mcp";
/// A daemon that is being started anew is back within this, or it is not coming.
const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const SLOWEST_RETRY: Duration = Duration::from_secs(2);
/// How much of a refusal is read.
const LONGEST_REFUSAL: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Daemon {
    client: RwLock<Client>,
    /// What the agent's configuration fixed; it goes with every request.
    scope: HeaderMap,
    console: Console,
    /// Since when nobody answers.
    silent_since: Mutex<Option<Instant>>,
    max_body: Arc<AtomicUsize>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Cut {
    /// The message did not get to the daemon.
    Unsent(Failure),
    /// It got there; the answer did not get here.
    Broken(Failure),
    /// The daemon said no, before it did anything.
    Refused(StatusCode, Vec<u8>),
}

impl Daemon {
    pub(super) fn new(client: Client, scope: HeaderMap, console: Console) -> Self {
        let max_body = Limits::default().max_body.as_usize();
        Self {
            client: RwLock::new(client),
            scope,
            console,
            silent_since: Mutex::new(None),
            max_body: Arc::new(AtomicUsize::new(max_body)),
        }
    }

    /// What a message may have at most, as the daemon last said.
    pub(super) fn max_body(&self) -> Arc<AtomicUsize> {
        self.max_body.clone()
    }

    pub(super) async fn post(&self, mut headers: HeaderMap, message: Bytes) -> Result<Answer, Cut> {
        let json = HeaderValue::from_static("application/json");
        headers.insert(CONTENT_TYPE, json);
        self.send(Method::POST, headers, message).await
    }

    pub(super) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, Cut> {
        let client = self.client();
        let both = HeaderValue::from_static("application/json, text/event-stream");
        let mut all = self.scope.clone();
        all.insert(ACCEPT, both);
        all.extend(headers);
        let sent = client.request(method, PATH).headers(all).body(body).send();
        let mut response = sent.await.map_err(|error| {
            let is_unsent = error.is_connect();
            let failure = Failure::from(client.unreachable(&error));
            match is_unsent {
                true => Cut::Unsent(failure),
                false => Cut::Broken(failure),
            }
        })?;
        self.reached(&response);
        let status = response.status();
        if status.is_success() {
            return Ok(Answer::new(response));
        }
        let body = whole(&mut response, LONGEST_REFUSAL)
            .await
            .map_err(Cut::Broken)?;
        // A daemon that stops cuts answers off with words that nobody can read.
        if status.is_server_error() && serde_json::from_slice::<serde_json::Value>(&body).is_err() {
            let failure = Failure::daemon(format!("it answered {status}"));
            return Err(Cut::Broken(failure));
        }
        Err(Cut::Refused(status, body))
    }

    fn client(&self) -> Client {
        let client = self.client.read();
        client.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks where the daemon is by now; whether it is somewhere else, or has another key.
    pub(super) fn look_again(&self) -> bool {
        let Some(elsewhere) = self.client().elsewhere() else {
            return false;
        };
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = elsewhere;
        true
    }

    /// Waits before the next try, after so many; gives up where the daemon has not answered for too long.
    pub(super) async fn wait(&self, waits: &mut u32, failure: Failure) -> Result<(), Failure> {
        let pause = (FIRST_RETRY * 2_u32.saturating_pow(*waits)).min(SLOWEST_RETRY);
        let now = Instant::now();
        let since = {
            let mut silent = self.silent_since();
            if silent.is_none() {
                let seconds = PATIENCE.as_secs();
                let note = format!("{failure}; waiting up to {seconds} s for the daemon");
                self.console.note(&note);
            }
            *silent.get_or_insert(now)
        };
        if now + pause > since + PATIENCE {
            // Others find out at their first try from now on.
            return match self.look_again() {
                true => Ok(()),
                false => Err(failure),
            };
        }
        tokio::time::sleep(pause).await;
        *waits += 1;
        self.look_again();
        Ok(())
    }

    fn reached(&self, response: &Response) {
        if self.silent_since().take().is_some() {
            let client = self.client();
            let url = &client.endpoint().url;
            self.console.note(&format!("the daemon answers at {url}"));
        }
        let most = response.headers().get(headers::MAX_BODY);
        let most = most.and_then(|most| most.to_str().ok()?.parse().ok());
        if let Some(most) = most {
            self.max_body.store(most, Ordering::Relaxed);
        }
    }

    fn silent_since(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.silent_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
