//! Waiting for a run's end, no longer than a client waits for its answer, with progress on the way.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_stream::StreamExt;

use super::call::{Call, LONGEST};
use super::progress::AT_LEAST_EVERY;
use super::reply::cut;
use super::window::readable;
use crate::app::runs;
use branchyard_journal::{Cursor, Frame, FrameKind, Sink};
use branchyard_model::{Event, Phase, Problem, RunId, RunRecord, RunState, Status};
use branchyard_runs::Live;

/// Between two notices of progress, however much happens.
pub(super) const NOT_OFTENER_THAN: Duration = Duration::from_secs(1);
/// What is shown of a line of output.
const SHOWN_CHARS: usize = 200;

/// How long an answer may take, as agents write it: seconds, or a duration such as "30s".
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(try_from = "WrittenWait")]
#[schemars(with = "f64")]
pub(super) struct Wait(Option<Duration>);

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "seconds from 0 to 50, or a duration such as \"30s\""
)]
enum WrittenWait {
    Seconds(f64),
    Text(String),
}

impl Wait {
    /// When it is over.
    pub(super) fn end(self, since: Instant) -> Instant {
        since + self.0.unwrap_or(LONGEST)
    }

    /// As long as it says, or else this long.
    #[must_use]
    pub(super) fn or(self, usual: Duration) -> Self {
        Self(self.0.or(Some(usual)))
    }
}

impl TryFrom<WrittenWait> for Wait {
    type Error = &'static str;

    fn try_from(written: WrittenWait) -> Result<Self, Self::Error> {
        let wait = match written {
            WrittenWait::Seconds(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            WrittenWait::Text(text) => humantime::parse_duration(&text).ok(),
        };
        let wait = wait.ok_or("expected seconds from 0 to 50, or a duration such as \"30s\"")?;
        Ok(Self(Some(wait.min(LONGEST))))
    }
}

/// What it means for a run that its client takes back the request that waits for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnCancel {
    /// It goes on; `run_wait` finds it again.
    #[default]
    Detach,
    /// It ends.
    Cancel,
}

/// What of a run is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    /// Its end; or, of one in the background, that it is ready.
    Ready,
    Ended,
}

impl Until {
    async fn reached(self, live: &Live) {
        match self {
            Self::Ready => live.answered().await,
            Self::Ended => live.ended().await,
        }
    }
}

/// Waits until the run has come that far, `wait` is over since `since`, or the client wants no answer any more. The
/// run as it is then.
pub(super) async fn until_ended(
    call: &Call,
    id: RunId,
    (since, wait): (Instant, Wait),
    on_cancel: OnCancel,
    until: Until,
) -> Result<RunRecord, Problem> {
    if let Some(live) = runs::live_run(call.app(), id)? {
        let mut leaving = Leaving::new(on_cancel, || {
            let cancelled = runs::cancel_run(call.app(), id, false);
            cancelled.map(drop)
        });
        tokio::select! {
            () = until.reached(&live) => leaving.stay(),
            () = tokio::time::sleep_until(wait.end(since)) => leaving.stay(),
            () = call.cancelled().cancelled() => {}
            never = tell(call, &live) => match never {},
        }
    }
    runs::get(call.app(), id)
}

/// What becomes of something when its client takes back the request that waits for it. The wait itself may be dropped,
/// where a client is gone.
pub(super) struct Leaving<F: FnOnce() -> Result<(), Problem>>(Option<F>);

impl<F: FnOnce() -> Result<(), Problem>> Leaving<F> {
    pub(super) fn new(on_cancel: OnCancel, cancel: F) -> Self {
        Self((on_cancel == OnCancel::Cancel).then_some(cancel))
    }

