//! How remotes are reached, complete: credentials found, paths absolute, files there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::credential::{Credential, Scheme, Token};
use super::place::Place;
use super::secret_file;
use super::web_host::CredentialHost;
use super::{ConfigError, GitConfig, HttpConfig, RepoConfig, RepoUrl, SshConfig, WebHost};
use branchyard_model::RepoName;

/// What the daemon's git needs to get at remotes.
#[derive(Debug, Clone, Default)]
pub struct Access {
    hosts: Vec<(CredentialHost, Arc<Credential>)>,
    repos: BTreeMap<RepoName, Arc<Credential>>,
    /// With their files found.
    ssh: SshConfig,
    http: HttpConfig,
}

impl Access {
    /// What the file says, with everything found that it names.
    pub(super) fn find(
        place: &Place<'_>,
        git: &GitConfig,
        repos: &BTreeMap<RepoName, RepoConfig>,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            hosts: of_hosts(place, git)?,
            repos: of_repos(place, repos)?,
            ssh: ssh(place, &git.ssh)?,
            http: http(place, git.http.clone())?,
        })
    }

    pub fn ssh(&self) -> &SshConfig {
        &self.ssh
    }

    pub fn http(&self) -> &HttpConfig {
        &self.http
    }

    /// The credential for a repo, its own before its host's, and the place that it is for.
    pub fn credential(&self, repo: &RepoName, url: &RepoUrl) -> Option<(WebHost, Arc<Credential>)> {
        let web = WebHost::of_url(url.as_str())?;
        let own = self.repos.get(repo);
        let credential = own.or_else(|| self.of_host(&web))?.clone();
        Some((web, credential))
    }

    /// The credential for a submodule of a repo: that of the repo is for its own place alone.
    pub fn submodule_credential(
        &self,
        (repo, of): (&RepoName, &RepoUrl),
        url: &RepoUrl,
    ) -> Option<(WebHost, Arc<Credential>)> {
        let web = WebHost::of_url(url.as_str())?;
        if WebHost::of_url(of.as_str()).as_ref() == Some(&web) {
            return self.credential(repo, url);
        }
        let credential = self.of_host(&web)?.clone();
        Some((web, credential))
    }

    fn of_host(&self, web: &WebHost) -> Option<&Arc<Credential>> {
        let mut hosts = self.hosts.iter();
        hosts.find_map(|(host, credential)| host.covers(web).then_some(credential))
    }

    /// The tokens that stand in the daemon's environment, where a build can look without a sandbox.
    pub fn tokens_in_environment(&self) -> Vec<Token> {
        self.all()
            .filter_map(|c| c.token_in_environment())
            .collect()
    }

    /// The files that hold what opens remotes.
    pub(super) fn secret_files(&self) -> impl Iterator<Item = PathBuf> {
        let tokens = self.all().filter_map(|credential| credential.file());
        tokens
            .chain(self.ssh.key_file.as_deref())
            .map(Path::to_owned)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Credential>> {
        let hosts = self.hosts.iter().map(|(_, credential)| credential);
        hosts.chain(self.repos.values())
    }

    /// A setting that asks for `Authorization: Bearer`, which not every git can send.
    pub fn bearer(&self) -> Option<&str> {
        let bearer = self
            .all()
            .find(|credential| credential.scheme() == Scheme::Bearer)?;
        Some(bearer.setting())
    }
}

fn of_hosts(
    place: &Place<'_>,
    git: &GitConfig,
) -> Result<Vec<(CredentialHost, Arc<Credential>)>, ConfigError> {
    let mut hosts: Vec<(CredentialHost, Arc<Credential>)> = Vec::new();
    for (name, settings) in &git.credentials {
        let section = ["git", "credentials", name];
        let host = CredentialHost::parse(name).map_err(|rule| place.error(&section, rule))?;
        if hosts.iter().any(|(other, _)| *other == host) {
            return Err(place.error(&section, "this host is named twice"));
        }
        let setting = format!("[git.credentials.{name:?}]");
        hosts.push((host, settings.find(&setting, place, &section)?));
    }
    Ok(hosts)
}

fn of_repos(
    place: &Place<'_>,
    repos: &BTreeMap<RepoName, RepoConfig>,
) -> Result<BTreeMap<RepoName, Arc<Credential>>, ConfigError> {
    let mut found = BTreeMap::new();
    for (name, repo) in repos {
        let Some(settings) = &repo.credential else {
            continue;
        };
        let section = ["repos", name.as_str(), "credential"];
        if WebHost::of_url(repo.url.as_str()).is_none() {
            let rule =
                "a credential is for remotes over https and http, and this repo's is another";
            return Err(place.error(&section, rule));
        }
        let setting = format!("[repos.{name}.credential]");
        found.insert(name.clone(), settings.find(&setting, place, &section)?);
    }
    Ok(found)
}

fn ssh(place: &Place<'_>, ssh: &SshConfig) -> Result<SshConfig, ConfigError> {
    let key = |key| ["git", "ssh", key];
    Ok(SshConfig {
        key_file: file(place, &key("key_file"), ssh.key_file.as_deref(), |path| {
            secret_file::check_own(path, "a key")
        })?,
        known_hosts: file(
            place,
            &key("known_hosts"),
            ssh.known_hosts.as_deref(),
            is_file,
        )?,
        agent: ssh.agent,
    })
}

fn http(place: &Place<'_>, http: HttpConfig) -> Result<HttpConfig, ConfigError> {
    let ca_file = file(
        place,
        &["git", "http", "ca_file"],
        http.ca_file.as_deref(),
        is_file,
    )?;
    Ok(HttpConfig { ca_file, ..http })
}

/// A file that has to be there, in a form that every program on the way takes for one path.
fn file(
    place: &Place<'_>,
    key: &[&str],
    path: Option<&Path>,
    check: impl Fn(&Path) -> Result<(), String>,
) -> Result<Option<PathBuf>, ConfigError> {
    let Some(path) = path else {
        return Ok(None);
    };
    let checked = place.resolve(path).and_then(|path| {
        let text = path.to_str().ok_or("the path is not UTF-8")?;
        if text.chars().any(|c| c.is_control() || "\"\\$".contains(c)) {
            return Err("the path holds a quote, '\\', '$' or a control character".to_owned());
        }
        check(&path)?;
        Ok(path)
    });
    checked.map(Some).map_err(|rule| place.error(key, rule))
}

fn is_file(path: &Path) -> Result<(), String> {
    let failed = |error| format!("failed to read {}: {error}", path.display());
    match std::fs::metadata(path).map_err(failed)?.is_dir() {
        true => Err(format!("{} is a directory", path.display())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
