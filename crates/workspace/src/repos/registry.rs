//! All repos by name. They come from the configuration, from `POST /api/repos` (one small file each,
//! kept across restarts) and from stores found on disk; the configuration wins over the rest.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::task::TaskTracker;

use super::named_urls::NamedUrls;
use super::protection::Protection;
use super::{Repo, RepoError, Source};
use branchyard_config::{
    BuildOutput, Config, EnvName, EnvValue, RepoConfig, RepoUrl, Task, TaskName, UrlPolicy, WebHost,
};
use branchyard_git::{Git, PublicHost, RemoteFailure, Store};
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, SandboxProfile};
use branchyard_runtime::disk::{Trash, if_there};
use branchyard_runtime::yard_events::{EventBus, RepoChange};

#[derive(Debug)]
pub struct Repos {
    by_name: DashMap<RepoName, Arc<Repo>>,
    config: Arc<Config>,
    git: Git,
    tasks: TaskTracker,
    news: EventBus,
    registered: PathBuf,
}

/// What `POST /api/repos` takes, and what is kept of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// The name in URLs and on disk.
    pub name: RepoName,
    /// Where it is cloned from.
    pub url: String,
    /// Shown in listings; else the remote's HEAD decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<BranchName>,
    /// Commands that may be started by name: a program and its arguments each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<TaskName, Task>,
    /// What every run of it has in its environment. It is no place for secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<EnvName, EnvValue>,
    /// What its builds make, as globs; what is usual if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_output: Option<BuildOutput>,
}

impl Registration {
    pub fn new(name: RepoName, url: String) -> Self {
        Self {
            name,
            url,
            default_branch: None,
            tasks: BTreeMap::new(),
            env: BTreeMap::new(),
            build_output: None,
        }
    }

    /// The same as a section of the configuration has it.
    fn config(&self, url: RepoUrl) -> RepoConfig {
        RepoConfig {
            default_branch: self.default_branch.clone(),
            tasks: self.tasks.clone(),
            env: self.env.clone(),
            build_output: self.build_output.clone().unwrap_or_default(),
            ..RepoConfig::new(url)
        }
    }
}

impl Repos {
    /// Finds every repo that is known at start. Half-made clones of an earlier life are removed.
    pub fn load(
        config: Arc<Config>,
        git: Git,
        tasks: TaskTracker,
        trash: &Trash,
        news: EventBus,
    ) -> Result<Self, RepoError> {
        let state = config.workspaces.join(".branchyard");
        let staging = state.join("staging");
        let registered = state.join("repos");
        if staging.exists() {
            // Moved first: git may still be at work there for a daemon that was killed.
            trash
                .take(&staging, &"staging")
                .map_err(RepoError::io("clear the staging directory"))?;
        }
        for dir in [&staging, &registered] {
            fs::create_dir_all(dir).map_err(RepoError::io("make the state directory"))?;
        }
        let repos = Self {
            by_name: DashMap::new(),
            config,
            git,
            tasks,
            news,
            registered,
        };
        for (name, repo) in &repos.config.repos {
            repos.insert(name.clone(), repo.clone(), Source::Config);
        }
        repos.load_registered()?;
        repos.find_stores()?;
        Ok(repos)
    }

    pub fn get(&self, name: &RepoName) -> Result<Arc<Repo>, Problem> {
        self.by_name.get(name).map(|repo| repo.clone()).ok_or_else(|| {
            Problem::new(ErrorKind::NotFound, "repo_not_found", format!("there is no repository named {name}"))
                .field("repo")
                .help("GET /api/repos or `branchyard repos` lists them; POST /api/repos or `branchyard repos add` adds one")
        })
    }

    /// All repos, sorted by name.
    pub fn list(&self) -> Vec<Arc<Repo>> {
        let mut all: Vec<_> = self
            .by_name
            .iter()
            .map(|entry| entry.value().clone())
            .collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }

    /// Refuses what could not be registered, without doing it.
    pub(super) fn check(&self, registration: &Registration) -> Result<RepoUrl, RepoError> {
        let url = RepoUrl::parse(&registration.url, &UrlPolicy::caller(&self.config.git))?;
        match self.by_name.contains_key(&registration.name) {
            true => Err(exists(&registration.name).into()),
            false => Ok(url),
        }
    }

    pub async fn register(&self, registration: &Registration) -> Result<Arc<Repo>, RepoError> {
        let url = self.check(registration)?;
        if let Err(error) = self.public(&self.git, &url).check_host("register").await
            // A name that leads nowhere today may lead somewhere when it is used; it is looked up then, too.
            && error.failure() == Some(RemoteFailure::InnerAddress)
        {
            let detail = format!("this repository URL cannot be used: {error}");
            let help = "the operator allows such hosts by git.allow_hosts";
            return Err(Problem::bad("url", detail).help(help).into());
        }
        let name = &registration.name;
        let config = registration.config(url);
        let repo = self.repo(name, config, Source::Registered);
        match self.by_name.entry(name.clone()) {
            Entry::Occupied(_) => Err(exists(name).into()),
            Entry::Vacant(entry) => {
                write_whole(&self.registration_file(name), registration)?;
                entry.insert(repo.clone());
                repo.tell(RepoChange::Added);
                Ok(repo)
            }
        }
    }

