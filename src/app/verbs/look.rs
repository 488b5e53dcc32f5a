//! status, diff, show.

use super::verb::{At, Effect, Render, Verb, VerbEntry, VerbOutput};
use crate::app::verbs::run_verb;
use crate::app::{AuthorizedApp, inspect};
use branchyard_git::verbs::show::Shown;
use branchyard_git::verbs::{diff, show, status};
use branchyard_model::{About, Problem};
use branchyard_workspace::verbs;

pub(super) fn verbs() -> Vec<Verb> {
    let entry = |name, title, description| VerbEntry {
        name,
        title,
        description,
        effect: Effect::READS,
    };
    vec![
        Verb::new(
            entry(
                "status",
                "Show the state of the workspace",
                "Shows what is staged, changed, untracked and in conflict in a branch's workspace, how it stands \
                 to its remote, and whether a merge, rebase or the like waits to be finished. Use it before \
                 committing and after every conflict; `git_diff` shows the changes themselves.",
            ),
            show_status,
        ),
        Verb::new(
            entry(
                "diff",
                "Show differences",
                "Shows what differs between the files and the index (the default), what is staged, or what \
                 differs from, or between, revisions; with merge_base, what a branch did since it parted from \
                 another.",
            ),
            show_diff,
        ),
        Verb::new(
            entry(
                "show",
                "Show a commit, tag, directory or file",
                "Shows a commit with what it changed, an annotated tag, or, with path, a file or directory as it \
                 was in any revision. Nothing is checked out for that.",
            ),
            show_object,
        ),
    ]
}

async fn show_status(
    app: AuthorizedApp,
    at: At,
    request: status::Request,
) -> Result<VerbOutput<status::Status>, Problem> {
    let read = inspect::read(&app, &at.repo, &at.branch, move |workspace| {
        let request = request.clone();
        async move { verbs::status(&workspace, request).await }
    });
    let (about, answer) = read.await?;
    Ok(told(about, answer))
}

async fn show_diff(
    app: AuthorizedApp,
    at: At,
    request: diff::Request,
) -> Result<VerbOutput<diff::Differences>, Problem> {
    request.check()?;
    let read = inspect::read(&app, &at.repo, &at.branch, move |workspace| {
        let request = request.clone();
        async move { verbs::diff(&workspace, request).await }
    });
    let (about, answer) = read.await?;
    Ok(told(about, answer))
}

fn told<T>(about: About, answer: T) -> VerbOutput<T> {
    VerbOutput {
        about,
        warnings: Vec::new(),
        answer,
    }
}

async fn show_object(
    app: AuthorizedApp,
    at: At,
    request: show::Request,
) -> Result<VerbOutput<Shown>, Problem> {
    request.check()?;
    run_verb::look(&app, &at, move |workspace, repo| {
        let paths = verbs::inside(workspace, "path", request.path.as_slice())?;
        let path = paths.first().map(AsRef::as_ref);
        Ok(show::show(repo, path, &request)?)
    })
    .await
}

impl Render for status::Status {
    fn text(&self) -> String {
        self.text()
    }

    fn cut(&mut self, room: usize) {
        self.cut(room);
    }
}

impl Render for diff::Differences {
    fn text(&self) -> String {
        format!("{} to {}: {}", self.old, self.new, self.files.text())
    }

    fn cut(&mut self, room: usize) {
        self.files.cut(room);
    }
}

impl Render for Shown {
    fn text(&self) -> String {
        self.text()
    }

    fn cut(&mut self, room: usize) {
        self.cut(room);
    }
}
