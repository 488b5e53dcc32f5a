//! One repository.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use git2::Repository;
use jiff::Timestamp;
use lru::LruCache;
use tokio_util::task::TaskTracker;

use super::Error;
use super::batch::{Batches, Reporter};
use super::clone::Cloner;
use crate::config::RepoConfig;
use crate::disk::Quarantine;
use crate::git::{self, Git, Store};
use crate::model::{BranchName, CommitId, Phase, RepoName, Warning};
use crate::news::{News, RepoChange, RepoNews};

/// Answers of the remote that are kept to be reused; the oldest go first.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");

/// Where a repo was declared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The configuration file or the environment.
    Config,
    /// `POST /api/repos`.
    Registered,
    /// A store that was found on disk.
    Found,
}

/// What the remote said about one branch.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The branch's commit; `None` if the remote has no such branch.
    pub head: Option<CommitId>,
    pub at: Timestamp,
    began: Instant,
}

/// The answers to all who asked together.
type Answers = Arc<Vec<(BranchName, Asked)>>;

/// The branches of a fetch that could not be had, and why.
type Failures = Arc<Vec<(BranchName, Arc<git::Error>)>>;

/// How far work on the remote has come.
pub type Progress<'a> = &'a (dyn Fn(Phase, Option<u8>) + Send + Sync);

#[derive(Debug)]
pub struct Repo {
    pub name: RepoName,
    pub config: RepoConfig,
    pub source: Source,
    /// Where it is told what changes in it.
    pub news: News,
    pub(super) git: Git,
    home: PathBuf,
    pub(super) store: Store,
    cloner: Cloner,
    /// Covers worktree add and remove, branch create and delete.
    pub registry: tokio::sync::Mutex<()>,
    asks: Arc<Batches<Answers>>,
    fetches: Arc<Batches<Failures>>,
    /// One process at a time fetches into or pushes from the store: refs are locked one by one.
    pub network: tokio::sync::Mutex<()>,
    guarding: Mutex<()>,
    /// Where what is broken is kept.
    pub quarantine: Quarantine,
    remembered: Mutex<LruCache<BranchName, Asked>>,
    /// Something is known to be wrong with the store, which only the remote can help with.
    pub(super) suspect: AtomicBool,
    /// When all of the store was last looked through.
    pub(super) looked_at: Mutex<Option<Instant>>,
    /// The `packed-refs` that was last found to make sense.
    packed: Mutex<Option<(SystemTime, u64)>>,
    /// When somebody last asked for the repo.
    pub(super) used: Mutex<Instant>,
    /// Held while objects are repacked or exchanged.
    pub(super) upkeep: tokio::sync::Mutex<()>,
}

impl Repo {
    pub(super) fn new(
        name: RepoName,
        config: RepoConfig,
        source: Source,
        git: Git,
        workspaces: &Path,
        tasks: &TaskTracker,
        news: News,
    ) -> Self {
        let home = workspaces.join(name.dir().as_str());
        let path = home.join(".git");
        let url = config.url.as_str().to_owned();
        Self {
            store: Store::at(path.clone(), url.clone()),
            cloner: Cloner {
                git: git.clone(),
                name: name.clone(),
                url,
                store: path,
                staging: workspaces.join(".branchyard/staging"),
                tasks: tasks.clone(),
                flight: Mutex::new(None),
            },
            name,
            config,
            source,
            news,
            git,
            home,
            registry: tokio::sync::Mutex::new(()),
            asks: Batches::new(tasks.clone()),
            fetches: Batches::new(tasks.clone()),
            network: tokio::sync::Mutex::new(()),
            guarding: Mutex::new(()),
            quarantine: Quarantine::at(workspaces.join(".branchyard/quarantine")),
            remembered: Mutex::new(LruCache::new(REMEMBERED)),
            suspect: AtomicBool::new(false),
            looked_at: Mutex::new(None),
            packed: Mutex::new(None),
            used: Mutex::new(Instant::now()),
            upkeep: tokio::sync::Mutex::new(()),
        }
    }

    pub(super) fn tell(&self, change: RepoChange) {
        self.news.tell(RepoNews {
            repo: self.name.clone(),
            change,
        });
    }

