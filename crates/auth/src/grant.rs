//! What a credential is good for.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Area;
use branchyard_config::{Role, Toolset};
use branchyard_model::{Author, BranchName, RepoName, Scopes};

/// Scopes, and where and until when they hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub rights: Scopes,
    /// The sets of MCP tools that its holder may be offered.
    pub toolsets: Vec<Toolset>,
    /// All of them have to have a place for it to be within. One that is made from another adds its own to
    /// those of the other, so it can never reach further.
    pub areas: Vec<Area>,
    pub expires: Option<Timestamp>,
    /// Who the commits of its holder are by; the daemon itself, where that is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
}

impl Grant {
    pub fn everything() -> Self {
        Self {
            rights: Scopes::all(),
            toolsets: Toolset::ALL.to_vec(),
            areas: Vec::new(),
            expires: None,
            author: None,
        }
    }

    /// What a role allows, everywhere and for ever.
    pub fn of_role(role: &Role) -> Self {
        Self {
            rights: role.scopes,
            toolsets: role.toolsets.clone(),
            ..Self::everything()
        }
    }

    #[must_use]
    pub fn within(mut self, area: Area) -> Self {
        self.areas.push(area);
        self
    }

    #[must_use]
    pub fn until(mut self, expires: Option<Timestamp>) -> Self {
        self.expires = expires;
        self
    }

    pub fn has_repo(&self, repo: &RepoName) -> bool {
        self.areas.iter().all(|area| area.has_repo(repo))
    }

    pub fn has(&self, repo: &RepoName, branch: &BranchName) -> bool {
        self.areas.iter().all(|area| area.has(repo, branch))
    }

    pub fn has_all_branches(&self) -> bool {
        self.areas.iter().all(Area::has_all_branches)
    }

    pub fn is_everywhere(&self) -> bool {
        self.areas.iter().all(Area::is_everywhere)
    }

    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}
