//! `[reaper]`: when idle workspaces go.

use std::time::Duration;

use serde::Deserialize;

use super::ByteSize;
use super::count::count;
use super::duration::positive;
use super::fault::Fault;
use super::mark::Mark;
use super::value::{TextValue, text_value};

/// A share of the file system means no more than this, as low water and as high water.
const MOST_LOW: ByteSize = ByteSize::gib(50);
const MOST_HIGH: ByteSize = ByteSize::gib(100);

/// When a workspace that holds nobody's work is removed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section [reaper]")]
pub struct ReaperConfig {
    /// Workspaces kept per repo, the least recently used going first. Busy ones and those with
    /// work may exceed it, and no request is refused for it. Default 10.
    #[serde(deserialize_with = "count")]
    pub max_worktrees_per_repo: usize,
    /// How long a workspace may lie idle. Default `7d`.
    #[serde(deserialize_with = "positive")]
    pub worktree_ttl: Duration,
    /// How long work that was saved is kept, counted while the daemon runs. Default `30d`.
    #[serde(deserialize_with = "positive")]
    pub salvage_ttl: Duration,
    /// How often is looked. Default `5m`.
    #[serde(deserialize_with = "positive")]
    pub interval: Duration,
    /// With less free space than this, room is made until there is as much as `high_water`. Default `5%`.
    pub low_water: Mark,
    /// Default `10%`.
    pub high_water: Mark,
    /// What stores and workspaces may take together. Default none.
    pub max_size: Option<ByteSize>,
    /// What becomes of agents' branches that were merged. Default `keep`.
    pub merged_agent_branches: MergedAgentBranches,
}

/// What becomes of an agent's branch whose commits the default branch has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MergedAgentBranches {
    #[default]
    Keep,
    /// It goes here, and stays on the remote.
    Local,
    /// It goes here and on the remote.
    Remote,
}

impl TextValue for MergedAgentBranches {
    const EXPECTED: &'static str = r#""keep", "local" or "remote""#;

    fn from_text(text: &str) -> Result<Self, String> {
        match text {
            "keep" => Ok(Self::Keep),
            "local" => Ok(Self::Local),
            "remote" => Ok(Self::Remote),
            _ => Err("it is none of what can become of a branch".to_owned()),
        }
    }
}
text_value!(MergedAgentBranches);

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
