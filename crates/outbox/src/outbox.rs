//! The outbox: what is to be told goes in before it is true for others, and stays until it has arrived.

use std::collections::HashSet;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use lru::LruCache;
use parking_lot::Mutex;
use reqwest::Client;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::after::{self, RunAfter};
use crate::backoff;
use crate::delivery::{Delivery, DeliveryState};
use crate::message::{Addressee, MessageSubject, OutgoingMessage};
use crate::news;
use crate::send::{self, NotDelivered};
use crate::shelf::Shelf;
use branchyard_config::{Config, Statuses, crash_point};
use branchyard_model::{
    DeliveryId, ErrorKind, PipelineId, PipelineRecord, Problem, RepoName, RunRecord,
};

/// Of so many subjects is remembered what was last said.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(10_000).expect("not zero");

/// What an outbox is made of.
#[derive(Debug)]
pub struct OutboxParts<'a> {
    pub config: Arc<Config>,
    /// Where the daemon keeps its files.
    pub state: &'a Path,
    /// What waits to be sent is another yard's.
    pub is_copy: bool,
}

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Outbox(Arc<OutboxInner>);

#[derive(Debug)]
struct OutboxInner {
    config: Arc<Config>,
    client: Client,
    shelf: Mutex<Shelf>,
    /// What was last said about each subject: the same is not said twice.
    said: Mutex<LruCache<String, String>>,
    /// Pipelines whose ends are noted and not on record yet: the commands that follow them wait for that.
    ending: Mutex<HashSet<PipelineId>>,
    /// Where commands have their directories.
    commands: PathBuf,
    wake: Notify,
    leaving: CancellationToken,
}

