//! All messages, in memory and on disk, where each has a file of its own.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::backoff;
use crate::delivery::DeliveryState;
use crate::message::OutgoingMessage;
use branchyard_model::DeliveryId;
use branchyard_runtime::disk::{create_private_dir, read_json, write_json};

/// Of messages that have arrived or were given up, so many are kept.
const ENDED: usize = 1000;
/// Of those that wait, so many: the oldest are given up.
const WAITING: usize = 20_000;

#[derive(Debug)]
pub(crate) struct Shelf {
    dir: PathBuf,
    messages: BTreeMap<DeliveryId, OutgoingMessage>,
}

impl Shelf {
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        let dir = state.join("outbox");
        if !dir.is_dir() {
            create_private_dir(&dir)?;
        }
        let mut messages = BTreeMap::new();
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match read_json::<OutgoingMessage>(&path) {
                Ok(Some(message)) => {
                    messages.insert(message.id, message);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(path = %path.display(), %error, "a message to a forge or webhook cannot be read");
                }
            }
        }
        let mut shelf = Self { dir, messages };
        shelf.drop_outdated();
        Ok(shelf)
    }

    /// Drops what still waits though something newer about the same is there: a daemon was killed before it could.
    fn drop_outdated(&mut self) {
        let mut newer = HashSet::new();
        let mut outdated = Vec::new();
        for message in self.messages.values().rev() {
            if !newer.insert(&message.about) && message.is_waiting() {
                outdated.push(message.id);
            }
        }
        for id in outdated {
            self.remove(id);
        }
    }

    /// Sends nothing of what waits.
    pub(crate) fn give_up(&mut self, why: &str) -> io::Result<()> {
        let waiting = self.messages.values().filter(|it| it.is_waiting());
        let waiting: Vec<_> = waiting.cloned().collect();
        for message in waiting {
            self.put(OutgoingMessage {
                state: DeliveryState::Failed,
                problem: Some(why.to_owned()),
                ended_at: Some(Timestamp::now()),
                ..message
            })?;
        }
        Ok(())
    }

    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &OutgoingMessage> {
        self.messages.values()
    }

    pub(crate) fn get(&self, id: DeliveryId) -> Option<&OutgoingMessage> {
        self.messages.get(&id)
    }

    /// Adds a message in place of those about the same that have not arrived.
    pub(crate) fn add(&mut self, message: OutgoingMessage) -> io::Result<()> {
        let older = self.messages.values();
        let older = older.filter(|older| older.is_waiting() && older.about == message.about);
        let older: Vec<_> = older.map(|older| older.id).collect();
        self.put(message)?;
        for id in older {
            self.remove(id);
        }
        self.tidy();
        Ok(())
    }

    /// Has a message be otherwise.
    pub(crate) fn put(&mut self, message: OutgoingMessage) -> io::Result<()> {
        write_json(&self.path(message.id), &message)?;
        self.messages.insert(message.id, message);
        Ok(())
    }

    /// Has a message be otherwise, even if that cannot be written: it would be sent again at once.
    pub(crate) fn settle(&mut self, message: OutgoingMessage) -> io::Result<()> {
        let written = write_json(&self.path(message.id), &message);
        self.messages.insert(message.id, message);
        written
    }

    fn tidy(&mut self) {
        for (state, most) in [
            (DeliveryState::Waiting, WAITING),
            (DeliveryState::Delivered, ENDED),
            (DeliveryState::Failed, ENDED),
        ] {
            let of_state = self.messages.values().filter(|it| it.state == state);
            let ids: Vec<_> = of_state.map(|it| it.id).collect();
            for id in ids.iter().take(ids.len().saturating_sub(most)) {
                if state == DeliveryState::Waiting {
                    tracing::error!(delivery = %id, "too many messages wait to be sent: the oldest is given up");
                }
                self.remove(*id);
            }
        }
    }

    fn remove(&mut self, id: DeliveryId) {
        if let Err(error) = fs::remove_file(self.path(id)) {
            tracing::warn!(%error, "an old message stays on disk");
        }
        self.messages.remove(&id);
    }

    fn path(&self, id: DeliveryId) -> PathBuf {
        self.dir.join(format!("{id}.json"))
    }

    /// The first that is to be sent, of those that `may_go`; or when the next one is.
    pub(crate) fn next(
        &self,
        now: Timestamp,
        may_go: impl Fn(&OutgoingMessage) -> bool,
    ) -> Result<&OutgoingMessage, Option<Timestamp>> {
        let waiting = self.messages.values();
        let waiting = waiting.filter(|it| it.is_waiting() && may_go(it));
        // One that is to wait for longer than any does was noted by a clock that was wrong.
        let furthest = now
            .saturating_add(backoff::LONGEST)
            .unwrap_or(Timestamp::MAX);
        let is_due = |it: &&OutgoingMessage| it.next_at <= now || it.next_at > furthest;
        let first = waiting.clone().filter(is_due);
        // Those that failed before come after those that did not.
        match first.min_by_key(|it| (it.failures > 0, it.next_at, it.id)) {
            Some(first) => Ok(first),
            None => Err(waiting.map(|it| it.next_at).min()),
        }
    }
}
