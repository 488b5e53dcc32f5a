//! `[webhooks.NAME]`: who is told of pipelines.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::kept::{Kept, Keys};
use super::place::Place;
use super::{ConfigError, RepoGlobs, SecretValue, SecureUrl, TaskName};
use branchyard_model::RepoName;

/// Who is told whenever a pipeline is in another state, by POST, as Standard Webhooks has it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a section [webhooks.NAME] with url")]
pub struct WebhookConfig {
    /// Where it is sent: https, or http to this machine.
    #[schemars(with = "String", extend("example" = "https://chat.example.org/hooks/builds"))]
    pub url: SecureUrl,
    /// The repos that it is told of, as globs.
    #[schemars(extend("example" = ["app-*"], "x-default" = "all"))]
    pub repos: Option<RepoGlobs>,
    /// The variable in the daemon's environment that holds the secret that messages are signed with: `whsec_` and 24 to 64
    /// bytes in base64. Either this or `secret_file`; without one they are not signed.
    #[schemars(extend("example" = "BUILDS_SECRET", "x-default" = "none"))]
    pub secret_env: Option<String>,
    /// The file that holds it, mode 600. It is read again for each message.
    #[schemars(extend("example" = "~/.config/branchyard/builds-secret", "x-default" = "none"))]
    pub secret_file: Option<PathBuf>,
}

/// A webhook whose secret was found where the file said, at least at the start.
#[derive(Debug, Clone)]
pub struct Webhook {
    url: SecureUrl,
    repos: Option<RepoGlobs>,
    secret: Option<Kept<SecretValue>>,
}

impl WebhookConfig {
    pub(super) fn find(&self, name: &TaskName, place: &Place<'_>) -> Result<Webhook, ConfigError> {
        let keys = Keys {
            variable: ("secret_env", self.secret_env.as_deref()),
            file: ("secret_file", self.secret_file.as_deref()),
        };
        let has_secret = self.secret_env.is_some() || self.secret_file.is_some();
        let section = ["webhooks", name.as_str()];
        let secret = has_secret.then(|| Kept::find(&keys, place, &section));
        Ok(Webhook {
            url: self.url.clone(),
            repos: self.repos.clone(),
            secret: secret.transpose()?,
        })
    }
}

impl Webhook {
    pub fn url(&self) -> &SecureUrl {
        &self.url
    }

    pub fn is_for(&self, repo: &RepoName) -> bool {
        self.repos.as_ref().is_none_or(|repos| repos.matches(repo))
    }

    /// The secret as it is now; none if messages are not signed, or why it cannot be had.
    pub fn secret(&self) -> Result<Option<SecretValue>, String> {
        self.secret.as_ref().map(Kept::read).transpose()
    }

    /// The value, where it stands in the daemon's environment.
    pub fn in_environment(&self) -> Option<&SecretValue> {
        self.secret.as_ref()?.in_environment()
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.secret.as_ref()?.file()
    }
}
