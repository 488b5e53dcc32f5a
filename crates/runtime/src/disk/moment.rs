//! The time by which files are stamped, to tell what was written since.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A moment, by the clock that the kernel stamps files with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i128);

const IN_A_SECOND: i128 = 1_000_000_000;

impl Moment {
    /// Before anything was written.
    pub const EPOCH: Self = Self(0);

    pub fn now() -> Self {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        stamp(now.tv_sec, now.tv_nsec)
    }

    /// When a file was written.
    pub fn of_write(meta: &Metadata) -> Self {
        stamp(meta.mtime(), meta.mtime_nsec())
    }

    /// For the times of a file.
    pub fn timespec(self) -> Timespec {
        // Neither fails for a time that a file can have.
        Timespec {
            tv_sec: i64::try_from(self.0.div_euclid(IN_A_SECOND)).unwrap_or_default(),
            tv_nsec: i64::try_from(self.0.rem_euclid(IN_A_SECOND)).unwrap_or_default(),
        }
    }

    pub(super) fn from_nanos(nanos: i128) -> Self {
        Self(nanos)
    }

    pub(super) fn nanos(self) -> i128 {
        self.0
    }

    /// Whether what a file is, holds or is called was changed since. In the same tick of the clock counts as since.
    pub fn is_before_change(self, meta: &Metadata) -> bool {
        stamp(meta.ctime(), meta.ctime_nsec()) >= self
    }

    /// The same of what it holds alone: to be moved changes a file as well.
    pub fn is_before_write(self, meta: &Metadata) -> bool {
        Self::of_write(meta) >= self
    }
}

fn stamp(seconds: i64, nanos: i64) -> Moment {
    Moment(i128::from(seconds) * IN_A_SECOND + i128::from(nanos))
}
