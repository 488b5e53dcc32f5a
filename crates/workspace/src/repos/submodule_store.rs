//! The store of a submodule: what its URL has, cloned once. There is nothing in it that is not there, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::RepoError;
use super::blocking::blocking;
use super::lfs::LfsRemote;
use super::named_urls::NamedUrls;
use branchyard_config::RepoUrl;
use branchyard_git::{self as git, Git, Store, object_id};
use branchyard_model::{CommitId, ErrorKind, Problem};

/// The objects of all submodules with one URL.
#[derive(Debug)]
pub struct SubmoduleStore {
    url: RepoUrl,
    git: Git,
    store: Store,
    lfs: Arc<LfsRemote>,
    staging: PathBuf,
    /// One process at a time fetches; who waits for it finds what it fetched.
    network: tokio::sync::Mutex<()>,
}

impl SubmoduleStore {
    /// Within the store of the repository it is, or is to be; in the other directory it is made.
    pub(super) fn new(
        url: &RepoUrl,
        urls: &Arc<NamedUrls>,
        (outer, staging): (&Path, PathBuf),
    ) -> Self {
        let path = git::submodule_store(outer, url.as_str());
        let git = urls.git_for(url);
        Self {
            url: url.clone(),
            lfs: LfsRemote::new(
                (url, git.clone()),
                (path.clone(), staging.clone()),
                urls.clone(),
            ),
            git,
            store: Store::at(path, url.as_str().to_owned()),
            staging,
            network: tokio::sync::Mutex::default(),
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn lfs(&self) -> &Arc<LfsRemote> {
        &self.lfs
    }

    pub(super) fn is_cloned(&self) -> bool {
        self.store.path().exists()
    }

    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Puts git's own files of it back as we wrote them. Blocks.
    pub fn guard(&self) -> Result<(), RepoError> {
        let restored = self.store.guard();
        let restored = restored.map_err(RepoError::io("check a submodule's store"))?;
        if !restored.is_empty() {
            tracing::warn!(url = %self.url, ?restored, "git's own files of a submodule had been changed");
        }
        Ok(())
    }

    /// Makes sure that the store has the commit of the submodule at `path`.
    pub(crate) async fn bring(
        self: &Arc<Self>,
        commit: &CommitId,
        path: &Path,
    ) -> Result<(), RepoError> {
        if self.is_cloned() && self.has(commit).await? {
            return Ok(());
        }
        let _network = self.network.lock().await;
        let brought = self.bring_alone(commit).await;
        let brought = brought.map_err(|error| RepoError::Submodule {
            path: path.to_owned(),
            error: Arc::new(error),
        })?;
        match brought {
            true => Ok(()),
            false => {
                let (path, url) = (path.display(), &self.url);
                let detail = format!(
                    "the submodule {path} is at the commit {commit}, which {url} does not have"
                );
                Err(
                    Problem::new(ErrorKind::Conflict, "submodule_commit_missing", detail)
                        .help("push that commit there, or record another one")
                        .into(),
                )
            }
        }
    }

    /// Whether the commit is there now.
    async fn bring_alone(self: &Arc<Self>, commit: &CommitId) -> Result<bool, RepoError> {
        if !self.is_cloned() {
            self.fetch_anew().await?;
        }
        let this = self.clone();
        blocking(move || this.guard()).await?;
        if self.has(commit).await? {
            return Ok(true);
        }
        if let Err(error) = git::fetch_all_heads(&self.git, &self.store).await {
            match self.clear_after(&error).await? {
                true => git::fetch_all_heads(&self.git, &self.store).await?,
                false => return Err(error.into()),
            }
        }
        if self.has(commit).await? {
            return Ok(true);
        }
        // Not every remote gives out what no branch leads to.
        if let Err(error) = git::fetch_commit(&self.git, &self.store, commit).await {
            tracing::debug!(url = %self.url, %commit, %error, "the commit of a submodule is not to be had");
        }
        self.has(commit).await
    }

    /// Clears what a failed fetch, or one that was killed before it, left behind. Returns whether it is worth trying again.
    async fn clear_after(&self, error: &git::Error) -> Result<bool, RepoError> {
        let (store, is_full) = (self.store.clone(), error.is_disk_full());
        blocking(move || {
            if is_full {
                git::clear_half_fetched(&store, store.path())?;
                return Ok(false);
            }
            let locks = git::all_locks(&store)?.into_iter();
            let locks: Vec<_> = locks.map(|lock| lock.path().to_owned()).collect();
            Ok(git::clear_stale_locks(&locks, &[store.path()])?)
        })
        .await
    }

    async fn fetch_anew(&self) -> Result<(), RepoError> {
        let name = self.store.path().file_name().unwrap_or_default();
        let staging = self
            .staging
            .join(format!("{}-{}", name.display(), uuid::Uuid::now_v7()));
        tracing::info!(url = %self.url, "cloning a submodule");
        let fetched = Store::fetch_anew(&self.git, self.url.as_str(), &staging, |_| {}).await;
        let (to, from) = (self.store.path().to_owned(), staging.clone());
        let placed = match fetched {
            Ok(_) => blocking(move || place(&from, &to)).await,
            Err(error) => Err(error.into()),
        };
        // What stays behind is cleared at the next start.
        if placed.is_err()
            && let Err(error) = fs::remove_dir_all(&staging)
        {
            tracing::warn!(path = %staging.display(), %error, "failed to clear a half-made clone");
        }
        placed
    }

    pub(super) async fn has(&self, commit: &CommitId) -> Result<bool, RepoError> {
        let (path, commit) = (self.store.path().to_owned(), object_id(commit)?);
        blocking(move || Ok(git::has_commit(&git::open_store(&path)?, commit))).await
    }
}

/// By rename, so that a store that is there is whole.
fn place(from: &Path, to: &Path) -> Result<(), RepoError> {
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(RepoError::io("make the directory of submodules"))?;
    fs::rename(from, to).map_err(RepoError::io("move the store of a submodule into place"))
}