    /// The directory that holds the store and all workspaces.
    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn git(&self) -> &Git {
        &self.git
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn is_cloned(&self) -> bool {
        self.cloner.is_cloned()
    }

    pub fn open_store(&self) -> Result<Repository, Error> {
        Ok(Repository::open_bare(self.store.path()).map_err(git::Error::from)?)
    }

    /// The default branch: as configured, else what the remote's HEAD named when it was last asked.
    pub fn default_branch(&self) -> Option<String> {
        match &self.config.default_branch {
            Some(branch) => Some(branch.to_string()),
            None => Store::info(self.store.path())?.default_branch,
        }
    }

    /// The default branch: as configured, else what the remote's HEAD names now.
    pub async fn ask_default_branch(&self) -> Result<Option<String>, Error> {
        let was_cloned = self.is_cloned();
        self.ensure_store(&|_, _| {}).await?;
        // A clone has just asked.
        if was_cloned && self.config.default_branch.is_none() {
            let _network = self.network.lock().await;
            self.guard_store()?;
            self.store
                .learn_default_branch(&self.git, &self.name)
                .await?;
        }
        Ok(self.default_branch())
    }

    /// Clones unless that was done before.
    pub async fn ensure_store(&self, progress: Progress<'_>) -> Result<(), Error> {
        if self.is_cloned() {
            return Ok(());
        }
        progress(Phase::Clone, Some(0));
        if self.store.path().exists() {
            // Part of a store: nobody knows what is missing.
            self.suspect();
        }
        self.cloner
            .ensure(|percent| progress(Phase::Clone, Some(percent)))
            .await?;
        self.tell(RepoChange::Cloned);
        Ok(())
    }

    /// Notes that objects of the store are gone: the next request has it looked at.
    pub fn suspect(&self) {
        self.suspect.store(true, Ordering::Relaxed);
    }

    /// Whether git can read the store's packed refs. Costs a look at the file unless it was changed.
    pub fn packed_refs_are_sound(&self) -> Result<bool, Error> {
        let Ok(meta) = std::fs::metadata(self.store.path().join("packed-refs")) else {
            return Ok(true);
        };
        let stamp = meta.modified().ok().map(|changed| (changed, meta.len()));
        let mut known = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp.is_some() && *known == stamp {
            return Ok(true);
        }
        let sound = git::packed_refs_are_sound(&self.store)?;
        *known = stamp.filter(|_| sound);
        Ok(sound)
    }

    /// Undoes what somebody planted in the store; called before git is let loose on it.
    pub fn guard_store(&self) -> Result<Option<Warning>, Error> {
        Ok(self.tampered(&self.guard_store_files()?))
    }

    /// As [`Repo::guard_store`], with the names of what had to be put back.
    pub fn guard_store_files(&self) -> Result<Vec<&'static str>, Error> {
        // Two at a time would put back each other's half-written files.
        let _one_at_a_time = self.guarding.lock().unwrap_or_else(PoisonError::into_inner);
        self.store
            .guard()
            .map_err(Error::io("check the store's configuration"))
    }

    /// What to tell whoever asked for the next git command, and the log.
    pub fn tampered(&self, restored: &[&str]) -> Option<Warning> {
        if restored.is_empty() {
            return None;
        }
        let warning = Warning::new(
            "store_tampered",
            format!(
                "git's own files had been changed and were put back: {}",
                restored.join(", ")
            ),
        );
        tracing::warn!(repo = %self.name, warning = %warning.message);
        Some(warning)
    }

    /// What the remote has for `branch`, asked no earlier than `not_before`. Needs no clone.
    pub async fn ask(
        self: &Arc<Self>,
        branch: &BranchName,
        not_before: Instant,
    ) -> Result<Asked, Error> {
        if let Some(asked) = self
            .remembered(branch)
            .filter(|asked| asked.began >= not_before)
        {
            return Ok(asked);
        }
        let repo = self.clone();
        let answers = self
            .asks
            .run(
                branch,
                |_| {},
                move |branches, _| {
                    let repo = repo.clone();
                    async move { repo.ask_all(branches).await }
                },
            )
            .await?;
        answers
            .iter()
            .find_map(|(name, asked)| (name == branch).then(|| asked.clone()))
            .ok_or(Error::Abandoned)
    }

    /// As [`Repo::ask`], for bringing a workspace up to date: it may have been asked as long ago as the operator
    /// lets it (`git.freshness`), if it had the branch then.
    pub async fn ask_lately(
        self: &Arc<Self>,
        branch: &BranchName,
        not_before: Instant,
    ) -> Result<Asked, Error> {
        let lately = not_before.checked_sub(self.git.settings().freshness);
        let is_fresh = |asked: &Asked| {
            asked.head.is_some() && lately.is_some_and(|lately| asked.began >= lately)
        };
        match self.remembered(branch).filter(is_fresh) {
            Some(asked) => Ok(asked),
            None => self.ask(branch, not_before).await,
        }
    }

    /// Makes sure that the store has what the remote said, and that its refs say the same.
    pub async fn bring(
        self: &Arc<Self>,
        branch: &BranchName,
        asked: &Asked,
        progress: Progress<'_>,
    ) -> Result<(), Error> {
        self.ensure_store(progress).await?;
        if self.is_current(branch, asked).await? {
            return Ok(());
        }
        let repo = self.clone();
        progress(Phase::Fetch, None);
        let work = move |branches: Vec<BranchName>, reporter: Reporter<Failures>| {
            let repo = repo.clone();
            async move {
                let progress = |percent| reporter.percent(percent);
                let fetched = repo.fetch_all(&branches, progress).await;
                if fetched.is_ok() {
                    repo.tell(RepoChange::Fetched);
                }
                fetched
            }
        };
        let failures = self
            .fetches
            .run(
                branch,
                |percent| progress(Phase::Fetch, Some(percent)),
                work,
            )
            .await?;
        match failures.iter().find(|(failed, _)| failed == branch) {
            Some((_, error)) => Err(Error::Git(error.clone())),
            None => Ok(()),
        }
    }

