//! How much of artifacts is kept.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

const DAY: u64 = 24 * 60 * 60;

/// How much is kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactLimits {
    /// Of all artifacts of a job.
    pub max_size: u64,
    /// Of one artifact.
    pub max_files: usize,
    pub keep: Duration,
    /// Of all together.
    pub max_bytes: u64,
}

impl Default for ArtifactLimits {
    fn default() -> Self {
        Self {
            max_size: 2 << 30,
            max_files: 10_000,
            keep: Duration::from_secs(30 * DAY),
            max_bytes: 50 << 30,
        }
    }
}

impl ArtifactLimits {
    /// When something that is made now expires; `keep` may shorten that.
    pub(crate) fn expiry(&self, now: Timestamp, keep: Option<Duration>) -> Option<Timestamp> {
        let keep = keep.map_or(self.keep, |keep| keep.min(self.keep));
        now.checked_add(SignedDuration::try_from(keep).ok()?).ok()
    }
}
