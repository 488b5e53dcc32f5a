//! `[reaper]`: when idle workspaces go.

use std::time::Duration;

use serde::Deserialize;

use super::count::count;
use super::duration::positive;

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
}

impl Default for ReaperConfig {
    fn default() -> Self {
        Self {
            max_worktrees_per_repo: 10,
            worktree_ttl: Duration::from_secs(7 * 24 * 60 * 60),
        }
    }
}
