//! Branches: each has a workspace, so most of it is about other workspaces than that of the call.

use std::sync::Arc;

use branchyard_git::Repository;

use super::run_verb::{At, VerbOutput};
use crate::app::branches::collecting;
use crate::app::verbs::{network, run_verb};
use crate::app::{AuthorizedApp, branches, workspace_lock};
use branchyard_git as git;
use branchyard_git::verbs::branch::{self, Action, Branches, Request, Surroundings};
use branchyard_git::verbs::{Kept, revision};
use branchyard_model::{BranchName, ErrorKind, Problem};
use branchyard_workspace::{Error, Workspace, WorkspaceLock, verbs};

pub(super) async fn branch(
    app: AuthorizedApp,
    at: At,
    request: Request,
) -> Result<VerbOutput<Branches>, Problem> {
    request.check()?;
    match request.action {
        Action::List => {
            let around = around(&app, &at)?;
            run_verb::look(&app, &at, move |_, repo| {
                Ok(branch::list(repo, &request, &around)?)
            })
            .await
        }
        Action::Show => {
            let name = request.name.as_deref().unwrap_or(at.branch.as_str());
            let name = Request::branch("name", Some(name))?;
            known_branch(&app, &at, name, &request).await
        }
        Action::Create => create(app, at, request).await,
        Action::Rename => rename(app, at, request).await,
        Action::Delete => delete(app, at, request).await,
    }
}

async fn create(
    app: AuthorizedApp,
    at: At,
    request: Request,
) -> Result<VerbOutput<Branches>, Problem> {
    let name = Request::branch("name", request.name.as_deref())?;
    let from = request.from.clone();
    let start = run_verb::look(&app, &at, move |_, repo| start(repo, from.as_deref())).await?;
    let made = branches::prepare(&app, &at.repo, &name, Some(&start.answer)).await;
    let (made, warnings) = made.map_err(|problem| match problem.code.as_str() {
        "branch_exists" => problem
            .field("name")
            .help("choose another name; `workspace` with action prepare gives the workspace of the one that exists"),
        _ => problem,
    })?;
    let mut told = known_branch(&app, &at, name, &request).await?;
    told.warnings.extend(warnings);
    told.answer.path = made.path.map(|path| path.to_string_lossy().into_owned());
    Ok(told)
}

/// Where a new branch starts: a commit, or the name of a branch that the remote is to be asked about.
fn start(repo: &Repository, from: Option<&str>) -> Result<String, Error> {
    let Some(from) = from else {
        return Ok(git::head(repo)?.commit.to_string());
    };
    if let Ok(branch) = BranchName::parse(from) {
        let (local, remote) = (
            git::read_ref(repo, &branch.local_ref())?,
            git::read_ref(repo, &branch.remote_ref())?,
        );
        match (local, remote) {
            // Commits that only we have are part of the branch.
            (Some(local), Some(remote)) => {
                return Ok(match git::is_ahead(repo, local, remote)? {
                    true => local.to_string(),
                    false => from.to_owned(),
                });
            }
            (Some(local), None) => return Ok(local.to_string()),
            (None, Some(_)) => return Ok(from.to_owned()),
            (None, None) => {}
        }
    }
    match revision::commit_id(repo, "from", from) {
        Ok(commit) => Ok(commit.to_string()),
        // It may be a branch that nobody has fetched yet.
        Err(error) if error.problem().kind == ErrorKind::NotFound => Ok(from.to_owned()),
        Err(error) => Err(error.into()),
    }
}

