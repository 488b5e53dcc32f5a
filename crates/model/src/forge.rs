//! The kinds of forges that the daemon can talk with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which API a forge has. Forgejo began as a copy of Gitea, and its API still is the same where this project uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    GitHub,
    GitLab,
    Gitea,
    Forgejo,
}

impl ForgeKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
            Self::Gitea => "gitea",
            Self::Forgejo => "forgejo",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_spelt_alike_in_json_and_in_text() {
        for kind in [
            ForgeKind::GitHub,
            ForgeKind::GitLab,
            ForgeKind::Gitea,
            ForgeKind::Forgejo,
        ] {
            let json = serde_json::to_value(kind).unwrap();
            assert_eq!(json, kind.as_str());
            assert_eq!(serde_json::from_value::<ForgeKind>(json).unwrap(), kind);
        }
    }
}
