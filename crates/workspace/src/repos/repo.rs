//! One repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use super::RepoError;
use super::answers::{Answers, Failures, RememberedAnswers, RememberedListing};
use super::blocking::blocking;
use super::health::Health;
use super::lfs::LfsRemote;
use super::named_urls::NamedUrls;
use super::protection::Protection;
use super::source::Source;
use super::submodules::SubmoduleStores;
use branchyard_config::RepoConfig;
use branchyard_git::{self as git, Git, Repository, Store};
use branchyard_model::{BranchName, Phase, RepoName, Warning};
use branchyard_runtime::disk::Quarantine;
use branchyard_runtime::single_flight::SingleFlight;
use branchyard_runtime::yard_events::{EventBus, RepoChange, RepoEvent, YardChange};

/// Before the remote has named its default branch, these count as it.
const USUAL_DEFAULTS: [&str; 2] = ["main", "master"];

/// Looks at the workspaces of one repo at a time.
const MAX_LOOKS: usize = 256;

/// What is done for all branches that callers want together.
type BranchFlight<T> = Arc<SingleFlight<BranchName, Result<T, RepoError>>>;

/// How far work on the remote has come.
pub type Progress<'a> = &'a (dyn Fn(Phase, Option<u8>) + Send + Sync);

#[derive(Debug)]
pub struct Repo {
    name: RepoName,
    config: RepoConfig,
    source: Source,
    protection: Protection,
    /// Where it is told what changes in it.
    news: EventBus,
    git: Git,
    home: PathBuf,
    store: Store,
    submodules: SubmoduleStores,
    lfs: Arc<LfsRemote>,
    /// Covers worktree add and remove, branch create and delete.
    registry: tokio::sync::Mutex<()>,
    clones: Arc<SingleFlight<(), Result<(), RepoError>>>,
    asks: BranchFlight<Answers>,
    fetches: BranchFlight<Failures>,
    /// One process at a time fetches into or pushes from the store: refs are locked one by one.
    network: tokio::sync::Mutex<()>,
    guarding: Mutex<()>,
    /// Where what is broken is kept.
    quarantine: Quarantine,
    answers: RememberedAnswers,
    listing: RememberedListing,
    health: Health,
    /// The `packed-refs` that was last found to make sense.
    packed: Mutex<Option<(SystemTime, u64)>>,
    /// When a caller last used the repo.
    used: Mutex<Instant>,
    /// Held while objects are repacked or exchanged.
    upkeep: tokio::sync::Mutex<()>,
    /// Looks at its workspaces, each of which holds a thread.
    looks: Arc<tokio::sync::Semaphore>,
}

impl Repo {
    pub(super) fn new(
        name: RepoName,
        config: RepoConfig,
        (source, protection): (Source, Protection),
        (git, urls): (Git, Arc<NamedUrls>),
        (workspaces, staging): (&Path, PathBuf),
        tasks: &TaskTracker,
        news: EventBus,
    ) -> Self {
        let home = workspaces.join(name.dir().as_str());
        let store = Store::at(home.join(".git"), config.url.as_str().to_owned());
        let outer = store.path().to_owned();
        Self {
            lfs: LfsRemote::new(
                (&config.url, git.clone()),
                (outer.clone(), staging.clone()),
                urls.clone(),
            ),
            submodules: SubmoduleStores::new(urls, config.submodules, (outer, staging)),
            store,
            name,
            config,
            source,
            protection,
            news,
            git,
            home,
            registry: tokio::sync::Mutex::new(()),
            clones: SingleFlight::joining(tasks.clone()),
            asks: SingleFlight::new(tasks.clone()),
            fetches: SingleFlight::new(tasks.clone()),
            network: tokio::sync::Mutex::new(()),
            guarding: Mutex::new(()),
            quarantine: Quarantine::at(workspaces.join(".branchyard/quarantine")),
            answers: RememberedAnswers::default(),
            listing: RememberedListing::default(),
            health: Health::default(),
            packed: Mutex::new(None),
            used: Mutex::new(Instant::now()),
            upkeep: tokio::sync::Mutex::new(()),
            looks: Arc::new(tokio::sync::Semaphore::new(MAX_LOOKS)),
        }
    }