    /// Takes a repo out of the registry. The caller has made sure that nothing of it is left on disk.
    pub fn unregister(&self, name: &RepoName) -> Result<(), RepoError> {
        if *self.get(name)?.source() == Source::Config {
            return Err(Problem::new(
                ErrorKind::Conflict,
                "repo_configured",
                format!("{name} is declared in the daemon's configuration"),
            )
            .help("remove it there and restart the daemon")
            .into());
        }
        if_there(fs::remove_file(self.registration_file(name)))
            .map_err(RepoError::io("forget the registration"))?;
        if let Some((_, repo)) = self.by_name.remove(name) {
            repo.tell(RepoChange::Removed);
        }
        Ok(())
    }

    /// Where it is told what changes in the yard.
    pub fn news(&self) -> &EventBus {
        &self.news
    }

    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Where repositories are made that have no other home.
    pub(super) fn origins(&self) -> PathBuf {
        self.config.workspaces.join(".branchyard/origins")
    }

    /// Where what is not whole yet is made.
    pub(super) fn staging(&self) -> PathBuf {
        self.config.workspaces.join(".branchyard/staging")
    }

    fn registration_file(&self, name: &RepoName) -> PathBuf {
        self.registered.join(format!("{}.json", name.dir()))
    }

    fn repo(&self, name: &RepoName, config: RepoConfig, source: Source) -> Arc<Repo> {
        let mut git = self.git.clone();
        if self.config.named_profile(Some(&config)) == Some(SandboxProfile::None) {
            git = git.unconfined();
        }
        let of = (name, &config.url);
        let urls = NamedUrls::new(self.config.clone(), of, source, git.clone());
        if let Some((place, credential)) = self.config.access.credential(name, &config.url) {
            git = git.with_credential(place, credential);
        }
        if source == Source::Registered {
            git = self.public(&git, &config.url);
        }
        let workspaces = &self.config.workspaces;
        Arc::new(Repo::new(
            name.clone(),
            config,
            (source, Protection::of(&self.config, name)),
            (git, Arc::new(urls)),
            (workspaces, self.staging()),
            &self.tasks,
            self.news.clone(),
        ))
    }

    /// For the URL of a caller, whose host must not be an inner one.
    fn public(&self, git: &Git, url: &RepoUrl) -> Git {
        match url.named_host(&self.config.git) {
            Some(host) => {
                git.with_public_host(PublicHost::new(host, WebHost::of_url(url.as_str())))
            }
            None => git.clone(),
        }
    }

    fn insert(&self, name: RepoName, config: RepoConfig, source: Source) {
        let repo = self.repo(&name, config, source);
        self.by_name.entry(name).or_insert(repo);
    }

    fn load_registered(&self) -> Result<(), RepoError> {
        for path in entries(&self.registered)? {
            let parsed = fs::read(&path)
                .map_err(|error| error.to_string())
                .and_then(|json| serde_json::from_slice(&json).map_err(|error| error.to_string()))
                .and_then(|registration: Registration| {
                    // What was allowed once is judged by today's rules.
                    let url =
                        RepoUrl::parse(&registration.url, &UrlPolicy::caller(&self.config.git))
                            .map_err(|problem| problem.detail)?;
                    let config = registration.config(url);
                    Ok((registration.name, config))
                });
            match parsed {
                Ok((name, config)) => self.insert(name, config, Source::Registered),
                Err(error) => {
                    tracing::warn!(file = %path.display(), error, "a registered repository is left out");
                }
            }
        }
        Ok(())
    }

    fn find_stores(&self) -> Result<(), RepoError> {
        for home in entries(&self.config.workspaces)? {
            let Some(info) = Store::info(&home.join(".git")) else {
                continue;
            };
            if self.by_name.contains_key(&info.repo) {
                continue;
            }
            match RepoUrl::parse(&info.url, &UrlPolicy::operator(&self.config.git)) {
                Ok(url) => self.insert(info.repo, RepoConfig::new(url), Source::Found),
                Err(problem) => {
                    tracing::warn!(repo = %info.repo, error = %problem.detail, "a store on disk is left out");
                }
            }
        }
        Ok(())
    }
}

fn exists(name: &RepoName) -> Problem {
    Problem::new(
        ErrorKind::Conflict,
        "repo_exists",
        format!("there is a repository named {name} already"),
    )
    .field("name")
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, RepoError> {
    let entries = fs::read_dir(dir).map_err(RepoError::io("read the state directory"))?;
    Ok(entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect())
}

/// Writes by rename, so that a reader sees all of it or nothing.
fn write_whole(path: &Path, value: &impl Serialize) -> Result<(), RepoError> {
    let fresh = path.with_extension("new");
    serde_json::to_vec_pretty(value)
        .map_err(std::io::Error::other)
        .and_then(|json| fs::write(&fresh, json))
        .and_then(|()| fs::rename(&fresh, path))
        .map_err(RepoError::io("keep the registration"))
}
