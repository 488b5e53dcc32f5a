//! URLs that a branch of a repository names: those of its submodules, and of a server for LFS files. Each is held against rules
//! before it is used.

use std::path::Path;
use std::sync::Arc;

use super::source::Source;
use branchyard_config::{Config, RepoUrl, UrlPolicy, WebHost};
use branchyard_git::{Git, PublicHost};
use branchyard_model::RepoName;

const HTTPS: u16 = 443;

/// The rules, which go by where the repository itself is.
#[derive(Debug)]
pub(super) struct NamedUrls {
    config: Arc<Config>,
    repo: RepoName,
    own: RepoUrl,
    /// Its URL is a caller's, so that nothing which it names is trusted more.
    is_callers: bool,
    /// Without a credential.
    git: Git,
}

impl NamedUrls {
    /// Of a repository that was declared there, and whose `git` has no credential yet.
    pub(super) fn new(
        config: Arc<Config>,
        (repo, own): (&RepoName, &RepoUrl),
        source: Source,
        git: Git,
    ) -> Self {
        Self {
            config,
            repo: repo.clone(),
            own: own.clone(),
            is_callers: source == Source::Registered,
            git,
        }
    }

    /// That of the repository itself.
    pub(super) fn own(&self) -> &RepoUrl {
        &self.own
    }

    /// For what asks nobody.
    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// All settings that say which of them may be used.
    pub(super) fn decided_by(&self) -> String {
        let git = &self.config.git;
        let hosts = (&git.allow_hosts, &git.allow_protocols, git.allow_local);
        format!("{hosts:?}")
    }

    /// The URL, if what a branch names may be fetched from there.
    pub(super) fn allowed(&self, url: &str) -> Result<RepoUrl, String> {
        let policy = match self.is_trusted(url) {
            true => UrlPolicy::operator(&self.config.git),
            false => UrlPolicy::caller(&self.config.git),
        };
        let url = RepoUrl::parse(url, &policy).map_err(|problem| problem.detail)?;
        if url.is_local() && !self.is_beside(&url) {
            return Err(
                "it is on this machine, and not beside the repository that has it".to_owned(),
            );
        }
        Ok(url)
    }

    /// Whether it is where the repository itself is: at another port of that host something else may listen.
    fn is_trusted(&self, url: &str) -> bool {
        let anywhere = UrlPolicy::operator(&self.config.git);
        let host = RepoUrl::parse(url, &anywhere).ok().map(|url| url.host());
        let web = WebHost::of_url(url);
        let is_usual = |web: &WebHost| web.protocol() == "https" && web.port() == HTTPS;
        let is_port_trusted =
            web.as_ref().is_none_or(is_usual) || web == WebHost::of_url(self.own.as_str());
        !self.is_callers && is_port_trusted && host == Some(self.own.host())
    }

    /// Of two repositories on this machine: whether one is in the directory of the other, and no deeper.
    fn is_beside(&self, url: &RepoUrl) -> bool {
        let parent = |url: &str| {
            let path = url.strip_prefix("file://").unwrap_or(url);
            Path::new(path).parent().map(Path::to_owned)
        };
        self.own.is_local() && parent(url.as_str()) == parent(self.own.as_str())
    }

    /// What asks there.
    pub(super) fn git_for(&self, url: &RepoUrl) -> Git {
        let access = &self.config.access;
        let git = match access.submodule_credential((&self.repo, &self.own), url) {
            Some((place, credential)) => self.git.with_credential(place, credential),
            None => self.git.clone(),
        };
        match url.named_host(&self.config.git) {
            Some(host) if !self.is_trusted(url.as_str()) => {
                git.with_public_host(PublicHost::new(host, WebHost::of_url(url.as_str())))
            }
            _ => git,
        }
    }
}