impl Outbox {
    /// With what an earlier daemon left. Nothing is sent before [`start`](crate::start).
    pub fn open(parts: OutboxParts<'_>) -> io::Result<Self> {
        let OutboxParts {
            config,
            state,
            is_copy,
        } = parts;
        for (name, webhook) in &config.webhooks {
            send::check(webhook)
                .map_err(|why| io::Error::other(format!("[webhooks.{name}]: {why}")))?;
        }
        let mut shelf = Shelf::open(state)?;
        if is_copy {
            shelf.give_up("this yard is a copy, and the original sends it")?;
        }
        // In the order in which it was said, so that nothing is said again.
        let mut known = LruCache::new(REMEMBERED);
        for message in shelf.all() {
            known.put(message.about.clone(), said(message));
        }
        after::sweep(&state.join("after"), shelf.all());
        let inner = OutboxInner {
            client: send::client().map_err(io::Error::other)?,
            shelf: Mutex::new(shelf),
            said: Mutex::new(known),
            ending: Mutex::default(),
            commands: state.join("after"),
            wake: Notify::new(),
            leaving: CancellationToken::new(),
            config,
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Whether there is someone to tell, or something left to be sent.
    pub(crate) fn is_in_use(&self) -> bool {
        let config = &self.0.config;
        let is_told =
            !(config.webhooks.is_empty() && config.forges.is_empty() && config.after.is_empty());
        is_told || self.0.shelf.lock().all().any(OutgoingMessage::is_waiting)
    }

    pub(crate) fn leaving(&self) -> CancellationToken {
        self.0.leaving.clone()
    }

    /// Leaves what has not arrived to the next daemon.
    pub fn leave(&self) {
        self.0.leaving.cancel();
    }

    /// Notes what others are to be told of a pipeline. To be called before anyone sees it so. Blocks for as long as a small
    /// file takes to be written.
    pub fn note(&self, record: &PipelineRecord) -> io::Result<()> {
        self.note_at(record, Timestamp::now())
    }

    fn note_at(&self, record: &PipelineRecord, now: Timestamp) -> io::Result<()> {
        let config = &self.0.config;
        let page = config.public_url.as_ref().map(|url| url.as_str());
        let (repo, id) = (&record.repo, record.pipeline_id);
        let of = (repo, MessageSubject::Pipeline(id));
        let mut messages = after::of_pipeline(config, record);
        if !messages.is_empty() {
            self.0.ending.lock().insert(id);
        }
        for status in news::statuses(record, self.style(record), page) {
            let about = format!("{repo} {} {}", record.commit, status.context);
            let to = Addressee::Status {
                commit: record.commit.clone(),
                status,
            };
            messages.push(OutgoingMessage::new(about, of, to, now));
        }
        for (name, webhook) in &config.webhooks {
            if webhook.is_for(repo) {
                let to = Addressee::Webhook {
                    name: name.to_string(),
                    body: news::body(record, page),
                };
                let about = format!("{name} {id}");
                messages.push(OutgoingMessage::new(about, of, to, now));
            }
        }
        messages.into_iter().try_for_each(|it| self.add(it))
    }

    /// Has the commands run that follow a pipeline, whose end is on record by now.
    pub fn release(&self, id: PipelineId) {
        if self.0.ending.lock().remove(&id) {
            self.wake();
        }
    }

    /// Notes which commands are due at the end of a run. To be called before anyone is told of the end, and as often as one
    /// likes. Blocks as [`Outbox::note`] does.
    pub fn note_run(&self, record: &RunRecord) -> io::Result<()> {
        let mut messages = after::of_run(&self.0.config, record).into_iter();
        messages.try_for_each(|it| self.add(it))
    }

    /// How the forge of a pipeline's repo is told.
    fn style(&self, record: &PipelineRecord) -> Statuses {
        let Some(repo) = self.0.config.repos.get(&record.repo) else {
            return Statuses::Off;
        };
        let forge = self.0.config.forges.of_url(&repo.url);
        match forge.is_some() {
            true => repo.pipelines.statuses,
            false => Statuses::Off,
        }
    }

    fn add(&self, message: OutgoingMessage) -> io::Result<()> {
        let says = said(&message);
        if self.0.said.lock().get(&message.about) == Some(&says) {
            return Ok(());
        }
        let about = message.about.clone();
        self.0.shelf.lock().add(message)?;
        crash_point("outbox-written");
        self.0.said.lock().put(about, says);
        self.wake();
        Ok(())
    }

    /// Those that the asker may see, the newest first, at most `limit`; and whether there are more.
    pub fn list(
        &self,
        limit: usize,
        is_wanted: impl Fn(&Delivery) -> bool,
    ) -> (Vec<Delivery>, bool) {
        let shelf = self.0.shelf.lock();
        let wanted = shelf
            .all()
            .rev()
            .map(OutgoingMessage::shown)
            .filter(is_wanted);
        let mut wanted: Vec<_> = wanted.take(limit + 1).collect();
        let is_more = wanted.len() > limit;
        wanted.truncate(limit);
        (wanted, is_more)
    }

    /// Has a message sent once more, whatever became of it.
    pub fn redeliver(&self, repo: &RepoName, id: DeliveryId) -> Result<Delivery, Problem> {
        let mut shelf = self.0.shelf.lock();
        let message = shelf.get(id).filter(|message| message.repo == *repo);
        let message = message.ok_or_else(|| delivery_not_found(repo, id))?;
        let is_newer =
            |other: &&OutgoingMessage| other.about == message.about && other.id > message.id;
        if matches!(message.to, Addressee::Status { .. }) && shelf.all().find(is_newer).is_some() {
            let detail = "the commit has a newer status, which this one would hide";
            return Err(Problem::new(ErrorKind::Conflict, "newer_delivery", detail)
                .field("delivery_id")
                .help("send the newest of that status once more"));
        }
        let now = Timestamp::now();
        let again = OutgoingMessage {
            state: DeliveryState::Waiting,
            failures: 0,
            made_at: now,
            next_at: now,
            ended_at: None,
            ..message.clone()
        };
        let shown = again.shown();
        shelf.put(again).map_err(|error| {
            Problem::unwritten(
                "not_redelivered",
                "the message could not be written down",
                &error,
            )
        })?;
        self.wake();
        Ok(shown)
    }

    /// The first message that is due, of those that `may_go`; or when the next one is.
    pub(crate) fn next(
        &self,
        now: Timestamp,
        may_go: impl Fn(&OutgoingMessage) -> bool,
    ) -> Result<OutgoingMessage, Option<Timestamp>> {
        let ending = self.0.ending.lock();
        let is_recorded = |message: &OutgoingMessage| match message.subject {
            MessageSubject::Pipeline(id) => !(message.is_command() && ending.contains(&id)),
            MessageSubject::Run(_) => true,
        };
        let shelf = self.0.shelf.lock();
        let next = shelf.next(now, |message| is_recorded(message) && may_go(message));
        next.cloned()
    }

    /// Ends when there may be something new to send.
    pub(crate) async fn woken(&self) {
        self.0.wake.notified().await;
    }

    pub(crate) fn wake(&self) {
        self.0.wake.notify_one();
    }

    pub(crate) async fn send(
        &self,
        message: &OutgoingMessage,
        run_after: &RunAfter,
    ) -> Result<(), NotDelivered> {
        let home = message.home(&self.0.commands);
        let receivers = (&self.0.client, &*self.0.config);
        send::send(receivers, (run_after, home), message).await
    }

    /// Removes what a message has on disk besides itself, if it is a command.
    fn discard(&self, message: &OutgoingMessage) {
        if message.is_command() {
            after::discard(&message.home(&self.0.commands));
        }
    }

    /// Notes what became of a message, unless a newer one took its place.
    pub(crate) fn settle(
        &self,
        sent: &OutgoingMessage,
        result: Result<(), NotDelivered>,
        now: Timestamp,
    ) {
        let mut shelf = self.0.shelf.lock();
        let Some(message) = shelf.get(sent.id).cloned() else {
            drop(shelf);
            self.discard(sent);
            return;
        };
        let settled = match result {
            Ok(()) => OutgoingMessage {
                state: DeliveryState::Delivered,
                problem: None,
                ended_at: Some(now),
                ..message
            },
            Err(NotDelivered { why, after, retry }) => {
                let failures = message.failures + 1;
                let next = backoff::next(retry, failures, after, now);
                tracing::warn!(delivery = %sent.id, about = sent.about, failures, why, "a message did not arrive");
                OutgoingMessage {
                    state: match next {
                        Some(_) => DeliveryState::Waiting,
                        None => DeliveryState::Failed,
                    },
                    failures,
                    problem: Some(why),
                    next_at: next.unwrap_or(now),
                    ended_at: next.is_none().then_some(now),
                    ..message
                }
            }
        };
        let written = shelf.settle(settled);
        // Files take their time to go, and others have something to note meanwhile.
        drop(shelf);
        match written {
            Ok(()) => self.discard(sent),
            // The next daemon sends it again; of a command it finds out how it ended.
            Err(error) => {
                tracing::error!(delivery = %sent.id, %error, "what became of a message is not written down");
            }
        }
    }
}

/// What a message says, but for when it does.
fn said(message: &OutgoingMessage) -> String {
    match &message.to {
        Addressee::Status { status, .. } => format!("{:?} {}", status.state, status.description),
        Addressee::Webhook { body, .. } => format!("{} {}", body["type"], body["data"]["attempt"]),
        Addressee::After { .. } => "it has ended".to_owned(),
    }
}

fn delivery_not_found(repo: &RepoName, id: DeliveryId) -> Problem {
    let detail = format!("the repository {repo} has no delivery {id}");
    Problem::new(ErrorKind::NotFound, "delivery_not_found", detail)
        .field("delivery_id")
        .help("GET /api/repos/{repo}/deliveries lists them; of those that have ended the latest are kept")
}

#[cfg(test)]
mod tests;
