//! `[reaper]`: when idle workspaces go.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ByteSize;
use super::config_file::Fault;
use super::count::count;
use super::duration::positive;
use super::mark::Mark;

/// A share of the file system means no more than this, as low water and as high water.
const MOST_LOW: ByteSize = ByteSize::gib(50);
const MOST_HIGH: ByteSize = ByteSize::gib(100);

/// What is removed by itself, and when; never anything with work in it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [reaper]")]
pub struct ReaperConfig {
    /// Workspaces kept per repo, the least recently used going first. Busy and pinned ones and those with work in them are
    /// kept beyond that, and no request is refused for it.
    #[serde(deserialize_with = "count")]
    pub max_worktrees_per_repo: usize,
    /// How long a workspace without work in it may lie idle. Only time in which the daemon runs counts.
    #[serde(deserialize_with = "positive")]
    pub worktree_ttl: Duration,
    /// How long work that was saved before it was discarded is kept, counted while the daemon runs.
    #[serde(deserialize_with = "positive")]
    pub salvage_ttl: Duration,
    /// How often the reaper runs; a new workspace is counted at once.
    #[serde(deserialize_with = "positive")]
    pub interval: Duration,
    /// With less free space than this, room is made until there is as much as `high_water`: first build output that git
    /// ignores, then workspaces without work, then idle clones, the least recently used first. A share of the file system
    /// means 50GiB of low and 100GiB of high water at most.
    pub low_water: Mark,
    /// How much free space is made.
    pub high_water: Mark,
    /// What clones and workspaces may take together.
    #[schemars(extend("example" = "200GiB"))]
    pub max_size: Option<ByteSize>,
    /// What becomes of an agent's branch (agent-…) once the default branch has its commits, or all that they changed, and
    /// nothing else is in its workspace: "keep" it, delete it here ("local"), or here and on the remote ("remote").
    pub merged_agent_branches: MergedAgentBranches,
}

/// What becomes of an agent's branch whose commits the default branch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MergedAgentBranches {
    Keep,
    /// It goes here, and stays on the remote.
    Local,
    /// It goes here and on the remote.
    Remote,
}

impl ReaperConfig {
    /// What no single key can get wrong.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let (low, high) = (self.low_water, self.high_water);
        if low.is_above(high) {
            return Err(Fault::new(
                &["reaper", "low_water"],
                format!(
                    "reaper.low_water ({low}) is above reaper.high_water ({high}); expected at most high_water"
                ),
            )
            .or_at(&["reaper", "high_water"]));
        }
        Ok(())
    }

    /// Low and high water of a file system of `total` bytes.
    pub fn marks(&self, total: u64) -> (u64, u64) {
        let low = self.low_water.bytes(total, MOST_LOW);
        (low, self.high_water.bytes(total, MOST_HIGH).max(low))
    }
}

impl Default for ReaperConfig {
    fn default() -> Self {
        Self {
            max_worktrees_per_repo: 10,
            worktree_ttl: Duration::from_secs(7 * 24 * 60 * 60),
            salvage_ttl: Duration::from_secs(30 * 24 * 60 * 60),
            interval: Duration::from_secs(5 * 60),
            low_water: Mark::Share(5),
            high_water: Mark::Share(10),
            max_size: None,
            merged_agent_branches: MergedAgentBranches::Keep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_water_is_never_below_low_water() {
        let of = |low, high| ReaperConfig {
            low_water: low,
            high_water: high,
            ..ReaperConfig::default()
        };
        assert!(of(Mark::Share(6), Mark::Share(5)).check().is_err());
        assert!(of(Mark::Share(5), Mark::Share(5)).check().is_ok());
        // Which of these is more depends on the disk.
        let mixed = of(Mark::Size(ByteSize::gib(10)), Mark::Share(5));
        assert!(mixed.check().is_ok());
        assert_eq!(mixed.marks(1 << 30), (10 << 30, 10 << 30));
        assert_eq!(ReaperConfig::default().marks(1000), (50, 100));
    }
}
