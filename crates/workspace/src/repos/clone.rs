//! Cloning a repo once, whoever asks first and however many ask at the same time.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::RepoError;
use super::repo::{Progress, Repo};
use branchyard_git::Store;
use branchyard_model::Phase;
use branchyard_runtime::single_flight::Reporter;
use branchyard_runtime::yard_events::RepoChange;

type Cloned = Result<(), RepoError>;

impl Repo {
    /// The default branch: as configured, else what the remote's HEAD names now.
    pub async fn ask_default_branch(self: &Arc<Self>) -> Result<Option<String>, RepoError> {
        let was_cloned = self.is_cloned();
        self.ensure_store(&|_, _| {}).await?;
        // A clone has just asked.
        if was_cloned && self.config().default_branch.is_none() {
            let _network = self.network().lock().await;
            self.guard_store()?;
            let store = self.store();
            store.learn_default_branch(self.git(), self.name()).await?;
        }
        Ok(self.default_branch())
    }

    /// Clones unless that was done before.
    pub async fn ensure_store(self: &Arc<Self>, progress: Progress<'_>) -> Result<(), RepoError> {
        if self.is_cloned() {
            return Ok(());
        }
        progress(Phase::Clone, Some(0));
        if self.store().path().exists() {
            // Part of a store: what is missing has to be found out.
            self.suspect();
        }
        ensure(self, |percent| progress(Phase::Clone, Some(percent))).await
    }
}

/// Returns once the store exists.
async fn ensure(repo: &Arc<Repo>, on_percent: impl FnMut(u8)) -> Cloned {
    let cloned = repo.clone();
    let work = move |_, reporter| {
        let repo = cloned.clone();
        async move { clone(&repo, &reporter).await }
    };
    let outcome = repo.clones().run((), on_percent, work).await;
    outcome.unwrap_or(Err(RepoError::Abandoned))
}

async fn clone(repo: &Repo, reporter: &Reporter<Cloned>) -> Cloned {
    if repo.is_cloned() {
        return Ok(());
    }
    let (name, home) = (repo.name(), repo.home());
    tracing::info!(repo = %name, "cloning");
    // On the same file system.
    let staging = home.with_file_name(".branchyard/staging");
    let staging = staging.join(format!("{}-{}", name.dir(), uuid::Uuid::now_v7()));
    let outcome = create(repo, &staging, reporter).await;
    match &outcome {
        Ok(()) => {
            tracing::info!(repo = %name, "cloned");
            repo.tell(RepoChange::Cloned);
        }
        Err(error) => {
            tracing::warn!(repo = %name, %error, "clone failed");
            // What stays behind is cleared at the next start.
            if staging.exists()
                && let Err(error) = fs::remove_dir_all(&staging)
            {
                tracing::warn!(path = %staging.display(), %error, "failed to clear a half-made clone");
            }
            // Made for the clone; stays if anything is in it.
            let _ = fs::remove_dir(home);
        }
    }
    outcome
}

async fn create(repo: &Repo, staging: &Path, reporter: &Reporter<Cloned>) -> Cloned {
    let (name, git, url) = (repo.name(), repo.git(), repo.config().url.as_str());
    let store = repo.store().path();
    fs::create_dir_all(repo.home()).map_err(RepoError::io("make the repository's directory"))?;
    if fs::read_dir(store).is_ok_and(|mut entries| entries.next().is_some()) {
        tracing::warn!(repo = %name, "what is left of a store is taken for one again");
        Store::readopt(git, name, url, store).await?;
    } else {
        let on_percent = |percent| reporter.percent(percent);
        Store::create(git, name, url, staging, store, on_percent).await?;
    }
    Ok(())
}