    pub fn tell(&self, change: RepoChange) {
        let repo = self.name.clone();
        self.news
            .publish(YardChange::Repo(RepoEvent { repo, change }));
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

    pub fn submodules(&self) -> &SubmoduleStores {
        &self.submodules
    }

    pub(crate) fn lfs(&self) -> &Arc<LfsRemote> {
        &self.lfs
    }

    pub fn is_cloned(&self) -> bool {
        self.store.path().join("branchyard.json").is_file()
    }

    pub fn open_store(&self) -> Result<Repository, RepoError> {
        Ok(git::open_store(self.store.path())?)
    }

    /// The default branch: as configured, else what the remote's HEAD named when it was last asked.
    pub fn default_branch(&self) -> Option<String> {
        match &self.config.default_branch {
            Some(branch) => Some(branch.to_string()),
            None => self.remote_default(),
        }
    }

    /// Notes that objects of the store are gone: the next request has it looked at.
    pub fn suspect(&self) {
        self.health.suspect();
    }

    /// Whether git can read the store's packed refs. Costs a look at the file unless it was changed.
    pub fn packed_refs_are_sound(&self) -> Result<bool, RepoError> {
        let Ok(meta) = std::fs::metadata(self.store.path().join("packed-refs")) else {
            return Ok(true);
        };
        let stamp = meta.modified().ok().map(|changed| (changed, meta.len()));
        let mut known = self.packed.lock();
        if stamp.is_some() && *known == stamp {
            return Ok(true);
        }
        let sound = git::packed_refs_are_sound(&self.store)?;
        *known = stamp.filter(|_| sound);
        Ok(sound)
    }

    /// Undoes what somebody planted in the store; called before git is let loose on it.
    pub fn guard_store(&self) -> Result<Option<Warning>, RepoError> {
        Ok(self.tampered(&self.guard_store_files()?))
    }

    /// As [`Repo::guard_store`], with the names of what had to be put back.
    pub fn guard_store_files(&self) -> Result<Vec<&'static str>, RepoError> {
        // Two at a time would put back each other's half-written files.
        let _one_at_a_time = self.guarding.lock();
        self.store
            .guard()
            .map_err(RepoError::io("check the store's configuration"))
    }

    /// What to tell whoever asked for the next git command, and the log.
    pub fn tampered(&self, restored: &[&str]) -> Option<Warning> {
        if restored.is_empty() {
            return None;
        }
        let restored = restored.join(", ");
        let detail = format!("git's own files had been changed and were put back: {restored}");
        let warning = Warning::new("store_tampered", detail);
        tracing::warn!(repo = %self.name, warning = %warning.message);
        Some(warning)
    }

    /// Removes lock files of the store that a killed git left; the caller holds the lock on what it does
    /// there. Returns whether it is worth trying again.
    pub async fn clear_stale_locks(
        self: &Arc<Self>,
        branches: &[BranchName],
    ) -> Result<bool, RepoError> {
        let (repo, locks) = (self.clone(), git::store_locks(&self.store, branches));
        blocking(move || Ok(git::clear_stale_locks(&locks, &[repo.store.path()])?)).await
    }

    /// Whether the branch is protected, as far as the default branch is known: see [`Repo::learn_default`].
    pub fn protects(&self, branch: &BranchName) -> bool {
        self.protection.names(branch) || self.default_branches().contains(&branch.to_string())
    }

    /// Asks the remote for its default branch unless that is known. Needs no clone.
    pub async fn learn_default(&self) -> Result<(), RepoError> {
        if self.is_cloned() || self.remote_default().is_some() {
            return Ok(());
        }
        let named = git::remote_default(&self.git, self.config.url.as_str()).await?;
        self.protection.remember_default(named);
        Ok(())
    }

    /// Globs and names of the protected branches, for people.
    pub fn protected_patterns(&self) -> Vec<String> {
        let mut patterns = self.protection.patterns();
        patterns.extend(self.default_branches());
        let mut seen = std::collections::HashSet::new();
        patterns.retain(|pattern| seen.insert(pattern.clone()));
        patterns
    }

    /// The configured one and the remote's own: that they differ unprotects neither.
    fn default_branches(&self) -> Vec<String> {
        let configured = self.config.default_branch.iter();
        let configured = configured.map(BranchName::to_string);
        let known: Vec<_> = configured.chain(self.remote_default()).collect();
        match known.is_empty() {
            true => USUAL_DEFAULTS.map(str::to_owned).into(),
            false => known,
        }
    }

    /// What the remote's HEAD named when it was last asked.
    fn remote_default(&self) -> Option<String> {
        let in_store = Store::info(self.store.path()).and_then(|info| info.default_branch);
        in_store.or_else(|| self.protection.asked_default())
    }

    pub fn name(&self) -> &RepoName {
        &self.name
    }

    pub fn config(&self) -> &RepoConfig {
        &self.config
    }

    pub fn source(&self) -> &Source {
        &self.source
    }

    pub fn news(&self) -> &EventBus {
        &self.news
    }

    pub fn registry(&self) -> &tokio::sync::Mutex<()> {
        &self.registry
    }

    pub(super) fn clones(&self) -> &Arc<SingleFlight<(), Result<(), RepoError>>> {
        &self.clones
    }

    pub(super) fn asks(&self) -> &BranchFlight<Answers> {
        &self.asks
    }

    pub(super) fn fetches(&self) -> &BranchFlight<Failures> {
        &self.fetches
    }

    pub fn network(&self) -> &tokio::sync::Mutex<()> {
        &self.network
    }

    pub fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    pub(super) fn listing(&self) -> &RememberedListing {
        &self.listing
    }

    pub(super) fn answers(&self) -> &RememberedAnswers {
        &self.answers
    }

    pub(super) fn health(&self) -> &Health {
        &self.health
    }

    /// Notes that a caller uses the repo now: maintenance waits until none has for a while.
    pub fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    /// How long ago a caller last used it.
    pub(super) fn idle_for(&self) -> Duration {
        self.used.lock().elapsed()
    }

    pub(super) fn upkeep(&self) -> &tokio::sync::Mutex<()> {
        &self.upkeep
    }

    pub fn looks(&self) -> &Arc<tokio::sync::Semaphore> {
        &self.looks
    }
}
