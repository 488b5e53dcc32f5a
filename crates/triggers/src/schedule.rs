//! Schedules of workflow files: when the next slot is due, by whatever the machine's clock says.

use cronexpr::{Crontab, FallbackTimezoneOption, MakeTimestamp, ParseOptions, parse_crontab_with};
use jiff::{SignedDuration, Timestamp};

use branchyard_workflow::Workflow;

/// The latest slot that has passed is looked for this far back from now, in the nearest window first: after a long time
/// without a daemon only that slot is started.
const LOOK_BACK: [SignedDuration; 4] = [
    SignedDuration::from_hours(1),
    SignedDuration::from_hours(24),
    SignedDuration::from_hours(32 * 24),
    SignedDuration::from_hours(366 * 24),
];

/// A schedule of a workflow file on the default branch.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    file: String,
    cron: String,
    name: String,
    crontab: Crontab,
}

impl Schedule {
    /// All of a file. A time zone that this machine does not know is told and left out.
    pub(crate) fn all_of(workflow: &Workflow) -> Vec<Self> {
        let file = workflow.path();
        let schedules = workflow.schedules().filter_map(|(cron, zone)| {
            let made = Self::parse(file, cron, zone);
            made.inspect_err(|error| {
                tracing::warn!(file, cron, zone, error, "a schedule is left out");
            })
            .ok()
        });
        schedules.collect()
    }

    fn parse(file: &str, cron: &str, zone: Option<&str>) -> Result<Self, String> {
        let mut options = ParseOptions::default();
        options.fallback_timezone_option = FallbackTimezoneOption::UTC;
        let zone = zone.unwrap_or_default();
        let text = format!("{cron} {zone}");
        let crontab = parse_crontab_with(text.trim_end(), options);
        Ok(Self {
            file: file.to_owned(),
            cron: cron.to_owned(),
            name: format!("{file}|{cron}|{zone}"),
            crontab: crontab.map_err(|error| error.to_string())?,
        })
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn cron(&self) -> &str {
        &self.cron
    }

    /// What it is called where slots are kept.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The slot that is due, of a schedule that is done with all until `done`: the latest, where several have passed.
    pub(crate) fn due(&self, done: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let first = self.next(done).filter(|slot| *slot <= now)?;
        let windows = LOOK_BACK.map(|back| now.saturating_sub(back).unwrap_or(done).max(done));
        let latest = windows.into_iter().find_map(|from| self.latest(from, now));
        Some(latest.unwrap_or(first))
    }

    /// The next slot after `done`.
    pub(crate) fn next(&self, done: Timestamp) -> Option<Timestamp> {
        let next = self.crontab.find_next(MakeTimestamp(done)).ok()?;
        Some(next.timestamp())
    }

    fn latest(&self, from: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let slots = std::iter::successors(self.next(from), |slot| self.next(*slot));
        slots.take_while(|slot| *slot <= now).last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(cron: &str) -> Schedule {
        Schedule::parse("ci.yml", cron, None).unwrap()
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn of_many_slots_that_passed_the_latest_is_due() {
        let nightly = schedule("0 3 * * *");
        let now = time("2026-11-19T12:00:00Z");
        assert_eq!(
            nightly.due(time("2026-11-01T00:00:00Z"), now),
            Some(time("2026-11-19T03:00:00Z"))
        );
        assert_eq!(nightly.due(time("2026-11-19T03:00:00Z"), now), None);
        assert_eq!(
            nightly.next(time("2026-11-19T03:00:00Z")),
            Some(time("2026-11-20T03:00:00Z"))
        );
        let yearly = schedule("0 0 29 2 *");
        assert_eq!(
            yearly.due(time("2020-03-01T00:00:00Z"), now),
            Some(time("2024-02-29T00:00:00Z"))
        );
    }

    #[test]
    fn days_of_month_and_of_week_together_mean_either() {
        let either = schedule("0 0 13 * 5");
        let mut slot = time("2026-11-01T00:00:00Z");
        let mut days = Vec::new();
        for _ in 0..5 {
            slot = either.next(slot).unwrap();
            days.push(slot.to_string()[8..10].parse::<u8>().unwrap());
        }
        assert_eq!(days, [6, 13, 20, 27, 4]);
    }

    proptest! {
        /// A clock that goes on, stands still and is moved by up to a day in either direction.
        #[test]
        fn each_slot_starts_once_however_the_clock_is_moved(
            moves in proptest::collection::vec(-86_400i64..86_400, 1..60),
            cron in prop::sample::select(vec!["0 3 * * *", "*/15 * * * *", "30 6 * * 1-5"]),
        ) {
            let schedule = schedule(cron);
            let mut now = time("2026-03-01T12:00:00Z");
            let (mut done, mut started) = (now, Vec::new());
            for by in moves {
                now += SignedDuration::from_secs(by);
                if let Some(slot) = schedule.due(done, now) {
                    prop_assert!(slot <= now);
                    started.push(slot);
                    done = slot;
                }
            }
            prop_assert!(started.windows(2).all(|pair| pair[0] < pair[1]), "{started:?}");
        }
    }
}
