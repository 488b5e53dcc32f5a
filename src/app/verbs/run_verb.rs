//! How verbs are done: looks stand beside whatever runs in the workspace, and so do changes that move no file; other
//! changes wait for the lock.

use std::future::Future;
use std::sync::Arc;

use branchyard_git::Repository;

use super::verb::{At, VerbOutput};
use crate::app::branches::collecting;
use crate::app::{AuthorizedApp, inspect, workspace_lock};
use branchyard_model::Problem;
use branchyard_workspace::{Error, Files, Reporter, Workspace, verbs};

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

/// Changes a workspace, once it has the lock or beside a command that runs there. `what` is told to those who wait
/// behind it.
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
    let beside = matches!(files, Files::Untouched | Files::Stay);
    let work = |workspace, report, _| work(workspace, report);
    change_as(app, at, what, (files, beside), work).await
}

/// The same of a change that moves files in some cases alone. It is told whether a command runs beside it.
pub(super) async fn change_beside_run<T, BoxFuture>(
    app: &AuthorizedApp,
    at: &At,
    what: &str,
    work: impl FnOnce(Arc<Workspace>, Reporter, bool) -> BoxFuture + Send + 'static,
) -> Result<VerbOutput<T>, Problem>
where
    T: Send + 'static,
    BoxFuture: Future<Output = Result<T, Error>> + Send + 'static,
{
    change_as(app, at, what, (Files::Later, true), work).await
}

async fn change_as<T, BoxFuture>(
    app: &AuthorizedApp,
    at: &At,
    what: &str,
    (files, beside): (Files, bool),
    work: impl FnOnce(Arc<Workspace>, Reporter, bool) -> BoxFuture + Send + 'static,
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
    let lock = match beside && workspace_lock::is_with_running(app, &workspace) {
        true => None,
        false => Some(workspace_lock::lock_of(app, &workspace, what).await?),
    };
    let (report, warnings) = collecting();
    let is_beside = lock.is_none();
    let work = move |workspace, report| work(workspace, report, is_beside);
    let done = verbs::change(&workspace, lock, (files, app.by()), &report, work).await;
    let (about, answer) = done.map_err(|error| app.yard().margin.judge(error.problem()))?;
    Ok(VerbOutput {
        about,
        warnings: warnings.so_far(),
        answer,
    })
}
