//! `[mcp]`: which tools agents may be given.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What agents may have at most of the tools at /mcp. Each client chooses of that by header or by
/// `branchyard mcp --toolsets`, and gets yard and build if it says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [mcp]")]
pub struct McpConfig {
    /// The sets of tools that may be had.
    pub toolsets: Vec<Toolset>,
    /// Whether only tools that change nothing may be had.
    pub read_only: bool,
    /// A text that takes the place of what the prompt `wrap_up` says; {repo}, {branch} and {commit} in it stand for those.
    #[schemars(extend("example" = "/etc/branchyard/wrap-up.md"))]
    pub wrap_up_file: Option<PathBuf>,
}

/// Tools that belong together.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Toolset {
    Yard,
    Build,
    GitRead,
    GitWrite,
    Code,
    Pipelines,
    Ops,
    Admin,
}

impl Toolset {
    pub const ALL: [Self; 8] = [
        Self::Yard,
        Self::Build,
        Self::GitRead,
        Self::GitWrite,
        Self::Code,
        Self::Pipelines,
        Self::Ops,
        Self::Admin,
    ];
    /// What a client gets that asks for nothing else.
    pub const DEFAULT: [Self; 2] = [Self::Yard, Self::Build];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yard => "yard",
            Self::Build => "build",
            Self::GitRead => "git_read",
            Self::GitWrite => "git_write",
            Self::Code => "code",
            Self::Pipelines => "pipelines",
            Self::Ops => "ops",
            Self::Admin => "admin",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.as_str() == name)
    }
}

impl Default for McpConfig {
    fn default() -> Self {
        Self {
            toolsets: Toolset::ALL.to_vec(),
            read_only: false,
            wrap_up_file: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_found_by_its_name_and_named_in_a_refusal() {
        for set in Toolset::ALL {
            assert_eq!(Toolset::parse(set.as_str()), Some(set));
            let refusal = toml::from_str::<McpConfig>("toolsets = [\"x\"]").unwrap_err();
            assert!(refusal.message().contains(set.as_str()), "{refusal}");
        }
        assert_eq!(Toolset::parse("Yard"), None);
    }
}