    fn remembered(&self, branch: &BranchName) -> Option<Asked> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(branch)
            .cloned()
    }

    async fn ask_all(&self, branches: Vec<BranchName>) -> Result<Answers, Error> {
        let began = Instant::now();
        let refs: Vec<String> = branches.iter().map(BranchName::local_ref).collect();
        let mut heads = match self.neighbour_heads(refs.clone()).await {
            Some(heads) => heads,
            None => git::remote_heads(&self.git, self.config.url.as_str(), &refs).await?,
        };
        let at = Timestamp::now();
        let answers: Vec<_> = branches
            .into_iter()
            .map(|branch| {
                let head = heads.remove(&branch.local_ref());
                (branch, Asked { head, at, began })
            })
            .collect();
        let mut remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (branch, asked) in &answers {
            remembered.put(branch.clone(), asked.clone());
        }
        drop(remembered);
        Ok(Arc::new(answers))
    }

    /// What a remote on this machine has, where that can be had without a process. A disk that hangs is left
    /// to the process, which can be ended.
    async fn neighbour_heads(&self, refs: Vec<String>) -> Option<HashMap<String, CommitId>> {
        if !self.config.url.is_local() {
            return None;
        }
        let url = self.config.url.as_str().to_owned();
        let looking = tokio::task::spawn_blocking(move || git::neighbour_heads(&url, &refs));
        let patience = self.git.settings().remote_timeout;
        let looked = tokio::time::timeout(patience, looking).await;
        looked.ok()?.ok()?
    }

    /// Compares the store's remote-tracking ref with the answer; a branch that is gone loses its ref.
    async fn is_current(
        self: &Arc<Self>,
        branch: &BranchName,
        asked: &Asked,
    ) -> Result<bool, Error> {
        let (repo, name, head) = (self.clone(), branch.remote_ref(), asked.head.clone());
        blocking(move || {
            let store = repo.open_store()?;
            let Some(head) = head else {
                git::delete_ref(&store, &name)?;
                return Ok(true);
            };
            Ok(git::read_ref(&store, &name)?.is_some_and(|id| id.to_string() == head.as_str()))
        })
        .await
    }

    /// Removes lock files of the store that a killed git left; the caller holds the lock on what it does
    /// there. Returns whether it is worth trying again.
    pub async fn clear_stale_locks(
        self: &Arc<Self>,
        branches: &[BranchName],
    ) -> Result<bool, Error> {
        let (repo, locks) = (self.clone(), git::store_locks(&self.store, branches));
        blocking(move || Ok(git::clear_stale_locks(&locks, &[repo.store.path()])?)).await
    }

    async fn fetch_all(
        self: &Arc<Self>,
        branches: &[BranchName],
        on_percent: impl Fn(u8) + Send + Sync,
    ) -> Result<Failures, Error> {
        let _network = self.network.lock().await;
        self.guard_store()?;
        let (repo, wanted) = (self.clone(), branches.to_vec());
        blocking(move || {
            let store = repo.open_store()?;
            for branch in &wanted {
                // The remote has `branch`, so it cannot have any of these beside it: they are gone there.
                for gone in git::colliding_refs(&store, "refs/remotes/origin/", branch)? {
                    git::delete_ref(&store, &gone.remote_ref())?;
                }
            }
            Ok(())
        })
        .await?;
        let mut failures = Vec::new();
        let mut fetched = git::fetch(&self.git, &self.store, branches, &on_percent).await;
        if fetched.is_err() && self.clear_stale_locks(branches).await? {
            fetched = git::fetch(&self.git, &self.store, branches, &on_percent).await;
        }
        if let Err(error) = fetched {
            let full = error.is_disk_full();
            if full {
                let repo = self.clone();
                blocking(move || Ok(git::clear_half_fetched(&repo.store, &repo.home)?)).await?;
            }
            let for_all = error
                .failure()
                .is_some_and(|failure| !failure.may_spare_others());
            if full || for_all || branches.len() == 1 {
                return Err(error.into());
            }
            // One branch that vanished in between must not fail the others.
            tracing::debug!(repo = %self.name, %error, "fetching one by one");
            for branch in branches {
                let one = std::slice::from_ref(branch);
                if let Err(error) = git::fetch(&self.git, &self.store, one, &on_percent).await {
                    failures.push((branch.clone(), Arc::new(error)));
                }
            }
        }
        Ok(Arc::new(failures))
    }
}

/// Runs git2 work where it may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::from(git::Error::from(error)))?
}
