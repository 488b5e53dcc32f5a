//! The same request again: an `Idempotency-Key` names one run, however often it is sent.

use std::sync::Arc;

use dashmap::DashMap;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::open::Runs;
use super::reuse::ReuseKey;
use branchyard_model::{ErrorKind, GroupId, Idempotency, PipelineId, Problem, RunId};

/// How long a key is remembered.
const KEPT: SignedDuration = SignedDuration::from_hours(24);
const MAX_KEY: usize = 255;

/// Keys by who sent them.
#[derive(Debug, Default)]
pub(super) struct Keys(DashMap<(String, String), Arc<Mutex<Option<Claim>>>>);

/// What a key stands for.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) request: String,
    pub(super) of: Claimed,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Claimed {
    Run(RunId),
    Group(GroupId),
    Pipeline(PipelineId),
}

/// What came of a key that a pipeline is asked for with.
#[derive(Debug)]
pub enum PipelineKey {
    Known(PipelineId),
    New(NewKey),
}

/// A key that nothing was started by yet. Requests that come with it meanwhile wait until this is settled or dropped.
#[derive(Debug)]
pub struct NewKey {
    claim: OwnedMutexGuard<Option<Claim>>,
    idempotency: Idempotency,
}

impl NewKey {
    /// What the record of the pipeline is to have of it.
    pub fn idempotency(&self) -> &Idempotency {
        &self.idempotency
    }

    /// The key stands for this pipeline from now on.
    pub fn settle(mut self, pipeline: PipelineId) {
        *self.claim = Some(Claim {
            request: self.idempotency.request,
            of: Claimed::Pipeline(pipeline),
        });
    }
}

/// Looks for the pipeline that a principal started by this key.
pub async fn claim_for_pipeline(
    runs: &Runs,
    principal: &str,
    key: &str,
    request: &impl Serialize,
) -> Result<PipelineKey, Problem> {
    check_key(key)?;
    let digest = digest(&runs.inner().reuse_key, request);
    let claim = runs.inner().keys.claim(principal, key).await;
    if let Some(known) = &*claim {
        return match known.of {
            Claimed::Pipeline(id) if known.request == digest => Ok(PipelineKey::Known(id)),
            _ => Err(known.reused(key)),
        };
    }
    let idempotency = Idempotency {
        key: key.to_owned(),
        request: digest,
    };
    Ok(PipelineKey::New(NewKey { claim, idempotency }))
}

/// Takes note of a key by which an earlier daemon started a pipeline.
pub fn remember_pipeline(runs: &Runs, principal: &str, known: Idempotency, id: PipelineId) {
    if id.made_at() >= horizon() {
        let of = Claimed::Pipeline(id);
        runs.inner().keys.remember(principal.to_owned(), known, of);
    }
}

/// Since when keys count.
pub(super) fn horizon() -> Timestamp {
    Timestamp::now()
        .saturating_sub(KEPT)
        .unwrap_or(Timestamp::MIN)
}

impl Keys {
    /// The claim on a key, held until dropped: who sends it meanwhile waits to see what came of it.
    pub(super) async fn claim(&self, principal: &str, key: &str) -> OwnedMutexGuard<Option<Claim>> {
        let id = (principal.to_owned(), key.to_owned());
        let claim = self.0.entry(id).or_default().clone();
        let mut claim = claim.lock_owned().await;
        claim.take_if(|known| known.made_at() < horizon());
        claim
    }

    /// Takes note of a key that an earlier daemon accepted.
    pub(super) fn remember(&self, principal: String, known: Idempotency, of: Claimed) {
        let claim = Claim {
            request: known.request,
            of,
        };
        self.0
            .insert((principal, known.key), Arc::new(Mutex::new(Some(claim))));
    }

    pub(super) fn forget_expired(&self) {
        let horizon = horizon();
        self.0.retain(|_, claim| match claim.try_lock() {
            Ok(claim) => claim
                .as_ref()
                .is_some_and(|known| known.made_at() >= horizon),
            // Somebody is at it.
            Err(_) => true,
        });
    }
}

/// A key as a caller may send it.
pub(super) fn check_key(key: &str) -> Result<(), Problem> {
    let plain = key.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if key.is_empty() || key.len() > MAX_KEY || !plain {
        let detail = format!("an Idempotency-Key is 1 to {MAX_KEY} printable ASCII characters");
        return Err(Problem::bad("Idempotency-Key", detail).help("a UUID will do"));
    }
    Ok(())
}

/// What an idempotency key was sent with, as a digest under the yard's own key: the body may hold secrets that are
/// short enough to be guessed.
pub(super) fn digest(key: &ReuseKey, request: &impl Serialize) -> String {
    // Plain data with string keys always serialises.
    let text = serde_json::to_vec(request).unwrap_or_default();
    key.digest(&text)
}

impl Claim {
    fn made_at(&self) -> Timestamp {
        match self.of {
            Claimed::Run(run) => run.made_at(),
            Claimed::Group(group) => group.made_at(),
            Claimed::Pipeline(pipeline) => pipeline.made_at(),
        }
    }

    /// The answer to a key that came with another request before.
    pub(super) fn reused(&self, key: &str) -> Problem {
        let started = match self.of {
            Claimed::Run(run) => format!("run {run}"),
            Claimed::Group(group) => format!("group {group}"),
            Claimed::Pipeline(pipeline) => format!("pipeline {pipeline}"),
        };
        let detail =
            format!("the key {key:?} was sent before, with another request: it started {started}");
        Problem::new(ErrorKind::Unprocessable, "idempotency_key_reused", detail)
            .field("Idempotency-Key")
            .help("send a new key with a new request")
    }
}
