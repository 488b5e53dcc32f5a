//! merge, rebase, cherry_pick, revert, resolve.

use std::sync::Arc;

use super::verb::{At, Effect, Render, Verb, VerbEntry, VerbOutput};
use crate::app::AuthorizedApp;
use crate::app::verbs::run_verb;
use branchyard_git::verbs::integration::{Ended, IntegrationOutcome, Origin};
use branchyard_git::verbs::operation::Operation;
use branchyard_git::verbs::picks::PickAction;
use branchyard_git::verbs::{Verbosity, cherry_pick, merge, rebase, resolve, revert};
use branchyard_model::Problem;
use branchyard_workspace::{Error, Files, GoOn, Reporter, Workspace, verbs};

pub(super) fn verbs() -> Vec<Verb> {
    let entry = |name, title, description| VerbEntry {
        name,
        title,
        description,
        // To abort, to skip and to resolve may discard what somebody did since; that is saved first.
        effect: Effect::DESTROYS,
    };
    vec![
        Verb::new(
            entry(
                "merge",
                "Merge",
                "Merges another branch, tag or commit into this branch; also as a squash, or fast-forward only. Conflicts are an answer: `state` is conflicts and the merge waits; resolve with git_resolve, then action continue, or abort to put all back.",
            ),
            merging,
        ),
        Verb::new(
            entry(
                "rebase",
                "Rebase",
                "Makes the commits of this branch again on top of another branch or commit. Stops at conflicts (`ours` is what is rebased onto, `theirs` the replayed commit): resolve with git_resolve, then action continue, skip or abort. The old tip is `head_before`.",
            ),
            rebasing,
        ),
        Verb::new(
            entry(
                "cherry_pick",
                "Cherry-pick",
                "Applies what given commits, or a range, changed elsewhere to this branch, a new commit each; or stages one without committing it. Stops at conflicts: resolve with git_resolve, then action continue, skip or abort.",
            ),
            picking,
        ),
        Verb::new(
            entry(
                "revert",
                "Revert",
                "Undoes given commits by new commits, without rewriting history. Stops at conflicts: resolve with git_resolve, then action continue, skip or abort.",
            ),
            reverting,
        ),
        Verb::new(
            entry(
                "resolve",
                "Resolve conflicts",
                "Settles files that are in conflict and stages them: take a side, base, delete or the file as it is now, or give the content. Without arguments it lists what is left, with the hunks. When nothing is, call the verb under way (git_merge, git_rebase, …) with action continue.",
            ),
            resolving,
        ),
    ]
}

async fn merging(
    app: AuthorizedApp,
    at: At,
    request: merge::Request,
) -> Result<VerbOutput<IntegrationOutcome>, Problem> {
    request.check()?;
    let by = app.by();
    let work = move |workspace: Arc<Workspace>, report: Reporter| async move {
        let how = match request.action {
            merge::MergeAction::Start => None,
            merge::MergeAction::Continue => Some(GoOn::Continue(request.message.clone())),
            merge::MergeAction::Abort => Some(GoOn::Abort),
        };
        let came = match how {
            Some(how) => verbs::go_on(&workspace, Operation::Merge, how, by, &report).await?,
            None => {
                let (git, dir) = (workspace.repo().git(), workspace.path());
                merge::start(git, dir, workspace.branch(), &request).await?
            }
        };
        told(&workspace, came, request.verbosity).await
    };
    run_verb::change(&app, &at, "git merge", Files::Move, work).await
}

async fn rebasing(
    app: AuthorizedApp,
    at: At,
    request: rebase::Request,
) -> Result<VerbOutput<IntegrationOutcome>, Problem> {
    request.check()?;
    let by = app.by();
    let work = move |workspace: Arc<Workspace>, report: Reporter| async move {
        let came = match going_on(request.action) {
            Some(how) => verbs::go_on(&workspace, Operation::Rebase, how, by, &report).await?,
            None => {
                let (git, dir) = (workspace.repo().git(), workspace.path());
                rebase::start(git, dir, workspace.branch(), &request).await?
            }
        };
        told(&workspace, came, request.verbosity).await
    };
    run_verb::change(&app, &at, "git rebase", Files::Move, work).await
}

async fn picking(
    app: AuthorizedApp,
    at: At,
    request: cherry_pick::Request,
) -> Result<VerbOutput<IntegrationOutcome>, Problem> {
    request.check()?;
    let by = app.by();
    let work = move |workspace: Arc<Workspace>, report: Reporter| async move {
        let came = match going_on(request.action) {
            Some(how) => {
                let operation = Operation::CherryPick;
                verbs::go_on(&workspace, operation, how, by, &report).await?
            }
            None => cherry_pick::start(workspace.repo().git(), workspace.path(), &request).await?,
        };
        told(&workspace, came, request.verbosity).await
    };
    run_verb::change(&app, &at, "git cherry-pick", Files::Move, work).await
}

async fn reverting(
    app: AuthorizedApp,
    at: At,
    request: revert::Request,
) -> Result<VerbOutput<IntegrationOutcome>, Problem> {
    request.check()?;
    let by = app.by();
    let work = move |workspace: Arc<Workspace>, report: Reporter| async move {
        let came = match going_on(request.action) {
            Some(how) => verbs::go_on(&workspace, Operation::Revert, how, by, &report).await?,
            None => revert::start(workspace.repo().git(), workspace.path(), &request).await?,
        };
        told(&workspace, came, request.verbosity).await
    };
    run_verb::change(&app, &at, "git revert", Files::Move, work).await
}

async fn resolving(
    app: AuthorizedApp,
    at: At,
    request: resolve::Request,
) -> Result<VerbOutput<resolve::Resolved>, Problem> {
    request.chosen()?;
    let by = app.by();
    let work = move |workspace: Arc<Workspace>, report: Reporter| async move {
        verbs::resolve(&workspace, request, by, &report).await
    };
    run_verb::change(&app, &at, "git resolve", Files::Move, work).await
}

fn going_on(action: PickAction) -> Option<GoOn> {
    match action {
        PickAction::Start => None,
        PickAction::Continue => Some(GoOn::Continue(None)),
        PickAction::Skip => Some(GoOn::Skip),
        PickAction::Abort => Some(GoOn::Abort),
    }
}

async fn told(
    workspace: &Arc<Workspace>,
    (origin, ended): (Origin, Ended),
    verbosity: Verbosity,
) -> Result<IntegrationOutcome, Error> {
    workspace
        .with_repository(move |_, repo| {
            Ok(IntegrationOutcome::read(repo, &origin, ended, verbosity)?)
        })
        .await
}

impl Render for IntegrationOutcome {
    fn text(&self) -> String {
        IntegrationOutcome::text(self)
    }

    fn cut(&mut self, room: usize) {
        IntegrationOutcome::cut(self, room);
    }
}

impl Render for resolve::Resolved {
    fn text(&self) -> String {
        resolve::Resolved::text(self)
    }

    fn cut(&mut self, room: usize) {
        resolve::Resolved::cut(self, room);
    }
}
