//! A request that meets damage: what is broken is mended on the way, and the request goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::locked;
use super::{Error, Report, Reporter, Workspace};
use crate::reconcile::repair::{self, Mended};
use crate::repos;
use crate::repos::heal;
use branchyard_git::{self as git, Lock};
use branchyard_model::{ErrorKind, Problem, Warning};
use branchyard_process::Presence;

/// Locks, then an index, then a ref, then objects: each mend may show the next damage.
const ATTEMPTS: usize = 3;
/// How long somebody else's git may hold a lock, and how often that is looked at: there is nothing to be
/// woken by.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Work that can be tried again: damage that is already known is mended first, and after a failure that may mean damage it
/// is tried again if something was mended. The work leaves the files and the repo's locks when it fails.
pub async fn retried<T, F>(
    workspace: &Arc<Workspace>,
    report: &Reporter,
    work: impl Fn() -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    if heal::is_suspect(workspace.repo()) && workspace.repo().is_cloned() {
        Box::pin(heal(workspace, report)).await?;
    }
    let mut left = ATTEMPTS;
    loop {
        let error = match work().await {
            Err(error) if error.may_be_damage() && left > 0 => error,
            done => return done,
        };
        left -= 1;
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "looking for damage");
        // Hardly ever needed and large: boxed, it is no part of every request's future.
        if !Box::pin(recover(workspace, &error, report)).await? {
            return Err(error);
        }
    }
}

/// Mends what may have caused `error`; whether it is worth trying again.
async fn recover(
    workspace: &Arc<Workspace>,
    error: &Error,
    report: &Reporter,
) -> Result<bool, Error> {
    if !workspace.repo().is_cloned() {
        return Ok(false);
    }
    if mend_here(workspace, report).await? || wait_for_locks(workspace, report).await? {
        return Ok(true);
    }
    if !error.may_be_lost_objects() {
        return Ok(false);
    }
    heal(workspace, report).await
}

/// Mends what needs no remote; whether there was anything.
pub(super) async fn mend_here(
    workspace: &Arc<Workspace>,
    report: &Reporter,
) -> Result<bool, Error> {
    let (this, report) = (workspace.clone(), report.clone());
    workspace
        .uninterrupted(async move {
            let _files = this.share_files().await;
            let _registry = this.repo().registry().lock().await;
            let workspace = this.clone();
            this.blocking(move |_| mend_and_tell(&workspace, &report))
                .await
        })
        .await
}

/// As [`mend_here`], with the registry lock and the files held by the caller. Blocks.
pub(super) fn mend_and_tell(workspace: &Arc<Workspace>, report: &Reporter) -> Result<bool, Error> {
    workspace.repo().guard_store()?;
    let mended = repair::mend_around(workspace)?;
    let mut any = false;
    for Mended { finding, done } in &mended {
        let Some(done) = done else { continue };
        any = true;
        // A lock that nobody was behind is nobody's concern.
        if finding.code != "stale_lock" {
            let detail = format!("{}: {done}", finding.detail);
            report(Report::Warning(Warning::new("mended", detail)));
        }
    }
    Ok(any)
}

/// Waits a while for whoever holds a lock that could be in the way, and removes one that nobody is
/// behind. Whether there was one and it is gone now.
async fn wait_for_locks(workspace: &Arc<Workspace>, report: &Reporter) -> Result<bool, Error> {
    let patience = Instant::now() + LOCK_PATIENCE;
    let mut waited = false;
    loop {
        let locks = workspace.blocking(locks_in_the_way).await?;
        let Some(lock) = locks.first() else {
            return Ok(waited);
        };
        if Instant::now() >= patience {
            let presence = Presence::below(workspace.repo().home());
            let held = locks.iter().find(|lock| lock.is_held(&presence));
            return Err(locked(held.unwrap_or(lock).path()).into());
        }
        waited = true;
        tokio::time::sleep(LOCK_POLL).await;
        if mend_here(workspace, report).await? {
            return Ok(true);
        }
    }
}

fn locks_in_the_way(workspace: &Workspace) -> Result<Vec<Lock>, Error> {
    let worktrees = workspace.repo().store().path().join("worktrees");
    let mut locks = git::all_locks(workspace.repo().store())?;
    locks.retain(|lock| {
        let others = lock.path().starts_with(&worktrees)
            && !lock.path().starts_with(workspace.worktree().admin());
        !others && !lock.path().ends_with("gc.pid")
    });
    Ok(locks)
}

/// Looks through the whole store and clones it anew where something is missing; whether that was so.
pub(super) async fn heal(workspace: &Arc<Workspace>, report: &Reporter) -> Result<bool, Error> {
    let (this, report) = (workspace.clone(), report.clone());
    workspace
        .uninterrupted(async move {
            let _registry = this.repo().registry().lock().await;
            let progress = |phase, percent| report(Report::Phase(phase, percent));
            let healed = repos::heal::heal(this.repo(), Some(this.branch()), &progress).await;
            let Some(warning) = healed.map_err(|error| damaged(&error))? else {
                return Ok(false);
            };
            report(Report::Warning(warning));
            // Heads and indexes that name what is lost.
            let workspace = this.clone();
            this.blocking(move |_| mend_and_tell(&workspace, &report))
                .await?;
            Ok(true)
        })
        .await
}

/// Damage that only the remote could help with.
fn damaged(error: &crate::repos::RepoError) -> Error {
    if !error.is_remote() {
        return error.clone().into();
    }
    let detail =
        format!("the repository's objects are damaged, and cannot be fetched anew: {error}");
    Problem::new(ErrorKind::Upstream, "store_damaged", detail)
        .help("nothing was changed; ask again when the remote can be reached")
        .into()
}

impl Error {
    /// Whether git's own files being broken could be the reason.
    fn may_be_damage(&self) -> bool {
        matches!(self, Self::Git(git::Error::Unborn)) || self.may_be_lost_objects()
    }

    /// Whether objects that are gone could be the reason.
    fn may_be_lost_objects(&self) -> bool {
        let error = match self {
            Self::Git(error) => error,
            Self::Repo(crate::repos::RepoError::Git(error)) => error,
            _ => return false,
        };
        match error {
            git::Error::Read(_) | git::Error::Refused { .. } => true,
            // Asking needs no store; fetching does.
            git::Error::Remote { verb, .. } => verb == "fetch",
            _ => false,
        }
    }
}
