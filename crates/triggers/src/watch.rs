//! The loop that watches one repo: it waits until something may be new, and looks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::due::{any_due, start_due, until_due};
use crate::look::{LookResult, look};
use crate::reason::Reason;
use crate::repo_watch::{RepoWatch, WatchStatus};
use crate::schedule::Schedule;
use crate::seen::SeenRefs;
use branchyard_model::{BranchName, CommitId, Problem};
use branchyard_pipelines::{find_commit, workflows};

/// How soon is tried again what did not go; it doubles, up to the other.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How often pull requests are looked at that a forge told of too early.
const LOOK_AT_PULLS: Duration = Duration::from_secs(5);

/// What it goes on with from one turn to the next.
struct WatchProgress {
    seen: Option<SeenRefs>,
    /// What the workflow files of the default branch have, as of a commit.
    schedules: Option<((BranchName, CommitId), Vec<Schedule>)>,
}

/// Goes on until it is dropped.
pub(crate) async fn watch(watch: Arc<RepoWatch>) {
    let mut progress = WatchProgress {
        seen: watch.read().unwrap_or_else(|error| {
            tracing::error!(repo = %watch.name(), %error, "what the remote was seen to have cannot be read: what it has now is taken for known");
            None
        }),
        schedules: None,
    };
    let (mut failures, mut next_poll) = (0, Instant::now());
    // What did not go, and when it is tried again.
    let mut again: Option<(Reason, Instant)> = None;
    loop {
        let taking_turn = watch.take_turn().await;
        let now = Instant::now();
        let retried = again.filter(|(_, at)| now >= *at).map(|(reason, _)| reason);
        let polled = (now >= next_poll).then_some(Reason::Poll);
        let due = is_due(&mut progress).then_some(Reason::Schedule);
        let reason = watch.take_reason().max(polled).max(retried).max(due);
        if let Some(reason) = reason {
            let end = turn(&watch, reason, &mut progress).await;
            failures = if end == TurnEnd::Done {
                0
            } else {
                failures + 1
            };
            again = (failures > 0).then(|| (reason, Instant::now() + pause_after(failures)));
            next_poll = Instant::now() + poll_every(&watch);
            if end == TurnEnd::Unreachable {
                drop(taking_turn);
                // Not even those who ask are heard before: each of them would have it asked once more.
                tokio::time::sleep(pause_after(failures)).await;
                continue;
            }
        }
        let next = again.map_or(next_poll, |(_, at)| at.min(next_poll));
        let mut pause = next.saturating_duration_since(Instant::now());
        if !watch.pulls().is_empty() {
            pause = pause.min(LOOK_AT_PULLS);
            again = again.or(Some((Reason::Hook, Instant::now() + LOOK_AT_PULLS)));
        }
        if let (Some(seen), Some((head, schedules))) = (&mut progress.seen, &progress.schedules)
            && !schedules.is_empty()
        {
            start_due(&watch, head, schedules, seen).await;
            pause = pause.min(until_due(schedules, seen));
        }
        drop(taking_turn);
        watch.wait(pause).await;
    }
}

/// What came of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnEnd {
    Done,
    /// Something is to be tried again.
    Unfinished,
    /// The remote could not be asked.
    Unreachable,
}

/// Whether a slot is due, for which the head of the default branch is looked at first.
fn is_due(progress: &mut WatchProgress) -> bool {
    match (&mut progress.seen, &progress.schedules) {
        (Some(seen), Some((_, schedules))) => any_due(schedules, seen),
        _ => false,
    }
}

fn poll_every(watch: &RepoWatch) -> Duration {
    let poll = watch.repo().map(|repo| repo.config().pipelines.poll);
    poll.unwrap_or(LONGEST_PAUSE)
}

async fn turn(watch: &Arc<RepoWatch>, reason: Reason, progress: &mut WatchProgress) -> TurnEnd {
    let LookResult {
        default,
        is_unfinished,
    } = match look(watch, reason, &mut progress.seen).await {
        Ok(result) => result,
        Err(problem) => {
            tracing::warn!(repo = %watch.name(), %problem, "the remote could not be asked what is new; it is asked again");
            watch.note_problem(problem);
            return TurnEnd::Unreachable;
        }
    };
    let schedules = read_schedules(watch, default, progress).await;
    let unfinished = "something new starts nothing yet; it is tried again";
    watch.note(WatchStatus {
        looked_at: Some(Timestamp::now()),
        problem: is_unfinished.then(|| unfinished.to_owned()),
    });
    if let Err(problem) = schedules {
        tracing::warn!(repo = %watch.name(), %problem, "the schedules of the default branch cannot be read; it is tried again");
        watch.note_problem(problem);
        return TurnEnd::Unfinished;
    }
    match is_unfinished {
        true => TurnEnd::Unfinished,
        false => TurnEnd::Done,
    }
}

async fn read_schedules(
    watch: &RepoWatch,
    default: Option<(BranchName, CommitId)>,
    progress: &mut WatchProgress,
) -> Result<(), Problem> {
    let known = progress.schedules.as_ref().map(|(of, _)| of);
    if known == default.as_ref() {
        return Ok(());
    }
    progress.schedules = None;
    let Some((branch, head)) = default else {
        return Ok(());
    };
    let repo = watch.repo()?;
    let at = find_commit(&repo, &branch, Some(&head)).await?;
    let workflows = workflows(&repo, &at).await?;
    let schedules: Vec<_> = workflows.iter().flat_map(Schedule::all_of).collect();
    if let Some(seen) = &mut progress.seen {
        seen.keep_schedules(|name| schedules.iter().any(|it| it.name() == name));
    }
    progress.schedules = Some(((branch, head), schedules));
    Ok(())
}

fn pause_after(failures: u32) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << (failures - 1).min(16));
    doubled.min(LONGEST_PAUSE)
}
