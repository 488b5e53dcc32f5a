//! How verbs are done: looks stand beside whatever runs in the workspace, and so do changes that move no file; other
//! changes wait for the lock.

use std::future::Future;
use std::sync::Arc;

use branchyard_git::verbs::VerbEntry;
use branchyard_git::{Repository, authored};

use crate::app::branches::collecting;
use crate::app::{AuthorizedApp, inspect, workspace_lock};
use branchyard_model::{About, Author, BranchName, Problem, RepoName, RunId, Warning};
use branchyard_workspace::files::delete_file;
use branchyard_workspace::{Error, Files, Reporter, Workspace, verbs};

/// Where a verb is done.
#[derive(Debug, Clone)]
pub struct At {
    pub repo: RepoName,
    pub branch: BranchName,
}

/// What a verb answers, and what that is about.
#[derive(Debug, Clone)]
pub struct VerbOutput<T> {
    pub about: About,
    pub warnings: Vec<Warning>,
    pub answer: T,
}

impl<T> VerbOutput<T> {
    /// The same about another answer.
    pub(super) fn with<U>(self, answer: U) -> VerbOutput<U> {
        VerbOutput {
            about: self.about,
            warnings: self.warnings,
            answer,
        }
    }
}

/// What a change is given.
pub(super) struct ChangeContext {
    pub(super) workspace: Arc<Workspace>,
    /// The caller, as the record names it.
    pub(super) by: String,
    /// Who its commits are by, if that is not the daemon.
    pub(super) author: Option<Author>,
    pub(super) report: Reporter,
    /// The run whose command is under way in the workspace meanwhile: no file may move.
    pub(super) beside_run: Option<RunId>,
}

impl ChangeContext {
    /// Refuses an author other than the caller's own.
    pub(super) fn check_author(&self, given: Option<&String>) -> Result<(), Problem> {
        match (&self.author, given) {
            (Some(own), Some(given)) if *given != own.to_string() => {
                let detail = format!("commits with this token are by {own}");
                Err(Problem::unprocessable("author", detail).help("leave it out"))
            }
            _ => Ok(()),
        }
    }
}

/// Reads something of a workspace, which is made where there is none. Nothing else is waited for.
pub(super) async fn read<T, F>(
    app: &AuthorizedApp,
    at: &At,
    read: impl Fn(Arc<Workspace>) -> F,
) -> Result<VerbOutput<T>, Problem>
where
    F: Future<Output = Result<(About, T), Error>>,
{
    let (about, answer) = inspect::read(app, &at.repo, &at.branch, read).await?;
    Ok(VerbOutput {
        about,
        warnings: Vec::new(),
        answer,
    })
}

/// The same of its repository, in-process.
pub(super) async fn look<T: Send + 'static>(
    app: &AuthorizedApp,
    at: &At,
    look: impl Fn(&Workspace, &Repository) -> Result<T, Error> + Clone + Send + 'static,
) -> Result<VerbOutput<T>, Problem> {
    read(app, at, |workspace| {
        let look = look.clone();
        async move { verbs::look(&workspace, look).await }
    })
    .await
}

/// Changes a workspace, once it has the lock or, if it may be done `beside` a command that runs there, at once.
pub(super) async fn change<T, F>(
    app: &AuthorizedApp,
    at: &At,
    verb: VerbEntry,
    (files, beside): (Files, bool),
    work: impl FnOnce(ChangeContext) -> F + Send + 'static,
) -> Result<VerbOutput<T>, Problem>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    match verb.name == delete_file::VERB.name {
        // What makes room must not need any.
        true => app.yard().margin.make_do(),
        false => app.yard().margin.check()?,
    }
    let workspace = app.workspace(&at.repo, &at.branch)?;
    if files != Files::Untouched {
        app.check_unprotected(workspace.repo(), &at.branch, "changed")
            .await?;
    }
    // Those who wait behind it are told.
    let what = match files {
        Files::Edited => verb.name.to_owned(),
        _ => format!("git {}", verb.name.replace('_', "-")),
    };
    let (lock, beside_run) = match beside {
        true => workspace_lock::lock_or_run(app, &workspace, &what).await?,
        false => (
            Some(workspace_lock::lock_of(app, &workspace, &what).await?),
            None,
        ),
    };
    let (report, warnings) = collecting();
    let (by, author) = (app.by(), app.principal().author().cloned());
    let who = by.clone();
    let work = move |workspace, report| {
        let context = ChangeContext {
            workspace,
            by,
            author: author.clone(),
            report,
            beside_run,
        };
        authored(author, work(context))
    };
    let done = verbs::change(&workspace, lock, (files, who), &report, work).await;
    let (about, answer) = done.map_err(|error| app.judge(error))?;
    Ok(VerbOutput {
        about,
        warnings: warnings.so_far(),
        answer,
    })
}