    /// The wait is over, and the client is there.
    pub(super) fn stay(&mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce() -> Result<(), Problem>> Drop for Leaving<F> {
    fn drop(&mut self) {
        if let Some(Err(problem)) = self.0.take().map(|cancel| cancel()) {
            tracing::warn!(error = %problem, "what was asked for is not cancelled with its request");
        }
    }
}

/// Tells progress for as long as it is polled.
async fn tell(call: &Call, live: &Live) -> Infallible {
    if !call.progress().is_wanted() {
        return std::future::pending().await;
    }
    let state = live.record().state;
    let followed = match runs::view_run(call.app(), live.id()) {
        Ok(view) => {
            // What stands before its command is little; what a command printed may be much.
            let from = match state {
                RunState::Running => view.end(),
                RunState::Queued | RunState::Preparing | RunState::Ended(_) => Cursor::START,
            };
            view.follow(from, News::default()).await
        }
        Err(problem) => Err(problem),
    };
    let mut news = match followed {
        Ok(news) => Box::pin(news),
        Err(problem) => {
            tracing::warn!(run = %live.id(), error = %problem, "there is no progress to tell");
            return std::future::pending().await;
        }
    };
    let began = Instant::now();
    let mut latest = state.as_str().to_owned();
    let mut tick = tokio::time::interval(NOT_OFTENER_THAN);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut told_at, mut is_new) = (None::<Instant>, true);
    loop {
        tokio::select! {
            more = news.next() => match more {
                Some(Ok(text)) => {
                    latest = String::from_utf8_lossy(&text).into_owned();
                    is_new = true;
                }
                Some(Err(error)) => tracing::debug!(%error, "a journal cannot be followed for progress"),
                // It has ended; whoever waits hears of it.
                None => return std::future::pending().await,
            },
            _ = tick.tick() => {
                let is_due = told_at.is_none_or(|at| at.elapsed() >= AT_LEAST_EVERY);
                if is_new || is_due {
                    let seconds = began.elapsed().as_secs();
                    call.progress().tell(format!("{seconds} s: {latest}")).await;
                    told_at = Some(Instant::now());
                    is_new = false;
                }
            }
        }
    }
}

/// The latest of what a journal says, in words.
#[derive(Debug, Default)]
struct News {
    latest: String,
    is_new: bool,
}

impl News {
    fn set(&mut self, text: String) {
        self.latest = text;
        self.is_new = true;
    }
}

impl Sink for News {
    fn frame(&mut self, frame: &Frame<'_>, skip: usize) -> usize {
        let payload = &frame.payload[skip..];
        match frame.kind {
            FrameKind::Event => {
                if let Ok(Event::Status(status)) = serde_json::from_slice(payload) {
                    self.set(words(&status));
                }
            }
            FrameKind::Output(_) => {
                let mut lines = payload.rsplit(|byte| *byte == b'\n').map(readable);
                if let Some(line) = lines.find(|line| !line.trim().is_empty()) {
                    self.set(cut(&line, SHOWN_CHARS));
                }
            }
        }
        frame.payload.len()
    }

    fn has_pending(&self) -> bool {
        false
    }

    fn flush(&mut self) {}

    fn finish(&mut self) {}

    fn keep_alive(&mut self) {}

    fn buffered(&self) -> usize {
        if self.is_new { self.latest.len() } else { 0 }
    }

    fn take(&mut self) -> Bytes {
        self.is_new = false;
        std::mem::take(&mut self.latest).into()
    }
}

fn words(status: &Status) -> String {
    let mut text = match status.phase {
        Some(Phase::Clone) => "cloning".to_owned(),
        Some(Phase::Fetch) => "fetching".to_owned(),
        Some(Phase::Worktree) => "making the workspace".to_owned(),
        Some(Phase::Warm) => "copying what a sibling has built".to_owned(),
        Some(Phase::Checkout) => "checking out".to_owned(),
        Some(Phase::Setup) => "setting the workspace up".to_owned(),
        Some(Phase::Sync) => "bringing the workspace up to date".to_owned(),
        None => status.state.clone(),
    };
    if let Some(percent) = status.percent {
        text.push_str(&format!(", {percent} %"));
    }
    if let Some(position) = status.position {
        text.push_str(&format!(", {position} served first"));
    }
    if let Some(holder) = &status.holder {
        text.push_str(&format!("; the workspace is busy with {}", holder.what));
    }
    text
}