/// Deletes a branch here, and on the remote if that is asked for.
async fn delete(
    app: AuthorizedApp,
    at: At,
    request: Request,
) -> Result<VerbOutput<Branches>, Problem> {
    let name = Request::branch("name", request.name.as_deref())?;
    let going = At {
        branch: name.clone(),
        ..at.clone()
    };
    network::check_protected(&app, &going, "deleted", request.allow_protected).await?;
    // Looked at before, for it may be the very branch of the call that goes.
    let mut told = known_branch(&app, &at, name.clone(), &request).await?;
    let workspace = app.workspace(&at.repo, &name)?;
    let by = app.principal().name();
    let _lock = workspace_lock::lock_of(&app, &workspace, "git branch").await?;
    // What makes room must not need any.
    app.yard().margin.make_do();
    let (report, warnings) = collecting();
    let refused = |error: Error| app.judge(error);
    // Before anything goes here.
    let there = match request.remote {
        true => verbs::merged_on_remote(&workspace, &report).await,
        false => Ok(None),
    };
    let there = there.map_err(refused)?;
    let deleted = verbs::delete_branch(&workspace, request.force, by, &report).await;
    let kept = deleted.map_err(refused)?;
    if let Some(there) = there {
        let deleted = verbs::delete_on_remote(&workspace, &there).await;
        deleted.map_err(refused)?;
        told.answer.remote_was = Some(there);
    }
    told.warnings.extend(warnings.so_far());
    told.answer.kept = kept.as_ref().map(Kept::from);
    Ok(told)
}

async fn rename(
    app: AuthorizedApp,
    at: At,
    request: Request,
) -> Result<VerbOutput<Branches>, Problem> {
    let old = request.name.as_deref().unwrap_or(at.branch.as_str());
    let old = Request::branch("name", Some(old))?;
    let name = Request::branch("new_name", request.new_name.as_deref())?;
    if old == name {
        let detail = "it has that name already";
        return Err(Problem::unprocessable("new_name", detail));
    }
    let going = At {
        branch: old.clone(),
        ..at.clone()
    };
    network::check_protected(&app, &going, "renamed", request.allow_protected).await?;
    let repo = app.repo(&at.repo)?;
    app.check(&at.repo, &name)?;
    app.check_unprotected(&repo, &name, "created").await?;
    known_branch(&app, &at, old.clone(), &request).await?;
    app.yard().margin.check()?;
    let from = app.workspace_in(&repo, &old)?;
    let to = app.workspace_in(&repo, &name)?;
    let turns = both_turns(&app, &from, &to).await?;
    let (report, warnings) = collecting();
    let renamed = verbs::rename_to(&from, &to, turns, app.principal().name(), &report).await;
    let kept = renamed.map_err(|error| app.judge(error))?;
    // Of the branch of the call nothing may be left.
    let at = At {
        branch: name.clone(),
        ..at
    };
    let mut told = known_branch(&app, &at, name, &request).await?;
    told.warnings.extend(warnings.so_far());
    told.answer.path = Some(to.path().to_string_lossy().into_owned());
    told.answer.kept = kept.as_ref().map(Kept::from);
    Ok(told)
}

/// Always in the same order, so that no two who want the same two wait for each other.
async fn both_turns(
    app: &AuthorizedApp,
    one: &Arc<Workspace>,
    other: &Arc<Workspace>,
) -> Result<[WorkspaceLock; 2], Problem> {
    let (first, second) = match one.branch() < other.branch() {
        true => (one, other),
        false => (other, one),
    };
    let first = workspace_lock::lock_of(app, first, "git branch").await?;
    let second = workspace_lock::lock_of(app, second, "git branch").await?;
    Ok([first, second])
}

fn around(app: &AuthorizedApp, at: &At) -> Result<Surroundings, Problem> {
    let on_disk = app.yard().workspaces.on_disk(&*app.repo(&at.repo)?);
    Ok(Surroundings {
        current: at.branch.clone(),
        workspaces: on_disk.iter().cloned().collect(),
    })
}

/// A branch that is here, as the answer to what was asked for.
async fn known_branch(
    app: &AuthorizedApp,
    at: &At,
    name: BranchName,
    request: &Request,
) -> Result<VerbOutput<Branches>, Problem> {
    let (around, verbosity, action) = (around(app, at)?, request.verbosity, request.action);
    run_verb::look(app, at, move |_, repo| {
        let item = Some(branch::show(repo, &name, &around, verbosity)?);
        let branches = Branches::of(action);
        Ok(Branches { item, ..branches })
    })
    .await
}
