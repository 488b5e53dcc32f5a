//! How remotes are reached, complete: credentials found, paths absolute, files there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::credential::{Credential, Scheme, Token};
use super::document::Document;
use super::environment::Environment;
use super::fault::Fault;
use super::path::resolve;
use super::secret_file;
use super::web_host::CredentialHost;
use super::{ConfigError, RepoConfig, RepoUrl, WebHost};
use branchyard_model::RepoName;

/// What the daemon's git needs to get at remotes.
#[derive(Debug, Clone, Default)]
pub struct Access {
    hosts: Vec<(CredentialHost, Arc<Credential>)>,
    repos: BTreeMap<RepoName, Arc<Credential>>,
    ssh: SshAccess,
    http: HttpAccess,
}

/// `[git.ssh]` with its files found.
#[derive(Debug, Clone)]
pub struct SshAccess {
    pub key_file: Option<PathBuf>,
    pub known_hosts: Option<PathBuf>,
    pub agent: bool,
}

/// `[git.http]` with its file found.
#[derive(Debug, Clone, Default)]
pub struct HttpAccess {
    pub proxy: Option<String>,
    /// Hosts that are reached without the proxy, separated by commas.
    pub no_proxy: Option<String>,
    pub ca_file: Option<PathBuf>,
}

impl Default for SshAccess {
    fn default() -> Self {
        Self {
            key_file: None,
            known_hosts: None,
            agent: true,
        }
    }
}

impl Access {
    /// What the file says, with everything found that it names.
    pub(super) fn find(
        document: &Document,
        repos: &BTreeMap<RepoName, RepoConfig>,
        env: &Environment,
        home: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let finder = Finder {
            document,
            env,
            home,
        };
        Ok(Self {
            hosts: finder.hosts()?,
            repos: finder.repos(repos)?,
            ssh: finder.ssh()?,
            http: finder.http()?,
        })
    }

    pub fn ssh(&self) -> &SshAccess {
        &self.ssh
    }

    pub fn http(&self) -> &HttpAccess {
        &self.http
    }

    /// The credential for a repo, its own before its host's, and the place that it is for.
    pub fn credential(&self, repo: &RepoName, url: &RepoUrl) -> Option<(WebHost, Arc<Credential>)> {
        let web = WebHost::of_url(url.as_str())?;
        let of_host = || {
            let mut hosts = self.hosts.iter();
            hosts.find_map(|(host, credential)| host.covers(&web).then_some(credential))
        };
        let credential = self.repos.get(repo).or_else(of_host)?.clone();
        Some((web, credential))
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

struct Finder<'a> {
    document: &'a Document,
    env: &'a Environment,
    home: Option<&'a Path>,
}

impl Finder<'_> {
    fn hosts(&self) -> Result<Vec<(CredentialHost, Arc<Credential>)>, ConfigError> {
        let mut hosts: Vec<(CredentialHost, Arc<Credential>)> = Vec::new();
        for (name, settings) in &self.document.values().git.credentials {
            let section = ["git", "credentials", name];
            let refuse = |rule: String| self.document.error(&Fault::new(&section, rule));
            let host = CredentialHost::parse(name).map_err(|rule| refuse(rule.to_owned()))?;
            if hosts.iter().any(|(other, _)| *other == host) {
                return Err(refuse("this host is named twice".to_owned()));
            }
            let setting = format!("[git.credentials.{name:?}]");
            let found = settings.find(&setting, self.env, self.document.dir(), self.home);
            let credential = found.map_err(|fault| self.misses(&section, fault))?;
            hosts.push((host, Arc::new(credential)));
        }
        Ok(hosts)
    }

    fn repos(
        &self,
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
                return Err(self.document.error(&Fault::new(&section, rule)));
            }
            let setting = format!("[repos.{name}.credential]");
            let credential = settings
                .find(&setting, self.env, self.document.dir(), self.home)
                .map_err(|fault| self.misses(&section, fault))?;
            found.insert(name.clone(), Arc::new(credential));
        }
        Ok(found)
    }

    fn ssh(&self) -> Result<SshAccess, ConfigError> {
        let ssh = &self.document.values().git.ssh;
        let key = |key| ["git", "ssh", key];
        Ok(SshAccess {
            key_file: self.file(&key("key_file"), ssh.key_file.as_deref(), |path| {
                secret_file::check_own(path, "a key")
            })?,
            known_hosts: self.file(&key("known_hosts"), ssh.known_hosts.as_deref(), is_file)?,
            agent: ssh.agent,
        })
    }

    fn http(&self) -> Result<HttpAccess, ConfigError> {
        let http = &self.document.values().git.http;
        let ca_file = ["git", "http", "ca_file"];
        let no_proxy: Vec<_> = http.no_proxy.iter().map(|host| host.as_str()).collect();
        Ok(HttpAccess {
            proxy: http.proxy.as_ref().map(|proxy| proxy.as_str().to_owned()),
            no_proxy: (!no_proxy.is_empty()).then(|| no_proxy.join(",")),
            ca_file: self.file(&ca_file, http.ca_file.as_deref(), is_file)?,
        })
    }

    /// A file that has to be there, in a form that every program on the way takes for one path.
    fn file(
        &self,
        key: &[&str],
        path: Option<&Path>,
        check: impl Fn(&Path) -> Result<(), String>,
    ) -> Result<Option<PathBuf>, ConfigError> {
        let Some(path) = path else {
            return Ok(None);
        };
        let checked = resolve(path, self.document.dir(), self.home).and_then(|path| {
            let text = path.to_str().ok_or("the path is not UTF-8")?;
            if text.chars().any(|c| c.is_control() || "\"\\$".contains(c)) {
                return Err("the path holds a quote, '\\', '$' or a control character".to_owned());
            }
            check(&path)?;
            Ok(path)
        });
        let refused = |rule| self.document.error(&Fault::new(key, rule));
        checked.map(Some).map_err(refused)
    }

    fn misses(&self, section: &[&str], (key, rule): (&str, String)) -> ConfigError {
        let mut at = section.to_vec();
        at.extend((!key.is_empty()).then_some(key));
        self.document.error(&Fault::new(&at, rule))
    }
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
