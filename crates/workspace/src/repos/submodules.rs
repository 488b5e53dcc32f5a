//! The submodules of a repository. Each has a store of its own within that of the repository, which is cloned once and shared by
//! all worktrees. Where one is cloned from, a branch says: so it is held against rules first.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::RepoError;
use super::named_urls::NamedUrls;
use super::submodule_store::SubmoduleStore;
use branchyard_config::{Filling, RepoUrl};
use branchyard_git::{self as git, RemoteFailure, Store};
use branchyard_model::{CommitId, ErrorKind, Problem};

/// How deep submodules may be in each other, and how many there may be in all.
const MAX_DEPTH: usize = 8;
const MAX_SUBMODULES: usize = 300;
/// The submodules of so many commits are remembered.
const MAX_KNOWN: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// What is known of the submodules of a repository.
#[derive(Debug)]
pub struct SubmoduleStores {
    urls: Arc<NamedUrls>,
    rule: Filling,
    staging: PathBuf,
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
    /// Of the repository whose store is `outer`; in `staging` theirs are made.
    pub(super) fn new(
        urls: Arc<NamedUrls>,
        rule: Filling,
        (outer, staging): (PathBuf, PathBuf),
    ) -> Self {
        Self {
            urls,
            rule,
            staging,
            outer,
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
        if self.rule == Filling::Off {
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
        let outermost = (store.path().to_owned(), self.urls.own().clone());
        let mut outer = vec![(PathBuf::new(), outermost, commit.clone())];
        for depth in 0.. {
            let mut inner = Vec::new();
            for (prefix, (dir, base), commit) in outer {
                let (git, base) = (self.urls.git(), base.as_str());
                let declared = git::declared_submodules(git, &dir, &commit, base).await?;
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
                    let url = submodule.url.and_then(|url| self.urls.allowed(&url));
                    let url = match url {
                        Ok(url) => url,
                        Err(why) if self.rule == Filling::Auto => {
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
                        && self.rule == Filling::Auto
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

    pub fn rule(&self) -> Filling {
        self.rule
    }

    /// All settings that say which submodules are filled.
    pub fn decided_by(&self) -> String {
        format!("{:?} {}", self.rule, self.urls.decided_by())
    }

    /// That of a submodule which is cloned from there, where that may be.
    pub fn store_of(&self, url: &str) -> Option<Arc<SubmoduleStore>> {
        self.urls.allowed(url).ok().map(|url| self.store(&url))
    }

    fn store(&self, url: &RepoUrl) -> Arc<SubmoduleStore> {
        let mut by_url = self.by_url.lock();
        let known = by_url.entry(url.as_str().to_owned());
        let new = || {
            let dirs = (&*self.outer, self.staging.clone());
            Arc::new(SubmoduleStore::new(url, &self.urls, dirs))
        };
        known.or_insert_with(new).clone()
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
