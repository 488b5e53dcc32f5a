//! Secrets by which webhooks are told from forgeries: of a repo, or of the forge that its remote is on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::kept::{Kept, Keys};
use super::place::Place;
use super::{ConfigError, ForgeConfig, HostName, RepoConfig, SecretValue};
use branchyard_model::RepoName;

/// The secrets of webhooks by repo, found.
#[derive(Debug, Clone, Default)]
pub struct HookSecrets(BTreeMap<RepoName, Arc<Kept<SecretValue>>>);

impl HookSecrets {
    pub(super) fn find(
        place: &Place<'_>,
        forges: &BTreeMap<String, ForgeConfig>,
        repos: &BTreeMap<RepoName, RepoConfig>,
    ) -> Result<Self, ConfigError> {
        let mut of_hosts = BTreeMap::new();
        for (name, forge) in forges {
            let section = ["forges", name];
            let host = HostName::parse(name).map_err(|rule| place.error(&section, rule))?;
            let (env, file) = (&forge.webhook_secret_env, &forge.webhook_secret_file);
            of_hosts.insert(host.to_string(), secret(place, &section, env, file)?);
        }
        let mut found = BTreeMap::new();
        for (name, repo) in repos {
            let section = ["repos", name.as_str()];
            let (env, file) = (&repo.webhook_secret_env, &repo.webhook_secret_file);
            let own = secret(place, &section, env, file)?;
            let of_forge = || of_hosts.get(&repo.url.host()?.to_string())?.clone();
            if let Some(secret) = own.or_else(of_forge) {
                found.insert(name.clone(), secret);
            }
        }
        Ok(Self(found))
    }

    /// The secret of a repo's webhooks as it is now; none if it takes none, or why it cannot be had.
    pub fn of(&self, repo: &RepoName) -> Result<Option<SecretValue>, String> {
        self.0.get(repo).map(|kept| kept.read()).transpose()
    }

    /// The files that secrets are kept in, which no build is to see.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.values().filter_map(|kept| kept.file())
    }

    /// The values that stand in the daemon's environment, where a build can look without a sandbox.
    pub fn in_environment(&self) -> impl Iterator<Item = &SecretValue> {
        self.0.values().filter_map(|kept| kept.in_environment())
    }
}

fn secret(
    place: &Place<'_>,
    section: &[&str],
    env: &Option<String>,
    file: &Option<PathBuf>,
) -> Result<Option<Arc<Kept<SecretValue>>>, ConfigError> {
    if env.is_none() && file.is_none() {
        return Ok(None);
    }
    let keys = Keys {
        variable: ("webhook_secret_env", env.as_deref()),
        file: ("webhook_secret_file", file.as_deref()),
    };
    Ok(Some(Arc::new(Kept::find(&keys, place, section)?)))
}
