//! Time as the yard believes it, by which it is decided what is old enough to be let go of. The machine's clock alone is
//! not asked: one that is set far ahead, by mistake or for want of a battery, would make everything old at once.
//!
//! A clock that is ahead of where it should be by more than a day is believed only once the daemon has run by it for a
//! day; until then, time goes on from where it was. After a long downtime things are kept a day longer, no more.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::disk::{read_json, write_json};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct SteadyClock(Arc<ClockShared>);

#[derive(Debug)]
struct ClockShared {
    file: PathBuf,
    state: Mutex<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    kept: ClockFile,
    /// When `kept` was last brought up to date.
    at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ClockFile {
    believed: Timestamp,
    /// For how many seconds of the daemon's time the machine's clock has been doubted.
    doubted: u64,
}

impl SteadyClock {
    /// Goes on from what `file` says. Where there is none yet, the file `written` by an earlier version of the daemon says
    /// when that was last at work.
    pub fn open(file: PathBuf, written: &Path) -> Self {
        let kept = read_json(&file).ok().flatten();
        let kept = kept.unwrap_or_else(|| ClockFile {
            believed: last_change(written).unwrap_or_else(|_| Timestamp::now()),
            doubted: 0,
        });
        let at = Instant::now();
        let state = Mutex::new(ClockState { kept, at });
        Self(Arc::new(ClockShared { file, state }))
    }

    pub fn now(&self) -> Timestamp {
        let mut state = self.0.state.lock();
        let ran = state.at.elapsed();
        let was_doubted = state.kept.doubted > 0;
        state.kept = state.kept.after(ran, Timestamp::now());
        // What is less than a second is counted with the next.
        state.at += Duration::from_secs(ran.as_secs());
        let kept = state.kept;
        if kept.doubted > 0 && !was_doubted {
            tracing::warn!(
                believed = %kept.believed,
                "the machine's clock is more than a day ahead of when this daemon was last at work; if it still is after a day, it is believed, and what is too old by it goes"
            );
        }
        // With the state still locked: two who write at once would be in each other's way, and an older time could come last.
        if let Err(error) = write_json(&self.0.file, &kept) {
            tracing::warn!(%error, "the time is not written down");
        }
        kept.believed
    }
}

impl ClockFile {
    /// What is believed after the daemon `ran` for so long, when the machine's clock says `wall`.
    fn after(self, ran: Duration, wall: Timestamp) -> Self {
        let expected = later(self.believed, Duration::from_secs(ran.as_secs()));
        let doubted = self.doubted + ran.as_secs().max(1);
        let is_believed = wall <= later(expected, DAY) || doubted > DAY.as_secs();
        let (believed, doubted) = match is_believed {
            true => (wall, 0),
            false => (expected, doubted),
        };
        Self { believed, doubted }
    }
}

fn later(time: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

fn last_change(file: &Path) -> io::Result<Timestamp> {
    let changed = fs::metadata(file)?.modified()?;
    Timestamp::try_from(changed).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_ahead_is_believed_after_a_day_and_no_other_change_is_doubted() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let kept = ClockFile {
            believed: start,
            doubted: 0,
        };
        let hour = Duration::from_secs(3600);
        for by in [hour, DAY] {
            let wall = later(start, by);
            assert_eq!(kept.after(Duration::ZERO, wall).believed, wall);
        }
        let back = start - SignedDuration::from_hours(1000);
        assert_eq!(
            kept.after(hour, back).believed,
            back,
            "nothing gets old by it"
        );

        let ahead = |by: Duration| later(later(start, 40 * DAY), by);
        let mut doubting = kept;
        for hours in 1..=24_u32 {
            doubting = doubting.after(hour, ahead(hour * hours));
            assert_eq!(doubting.believed, later(start, hour * hours), "{hours}");
        }
        let last = ahead(hour * 25);
        assert_eq!(doubting.after(hour, last).believed, last);
        // Set right again, it is believed at once.
        let right = later(start, hour * 24);
        assert_eq!(doubting.after(Duration::ZERO, right).doubted, 0);
    }

    #[test]
    fn those_who_ask_at_once_leave_a_whole_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("clock.json");
        let clock = SteadyClock::open(file.clone(), &dir.path().join("ticks.json"));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        clock.now();
                        let kept = read_json::<ClockFile>(&file);
                        assert!(kept.unwrap().is_some(), "it is there, and whole");
                    }
                });
            }
        });
    }

    #[test]
    fn what_was_believed_outlives_the_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let (file, ticks) = (dir.path().join("clock.json"), dir.path().join("ticks.json"));
        let now = SteadyClock::open(file.clone(), &ticks).now();
        assert!(now <= Timestamp::now());
        let long_ago = now - SignedDuration::from_hours(24 * 400);
        let kept = ClockFile {
            believed: long_ago,
            doubted: 0,
        };
        fs::write(&file, serde_json::to_vec(&kept).unwrap()).unwrap();
        for _ in 0..3 {
            let believed = SteadyClock::open(file.clone(), &ticks).now();
            assert!(believed < later(long_ago, DAY), "{believed}");
        }
    }
}
