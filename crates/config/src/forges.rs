//! `[forges."HOST"]`: what is known of the forges that remotes are on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::kept::{Kept, Keys};
use super::place::Place;
use super::{ConfigError, HostName, RepoUrl, SecureUrl, Token};
use branchyard_model::ForgeKind;

/// What is known of a forge, by the host in the URLs of its repos.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a section [forges.\"HOST\"]"
)]
pub struct ForgeConfig {
    /// What it is: needed for commit statuses.
    #[schemars(extend("example" = "github", "x-default" = "none"))]
    pub kind: Option<ForgeKind>,
    /// Where its API is.
    #[schemars(with = "Option<String>", extend("example" = "https://git.example.org/api/v1", "x-default" = "where a forge of its kind has it, below the host"))]
    pub api: Option<SecureUrl>,
    /// The variable in the daemon's environment that holds a token which may set commit statuses. Either this or
    /// `token_file`; without one no statuses are set.
    #[schemars(extend("example" = "FORGE_TOKEN", "x-default" = "none"))]
    pub token_env: Option<String>,
    /// The file that holds it, mode 600. It is read again for each status.
    #[schemars(extend("example" = "~/.config/branchyard/forge-token", "x-default" = "none"))]
    pub token_file: Option<PathBuf>,
    /// The variable in the daemon's environment that holds the secret of webhooks of all repos there. Either this or
    /// `webhook_secret_file`, or neither.
    #[schemars(extend("example" = "FORGE_WEBHOOK_SECRET", "x-default" = "none"))]
    pub webhook_secret_env: Option<String>,
    /// The file that holds it, mode 600. It is read again for each webhook.
    #[schemars(extend("example" = "~/.config/branchyard/webhook-secret", "x-default" = "none"))]
    pub webhook_secret_file: Option<PathBuf>,
}

/// A forge that is told of commits.
#[derive(Debug, Clone)]
pub struct Forge {
    kind: ForgeKind,
    api: Option<SecureUrl>,
    token: Kept<Token>,
}

/// Those that are told of commits, by their hosts.
#[derive(Debug, Clone, Default)]
pub struct Forges(Vec<(HostName, Arc<Forge>)>);

impl ForgeConfig {
    fn find(&self, place: &Place<'_>, section: &[&str]) -> Result<Option<Forge>, ConfigError> {
        if self.token_env.is_none() && self.token_file.is_none() {
            return Ok(None);
        }
        let Some(kind) = self.kind else {
            let rule = "a forge with a token needs `kind`: github, gitlab, gitea or forgejo";
            return Err(place.error(section, rule));
        };
        let keys = Keys {
            variable: ("token_env", self.token_env.as_deref()),
            file: ("token_file", self.token_file.as_deref()),
        };
        Ok(Some(Forge {
            kind,
            api: self.api.clone(),
            token: Kept::find(&keys, place, section)?,
        }))
    }
}

impl Forge {
    pub fn kind(&self) -> ForgeKind {
        self.kind
    }

    pub fn api(&self) -> Option<&str> {
        self.api.as_ref().map(SecureUrl::as_str)
    }

    /// The token as it is now, or why it cannot be had.
    pub fn token(&self) -> Result<Token, String> {
        self.token.read()
    }
}

impl Forges {
    pub(super) fn find(
        place: &Place<'_>,
        settings: &BTreeMap<String, ForgeConfig>,
    ) -> Result<Self, ConfigError> {
        let mut found = Vec::new();
        for (name, forge) in settings {
            let section = ["forges", name];
            let host = HostName::parse(name).map_err(|rule| place.error(&section, rule))?;
            if let Some(forge) = forge.find(place, &section)? {
                found.push((host, Arc::new(forge)));
            }
        }
        Ok(Self(found))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The forge that a remote is on, if it is told of commits.
    pub fn of_url(&self, url: &RepoUrl) -> Option<&Forge> {
        let on = url.host()?.to_string();
        let mut forges = self.0.iter();
        forges.find_map(|(host, forge)| (host.to_string() == on).then_some(&**forge))
    }

    /// The tokens that stand in the daemon's environment, where a build can look without a sandbox.
    pub fn in_environment(&self) -> impl Iterator<Item = &Token> {
        self.0
            .iter()
            .filter_map(|(_, forge)| forge.token.in_environment())
    }

    /// The files that tokens are kept in, which no build is to see.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|(_, forge)| forge.token.file())
    }
}
