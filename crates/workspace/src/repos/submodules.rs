//! The submodules of a repository. Each has a store of its own within that of the repository, which is cloned once and shared by
//! all worktrees. Where one is cloned from, a branch says: so it is held against rules first.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::RepoError;
use super::source::Source;
use super::submodule_store::SubmoduleStore;
use branchyard_config::{Config, RepoUrl, Submodules, UrlPolicy, WebHost};
use branchyard_git::{self as git, Git, PublicHost, RemoteFailure, Store};
use branchyard_model::{CommitId, ErrorKind, Problem, RepoName};

/// How deep submodules may be in each other, and how many there may be in all.
const MAX_DEPTH: usize = 8;
const MAX_SUBMODULES: usize = 300;
/// The submodules of so many commits are remembered.
const MAX_KNOWN: NonZeroUsize = NonZeroUsize::new(256).unwrap();

const HTTPS: u16 = 443;

/// What is known of the submodules of a repository.
#[derive(Debug)]
pub struct SubmoduleStores {
    config: Arc<Config>,
    repo: RepoName,
    url: RepoUrl,
    /// Its URL is a caller's, so that none of its submodules is trusted more.
    is_callers: bool,
    rule: Submodules,
    /// Without a credential.
    git: Git,
    /// The store of the repository.
    outer: PathBuf,
    by_url: Mutex<HashMap<String, Arc<SubmoduleStore>>>,
    /// By the commit of the repository, where all of them were there.
    known: Mutex<LruCache<CommitId, Arc<FoundSubmodules>>>,
}

/// A submodule that is to be filled, and whose commit is in its store.
#[derive(Debug, Clone)]
pub struct FoundSubmodule {
    /// From the root of the outermost worktree.
    pub path: PathBuf,
    pub commit: CommitId,
    pub store: Arc<SubmoduleStore>,
}

/// The submodules of a commit, and those in them.
#[derive(Debug, Default)]
pub struct FoundSubmodules {
    /// Each after the one that it is in.
    pub filled: Vec<FoundSubmodule>,
    /// Those that are left empty, and why.
    pub left_empty: Vec<(PathBuf, String)>,
    /// A remote refused to be cloned from, and may think better of it.
    pub is_refused: bool,
}

impl SubmoduleStores {
    /// Of a repository that was declared there, and whose `git` has no credential yet.
    pub(super) fn new(
        config: Arc<Config>,
        (repo, url, rule): (&RepoName, &RepoUrl, Submodules),
        source: Source,
        git: Git,
    ) -> Self {
        let home = config.workspaces.join(repo.dir().as_str());
        Self {
            outer: home.join(".git"),
            config,
            repo: repo.clone(),
            url: url.clone(),
            is_callers: source == Source::Registered,
            rule,
            git,
            by_url: Mutex::default(),
            known: Mutex::new(LruCache::new(MAX_KNOWN)),
        }
    }

    /// Finds the submodules of a commit in the repository's own `store`, and fetches what is missing of them.
    pub async fn bring(
        &self,
        store: &Store,
        commit: &CommitId,
    ) -> Result<Arc<FoundSubmodules>, RepoError> {
        if self.rule == Submodules::Off {
            return Ok(Arc::default());
        }
        if let Some(found) = self.known(commit)
            && !found.is_refused
            && are_there(&found).await?
        {
            return Ok(found);
        }
        let found = Arc::new(self.find(store, commit).await?);
        self.known.lock().put(commit.clone(), found.clone());
        Ok(found)
    }

    /// Those of a commit that was asked for lately.
    pub fn known(&self, commit: &CommitId) -> Option<Arc<FoundSubmodules>> {
        self.known.lock().get(commit).cloned()
    }

