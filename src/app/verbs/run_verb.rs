//! How verbs are done: looks stand beside whatever runs in the workspace, changes wait for the lock.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use branchyard_git::Repository;

use super::verb::{At, VerbOutput};
use crate::app::branches::collecting;
use crate::app::{AuthorizedApp, inspect};
use branchyard_model::{ErrorKind, Problem};
use branchyard_workspace::{Error, Files, Reporter, Workspace, WorkspaceLock, verbs};

/// How long a change waits for its lock: shorter than clients wait for an answer, so that they are told
/// what they wait for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(40);

/// Looks at the repository of a workspace, in-process. Nothing is waited for but, where there is no
/// workspace yet, the making of one.
pub(super) async fn look<T: Send + 'static>(
    app: &AuthorizedApp,
    at: &At,
    look: impl Fn(&Workspace, &Repository) -> Result<T, Error> + Clone + Send + 'static,
) -> Result<VerbOutput<T>, Problem> {
    let (about, answer) = inspect::read(app, &at.repo, &at.branch, move |workspace| {
        let look = look.clone();
        async move { verbs::look(&workspace, look).await }
    })
    .await?;
    Ok(VerbOutput {
        about,
        warnings: Vec::new(),
        answer,
    })
}

/// Changes a workspace, once it has the lock. `what` is told to those who wait behind it.
pub(super) async fn change<T, BoxFuture>(
    app: &AuthorizedApp,
    at: &At,
    what: &str,
    files: Files,
    work: impl FnOnce(Arc<Workspace>, Reporter) -> BoxFuture + Send + 'static,
) -> Result<VerbOutput<T>, Problem>
where
    T: Send + 'static,
    BoxFuture: Future<Output = Result<T, Error>> + Send + 'static,
{
    app.yard().margin.check()?;
    let workspace = app.workspace(&at.repo, &at.branch)?;
    if files != Files::Untouched {
        app.check_unprotected(workspace.repo(), &at.branch, "changed")
            .await?;
    }
    let lock = lock_of(app, &workspace, what).await?;
    let (report, warnings) = collecting();
    let done = verbs::change(&workspace, lock, files, &report, work).await;
    let (about, answer) = done.map_err(|error| app.yard().margin.judge(error.problem()))?;
    Ok(VerbOutput {
        about,
        warnings: warnings.so_far(),
        answer,
    })
}

/// The lock of a workspace, waited for as long as callers wait for an answer.
pub(in crate::app) async fn lock_of(
    this: &AuthorizedApp,
    workspace: &Workspace,
    what: &str,
) -> Result<WorkspaceLock, Problem> {
    let lock = workspace.queue().lock(what, this.principal().name());
    let lock = tokio::time::timeout(LOCK_TIMEOUT, lock).await;
    lock.map_err(|_| busy(workspace))
}

/// Somebody else has the lock, and for long.
fn busy(workspace: &Workspace) -> Problem {
    let holder = workspace.queue().holder();
    let holder = holder.map_or_else(
        || "others are in line".to_owned(),
        |holder| match &holder.run_id {
            Some(run) => format!(
                "{} (run {run}) by {} since {}",
                holder.what, holder.who, holder.since
            ),
            None => format!("{} by {} since {}", holder.what, holder.who, holder.since),
        },
    );
    let detail = format!(
        "the workspace of {} is in use: {holder}",
        workspace.branch()
    );
    Problem::new(ErrorKind::Conflict, "workspace_busy", detail)
        .field("branch")
        .help("nothing was done; wait for the run to end (GET /api/runs/{id}?wait=50s, run_wait) or cancel it, then ask again")
}
