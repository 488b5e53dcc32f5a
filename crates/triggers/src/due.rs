//! Slots of schedules that are due.

use std::time::Duration;

use jiff::Timestamp;

use crate::event;
use crate::reason::Reason;
use crate::repo_watch::RepoWatch;
use crate::schedule::Schedule;
use crate::seen::SeenRefs;
use branchyard_model::{BranchName, CommitId, Problem};
use branchyard_pipelines::{Trigger, find_commit, start_for};

/// After this is tried again what could not be started.
const TRY_AGAIN: Duration = Duration::from_secs(10);
/// The machine's clock may be moved while a slot is waited for.
const LOOK_AT_CLOCK: Duration = Duration::from_secs(20);

/// Whether any slot is due.
pub(crate) fn any_due(schedules: &[Schedule], seen: &mut SeenRefs) -> bool {
    let now = Timestamp::now();
    let mut schedules = schedules.iter();
    schedules.any(|schedule| {
        let done = seen.slot(schedule.name(), now);
        schedule.due(done, now).is_some()
    })
}

/// Starts what is due of the schedules at the head of the default branch.
pub(crate) async fn start_due(
    watch: &RepoWatch,
    head: &(BranchName, CommitId),
    schedules: &[Schedule],
    seen: &mut SeenRefs,
) {
    let before = seen.clone();
    for schedule in schedules {
        let now = Timestamp::now();
        let done = seen.slot(schedule.name(), now);
        let Some(slot) = schedule.due(done, now) else {
            continue;
        };
        match start_slot(watch, head, schedule, slot).await {
            Ok(()) => seen.settle_slot(schedule.name(), slot),
            Err(problem) if !problem.may_pass() => {
                tracing::warn!(repo = %watch.name(), schedule = schedule.name(), %problem, "a schedule starts nothing");
                seen.settle_slot(schedule.name(), slot);
            }
            Err(problem) => {
                tracing::warn!(repo = %watch.name(), schedule = schedule.name(), %problem, "a schedule starts nothing yet; it is tried again");
            }
        }
    }
    if *seen != before
        && let Err(problem) = watch.save(seen)
    {
        // Another daemon would find the same pipelines.
        tracing::warn!(repo = %watch.name(), %problem, "which slots were started is not written down");
    }
}

async fn start_slot(
    watch: &RepoWatch,
    (branch, head): &(BranchName, CommitId),
    schedule: &Schedule,
    slot: Timestamp,
) -> Result<(), Problem> {
    let repo = watch.repo()?;
    let at = find_commit(&repo, branch, Some(head)).await?;
    let trigger = Trigger {
        event: event::of_schedule(&repo, &at, schedule.cron()),
        at,
        key: format!("{}\0{slot}", schedule.name()),
        file: Some(schedule.file().to_owned()),
    };
    let principal = Reason::Schedule.principal(repo.name());
    let started = start_for(watch.pipelines(), &repo, &trigger, &principal);
    for pipeline in started.await? {
        tracing::info!(repo = %watch.name(), %pipeline, %slot, "a schedule started a pipeline");
    }
    Ok(())
}

/// How long until the next slot, and no longer than the clock may be left alone.
pub(crate) fn until_due(schedules: &[Schedule], seen: &mut SeenRefs) -> Duration {
    let now = Timestamp::now();
    let next = schedules.iter().filter_map(|schedule| {
        let next = schedule.next(seen.slot(schedule.name(), now))?;
        // One that could not be started is not tried all the time.
        let left = Duration::try_from(now.until(next).ok()?);
        Some(
            left.ok()
                .filter(|left| !left.is_zero())
                .unwrap_or(TRY_AGAIN),
        )
    });
    next.min().unwrap_or(LOOK_AT_CLOCK).min(LOOK_AT_CLOCK)
}