    async fn find(&self, store: &Store, commit: &CommitId) -> Result<FoundSubmodules, RepoError> {
        let mut found = FoundSubmodules::default();
        let outermost = (store.path().to_owned(), self.url.clone());
        let mut outer = vec![(PathBuf::new(), outermost, commit.clone())];
        for depth in 0.. {
            let mut inner = Vec::new();
            for (prefix, (dir, base), commit) in outer {
                let declared =
                    git::declared_submodules(&self.git, &dir, &commit, base.as_str()).await?;
                for submodule in declared {
                    let path = prefix.join(&submodule.path);
                    if depth >= MAX_DEPTH || found.filled.len() >= MAX_SUBMODULES {
                        let detail = format!(
                            "at {} there are too many submodules, or they are too deep in each other",
                            path.display()
                        );
                        return Err(refused(detail)
                            .help(
                                "`submodules = \"off\"` of the repository leaves all of them empty",
                            )
                            .into());
                    }
                    let url = submodule.url.and_then(|url| self.allowed(&url));
                    let url = match url {
                        Ok(url) => url,
                        Err(why) if self.rule == Submodules::Auto => {
                            found.left_empty.push((path, why));
                            continue;
                        }
                        Err(why) => {
                            return Err(refused(format!(
                                "the submodule {} cannot be filled: {why}",
                                path.display()
                            ))
                            .into());
                        }
                    };
                    let store = self.store(&url);
                    let brought = store.bring(&submodule.commit, &path).await;
                    if let Err(RepoError::Submodule { error, .. }) = &brought
                        && self.rule == Submodules::Auto
                        && !store.is_cloned()
                        && error.failure().is_some_and(RemoteFailure::is_refusal)
                    {
                        found.left_empty.push((path, error.problem().detail));
                        found.is_refused = true;
                        continue;
                    }
                    brought?;
                    let place = (store.store().path().to_owned(), url);
                    inner.push((path.clone(), place, submodule.commit.clone()));
                    found.filled.push(FoundSubmodule {
                        path,
                        commit: submodule.commit,
                        store,
                    });
                }
            }
            if inner.is_empty() {
                break;
            }
            outer = inner;
        }
        Ok(found)
    }

    /// Whether one that is left empty is an error.
    pub fn are_required(&self) -> bool {
        self.rule == Submodules::Require
    }

    /// Whether it is told that one is left empty.
    pub fn are_wanted(&self) -> bool {
        self.rule != Submodules::Off
    }

    /// All settings that say which submodules are filled.
    pub fn decided_by(&self) -> String {
        let git = &self.config.git;
        let hosts = (&git.allow_hosts, &git.allow_protocols, git.allow_local);
        format!("{:?} {hosts:?}", self.rule)
    }

    /// The URL, if a submodule of this repository may be cloned from there.
    fn allowed(&self, url: &str) -> Result<RepoUrl, String> {
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
            web.as_ref().is_none_or(is_usual) || web == WebHost::of_url(self.url.as_str());
        !self.is_callers && is_port_trusted && host == Some(self.url.host())
    }

    /// Of two repositories on this machine: whether one is in the directory of the other, and no deeper.
    fn is_beside(&self, url: &RepoUrl) -> bool {
        let parent = |url: &str| {
            let path = url.strip_prefix("file://").unwrap_or(url);
            Path::new(path).parent().map(Path::to_owned)
        };
        self.url.is_local() && parent(url.as_str()) == parent(self.url.as_str())
    }

    fn store(&self, url: &RepoUrl) -> Arc<SubmoduleStore> {
        let mut by_url = self.by_url.lock();
        let known = by_url.entry(url.as_str().to_owned());
        let new = || {
            let staging = self.config.workspaces.join(".branchyard/staging");
            let store = SubmoduleStore::new(url, self.git_for(url), (&self.outer, staging));
            Arc::new(store)
        };
        known.or_insert_with(new).clone()
    }

    fn git_for(&self, url: &RepoUrl) -> Git {
        let access = &self.config.access;
        let git = match access.submodule_credential((&self.repo, &self.url), url) {
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

/// Whether the commits are still in their stores, which may have been lost.
async fn are_there(found: &FoundSubmodules) -> Result<bool, RepoError> {
    for found in &found.filled {
        if !found.store.is_cloned() || !found.store.has(&found.commit).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn refused(detail: String) -> Problem {
    Problem::new(ErrorKind::Conflict, "submodule_refused", detail)
}
