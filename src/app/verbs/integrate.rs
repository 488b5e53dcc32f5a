//! merge, rebase, cherry_pick, revert, resolve.

use super::run_verb::ChangeContext;
use super::verb::Verb;
use branchyard_git as git;
use branchyard_git::verbs::integration::{Ended, IntegrationOutcome, Origin};
use branchyard_git::verbs::operation::Operation;
use branchyard_git::verbs::picks::PickAction;
use branchyard_git::verbs::{Verbosity, cherry_pick, merge, rebase, resolve, revert};
use branchyard_workspace::{Error, Files, GoOn, verbs};

pub(super) fn verbs() -> Vec<Verb> {
    vec![
        Verb::changes(
            merge::VERB,
            merge::Request::check,
            Files::Move,
            |it, request| async move {
                let how = match request.action {
                    merge::MergeAction::Start => None,
                    merge::MergeAction::Continue => Some(GoOn::Continue(request.message.clone())),
                    merge::MergeAction::Abort => Some(GoOn::Abort),
                };
                let (git, dir) = (it.workspace.repo().git(), it.workspace.path());
                let start = merge::start(git, dir, it.workspace.branch(), &request);
                outcome(&it, (Operation::Merge, how), start, request.verbosity).await
            },
        ),
        Verb::changes(
            rebase::VERB,
            rebase::Request::check,
            Files::Move,
            |it, request| async move {
                let how = going_on(request.action);
                let (git, dir) = (it.workspace.repo().git(), it.workspace.path());
                let start = rebase::start(git, dir, it.workspace.branch(), &request);
                outcome(&it, (Operation::Rebase, how), start, request.verbosity).await
            },
        ),
        Verb::changes(
            cherry_pick::VERB,
            cherry_pick::Request::check,
            Files::Move,
            |it, request| async move {
                let how = going_on(request.action);
                let start =
                    cherry_pick::start(it.workspace.repo().git(), it.workspace.path(), &request);
                outcome(&it, (Operation::CherryPick, how), start, request.verbosity).await
            },
        ),
        Verb::changes(
            revert::VERB,
            revert::Request::check,
            Files::Move,
            |it, request| async move {
                let how = going_on(request.action);
                let start = revert::start(it.workspace.repo().git(), it.workspace.path(), &request);
                outcome(&it, (Operation::Revert, how), start, request.verbosity).await
            },
        ),
        Verb::changes(
            resolve::VERB,
            |request: &resolve::Request| request.chosen().map(drop),
            Files::Move,
            |it, request| async move { verbs::resolve(&it.workspace, request, it.by, &it.report).await },
        ),
    ]
}

fn going_on(action: PickAction) -> Option<GoOn> {
    match action {
        PickAction::Start => None,
        PickAction::Continue => Some(GoOn::Continue(None)),
        PickAction::Skip => Some(GoOn::Skip),
        PickAction::Abort => Some(GoOn::Abort),
    }
}

/// Starts an operation, or goes on with the one that is under way, and tells where that ended.
async fn outcome(
    it: &ChangeContext,
    (operation, going_on): (Operation, Option<GoOn>),
    start: impl Future<Output = Result<(Origin, Ended), git::Error>>,
    verbosity: Verbosity,
) -> Result<IntegrationOutcome, Error> {
    let (origin, ended) = match going_on {
        Some(how) => verbs::go_on(&it.workspace, operation, how, it.by.clone(), &it.report).await?,
        None => start.await?,
    };
    let read =
        move |_: &_, repo: &_| Ok(IntegrationOutcome::read(repo, &origin, ended, verbosity)?);
    it.workspace.with_repository(read).await
}
