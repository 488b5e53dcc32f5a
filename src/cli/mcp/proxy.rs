//! One message to the daemon, and what comes back to the agent; also when the daemon is started anew in
//! the middle of it. What may have been done is never asked for twice.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;
use tokio::time::Instant;

use super::answer::{answers, ended, is_result};
use super::daemon::{Cut, Daemon};
use super::message::Message;
use super::output::Output;
use super::refusal::Refusal;
use super::session::{Session, Sessions};
use super::underway::{Underway, UnderwayCall};
use super::watched::Watched;
use crate::cli::exit::Failure;
use crate::cli::render::Console;

/// How often an answer that was cut off is asked for again.
const REPEATS: usize = 3;
/// What was listened to for so long, as a subscription is, was cut off by nothing that it did itself.
const STEADY: Duration = Duration::from_secs(60);
/// A connection is used again if its answer ends within this after the message that was waited for.
const LINGER: Duration = Duration::from_secs(1);
/// How long a cancel waits for its request to get to the daemon, which has to come first.
const UNTIL_ACCEPTED: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Proxy {
    daemon: Daemon,
    sessions: Sessions,
    watched: Watched,
    underway: Arc<Underway>,
    output: Output,
    console: Console,
}

/// What was tried for one message.
#[derive(Debug, Default)]
struct Tries {
    waits: u32,
    repeats: usize,
    another_key: bool,
    another_session: bool,
}

impl Proxy {
    pub(super) fn new(daemon: Daemon, output: Output, console: Console) -> Self {
        Self {
            daemon,
            sessions: Sessions::default(),
            watched: Watched::default(),
            underway: Underway::new(),
            output,
            console,
        }
    }

    pub(super) fn daemon(&self) -> &Daemon {
        &self.daemon
    }

    pub(super) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub(super) fn watched(&self) -> &Watched {
        &self.watched
    }

    pub(super) fn underway(&self) -> &Arc<Underway> {
        &self.underway
    }

    pub(super) fn output(&self) -> &Output {
        &self.output
    }

    /// Asks, and hands on whatever is said until the answer has come.
    pub(super) async fn request(&self, message: &Message, id: &Value, place: &UnderwayCall) {
        let mut tries = Tries::default();
        loop {
            let begun = Instant::now();
            let session = self.sessions.current();
            let Err(cut) = self.ask(message, id, session.as_ref(), place).await else {
                return;
            };
            if place.call().taken_back.is_cancelled() {
                // The daemon ends its answer without a word then.
                return;
            }
            if begun.elapsed() > STEADY {
                tries = Tries::default();
            }
            let Err(cut) = self.again(message, session, cut, &mut tries).await else {
                continue;
            };
            place.leave();
            let refusal = match cut {
                Cut::Unsent(failure) => Refusal::unreachable(id.clone(), &failure),
                Cut::Broken(failure) if message.may_be_repeated() => {
                    Refusal::unreachable(id.clone(), &failure)
                }
                Cut::Broken(failure) => Refusal::cut_off(id.clone(), &failure),
                Cut::Refused(_, body) if answers(&body, id) => {
                    return self.output.message(&body).await;
                }
                Cut::Refused(status, body) => Refusal::said(id.clone(), status, &body),
            };
            return self.refuse(&refusal).await;
        }
    }

    /// Passes on what nobody answers.
    pub(super) async fn notify(&self, message: &Message) {
        let mut tries = Tries::default();
        loop {
            let session = self.sessions.current();
            let headers = message.headers(session.as_ref());
            let Err(cut) = self.daemon.post(headers, message.line.clone()).await else {
                return;
            };
            let Err(cut) = self.again(message, session, cut, &mut tries).await else {
                continue;
            };
            let why = match cut {
                Cut::Unsent(failure) | Cut::Broken(failure) => failure.to_string(),
                Cut::Refused(status, body) => Refusal::said(Value::Null, status, &body)
                    .message()
                    .to_owned(),
            };
            let warning = format!("a message of the agent did not get to the daemon: {why}");
            return self.console.warning(&warning);
        }
    }

    /// Ends the wait for an answer. In the newer protocol a closed connection says so to the daemon.
    pub(super) async fn cancel(&self, message: &Message, id: &Value) {
        // Without one the answer was there first.
        let Some(call) = self.underway.find(id) else {
            return;
        };
        call.taken_back.cancel();
        if !call.is_newer {
            let accepted = tokio::time::timeout(UNTIL_ACCEPTED, call.accepted.cancelled()).await;
            if accepted.is_ok() {
                self.notify(message).await;
            }
        }
        call.dropped.cancel();
    }

    pub(super) async fn refuse(&self, refusal: &Refusal) {
        self.output.message(&refusal.line()).await;
    }

    async fn ask(
        &self,
        message: &Message,
        id: &Value,
        session: Option<&Session>,
        place: &UnderwayCall,
    ) -> Result<(), Cut> {
        let headers = message.headers(session);
        let mut answer = self.daemon.post(headers, message.line.clone()).await?;
        place.call().accepted.cancel();
        while let Some(event) = answer.next().await.map_err(Cut::Broken)? {
            if event.data.is_empty() {
                continue;
            }
            let is_answer = answers(&event.data, id);
            if is_answer && message.is_initialize() {
                let (line, id) = (message.line.clone(), id.clone());
                self.sessions.open(line, id, &answer, &event.data).await;
                self.watched.clear();
            }
            if is_answer && is_result(&event.data) {
                self.watched.granted(message, id);
            }
            if is_answer {
                place.leave();
            }
            self.output.message(&event.data).await;
            if is_answer {
                let rest = async { while let Ok(Some(_)) = answer.next().await {} };
                let _ = tokio::time::timeout(LINGER, rest).await;
                return Ok(());
            }
        }
        Err(Cut::Broken(ended()))
    }

    /// Whether to try once more, after what has to be done first; else why not.
    async fn again(
        &self,
        message: &Message,
        session: Option<Session>,
        cut: Cut,
        tries: &mut Tries,
    ) -> Result<(), Cut> {
        match cut {
            Cut::Unsent(failure) => self.wait(tries, failure, Cut::Unsent).await,
            Cut::Broken(failure) if message.may_be_repeated() && tries.repeats < REPEATS => {
                tries.repeats += 1;
                self.wait(tries, failure, Cut::Broken).await
            }
            // A daemon that was started anew has another key.
            Cut::Refused(StatusCode::UNAUTHORIZED, _) if !tries.another_key => {
                tries.another_key = true;
                self.daemon.look_again();
                Ok(())
            }
            Cut::Refused(StatusCode::NOT_FOUND, body) if !tries.another_session => {
                let lost = session.filter(|_| !message.is_newer() && !message.is_initialize());
                let Some(lost) = lost else {
                    return Err(Cut::Refused(StatusCode::NOT_FOUND, body));
                };
                match self.sessions.renew(&self.daemon, &lost).await {
                    Ok(()) => {
                        tries.another_session = true;
                        Ok(())
                    }
                    Err(Cut::Unsent(failure) | Cut::Broken(failure)) => {
                        self.wait(tries, failure, Cut::Unsent).await
                    }
                    Err(refused) => Err(refused),
                }
            }
            cut => Err(cut),
        }
    }

    async fn wait(
        &self,
        tries: &mut Tries,
        failure: Failure,
        given_up: fn(Failure) -> Cut,
    ) -> Result<(), Cut> {
        let waited = self.daemon.wait(&mut tries.waits, failure).await;
        waited.map_err(given_up)
    }
}
