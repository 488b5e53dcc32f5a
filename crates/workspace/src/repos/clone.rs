//! Cloning a repo once, whoever asks first and however many ask at the same time.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::RepoError;
use branchyard_git::{Git, Store};
use branchyard_model::RepoName;
use branchyard_runtime::yard_events::{EventBus, RepoChange, RepoEvent};

type Stage = (Option<u8>, Option<Result<(), RepoError>>);

#[derive(Debug)]
pub(super) struct Cloner {
    name: RepoName,
    url: String,
    store: PathBuf,
    /// Directory for half-made clones, on the same file system.
    staging: PathBuf,
    git: Git,
    tasks: TaskTracker,
    news: EventBus,
    flight: Mutex<Option<watch::Receiver<Stage>>>,
}

impl Cloner {
    pub(super) fn new(
        name: RepoName,
        url: String,
        store: PathBuf,
        staging: PathBuf,
        git: Git,
        tasks: TaskTracker,
        news: EventBus,
    ) -> Self {
        Self {
            name,
            url,
            store,
            staging,
            git,
            tasks,
            news,
            flight: Mutex::new(None),
        }
    }

    pub(super) fn is_cloned(&self) -> bool {
        self.store.join("branchyard.json").is_file()
    }

    /// Returns once the store exists.
    pub(super) async fn ensure(&self, mut on_percent: impl FnMut(u8)) -> Result<(), RepoError> {
        let mut stage = self.join();
        loop {
            let (percent, outcome) = stage.borrow_and_update().clone();
            if let Some(outcome) = outcome {
                return outcome;
            }
            if let Some(percent) = percent {
                on_percent(percent);
            }
            stage.changed().await.map_err(|_| RepoError::Abandoned)?;
        }
    }

    fn join(&self) -> watch::Receiver<Stage> {
        let mut flight = self.flight.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stage) = &*flight {
            // An ended flight is only a memory: after a failure the next caller tries again.
            if stage.borrow().1.is_none() && stage.has_changed().is_ok() {
                return stage.clone();
            }
        }
        if self.is_cloned() {
            return watch::channel((None, Some(Ok(())))).1;
        }
        let (tell, stage) = watch::channel((None, None));
        *flight = Some(stage.clone());
        let staging = self
            .staging
            .join(format!("{}-{}", self.name.dir(), uuid::Uuid::now_v7()));
        let (git, name, url, store) = (
            self.git.clone(),
            self.name.clone(),
            self.url.clone(),
            self.store.clone(),
        );
        let news = self.news.clone();
        self.tasks.spawn(async move {
            tracing::info!(repo = %name, "cloning");
            let outcome = clone(&git, &name, &url, &staging, &store, &tell).await;
            match &outcome {
                Ok(()) => {
                    tracing::info!(repo = %name, "cloned");
                    let (repo, change) = (name, RepoChange::Cloned);
                    news.publish(RepoEvent { repo, change });
                }
                Err(error) => {
                    tracing::warn!(repo = %name, %error, "clone failed");
                    // What stays behind is cleared at the next start.
                    if staging.exists()
                        && let Err(error) = std::fs::remove_dir_all(&staging)
                    {
                        tracing::warn!(path = %staging.display(), %error, "failed to clear a half-made clone");
                    }
                    // BuildOutputNotes for the clone; stays if anything is in it.
                    if let Some(home) = store.parent() {
                        let _ = std::fs::remove_dir(home);
                    }
                }
            }
            tell.send_replace((None, Some(outcome)));
        });
        stage
    }
}

async fn clone(
    git: &Git,
    name: &RepoName,
    url: &str,
    staging: &std::path::Path,
    store: &std::path::Path,
    tell: &watch::Sender<Stage>,
) -> Result<(), RepoError> {
    if let Some(home) = store.parent() {
        std::fs::create_dir_all(home).map_err(RepoError::io("make the repository's directory"))?;
    }
    let on_percent = |percent| {
        tell.send_replace((Some(percent), None));
    };
    if std::fs::read_dir(store).is_ok_and(|mut entries| entries.next().is_some()) {
        tracing::warn!(repo = %name, "what is left of a store is taken for one again");
        Store::readopt(git, name, url, store).await?;
    } else {
        Store::create(git, name, url, staging, store, on_percent).await?;
    }
    Ok(())
}
