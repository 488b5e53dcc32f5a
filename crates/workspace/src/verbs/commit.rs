//! Staging and committing in a workspace.

use std::path::Path;
use std::sync::Arc;

use branchyard_git::{ObjectId, Repository};

use super::in_gits_words;
use super::submodule::tell_left_out;
use crate::left_out::LeftOut;
use crate::{Error, Report, Reporter, Workspace, included, left_out, verbs};
use branchyard_git as git;
use branchyard_git::verbs::add::{self, AddPlan, Added};
use branchyard_git::verbs::commit::{self, Committed};
use branchyard_git::verbs::withheld::Withheld;
use branchyard_git::verbs::{Named, conflicted, few, operation_under_way, unresolved};
use branchyard_model::Warning;

/// Stages what was asked for. The caller holds the workspace and its files, as for all that follows.
pub async fn stage(
    workspace: &Arc<Workspace>,
    request: add::Request,
    report: &Reporter,
) -> Result<Added, Error> {
    let verbosity = request.verbosity;
    tell_left_out(workspace, report).await?;
    let (plan, withheld) = stage_only(workspace, request).await?;
    workspace
        .with_repository(move |_, repo| {
            Ok(Added::of(
                repo,
                verbosity,
                plan.ignored().to_owned(),
                withheld,
            )?)
        })
        .await
}

async fn stage_only(
    workspace: &Arc<Workspace>,
    request: add::Request,
) -> Result<(AddPlan, Vec<Withheld>), Error> {
    let (plan, withheld) = workspace
        .with_repository(move |this, repo| {
            let paths = verbs::inside(this, "paths", &request.paths)?;
            let left_out = match request.is_everything(&paths) {
                true => left_out::left_out(this, repo)?.but(&paths),
                false => {
                    let named = Named::new(paths.clone());
                    included::check_staged(this, repo, &named, request.force)?;
                    LeftOut::default()
                }
            };
            let out = left_out.paths.into_iter().collect();
            let plan = AddPlan::new(repo, &request, paths, out)?;
            Ok((plan, left_out.withheld))
        })
        .await?;
    let staged = add::add(workspace.repo().git(), workspace.path(), &plan).await;
    staged.map_err(in_gits_words)?;
    Ok((plan, withheld))
}

/// Stages what was named and commits what is staged.
pub async fn commit(
    workspace: &Arc<Workspace>,
    request: commit::Request,
    report: &Reporter,
) -> Result<Committed, Error> {
    let signs = workspace.repo().git().is_to_sign(request.sign)?;
    let (asked, tell) = (request.clone(), report.clone());
    let amended = workspace
        .with_repository(move |this, repo| before_commit(this, repo, &asked, &tell))
        .await?;
    if request.all {
        let tracked = add::Request {
            update: true,
            ..add::Request::default()
        };
        stage_only(workspace, tracked).await?;
    }
    if !request.paths.is_empty() {
        let named = add::Request {
            paths: request.paths.clone(),
            ..add::Request::default()
        };
        stage_named(workspace, named, report).await?;
    }
    let asked = request.clone();
    workspace
        .with_repository(move |_, repo| Ok(commit::check_content(repo, &asked)?))
        .await?;
    tell_left_out(workspace, report).await?;
    if signs {
        // Whether it can be signed is found out while nothing has changed yet.
        signed_head(workspace).await?;
    }
    let done = commit::commit(workspace.repo().git(), workspace.path(), &request).await;
    done.map_err(in_gits_words)?;
    if signs {
        let (made, signed) = signed_head(workspace).await?;
        commit::replace(workspace.repo().git(), workspace.path(), made, signed).await?;
    }
    workspace
        .with_repository(move |_, repo| Ok(Committed::of(repo, request.verbosity, amended)?))
        .await
}

/// HEAD's commit, and the same commit with a signature.
async fn signed_head(workspace: &Arc<Workspace>) -> Result<(ObjectId, ObjectId), Error> {
    let head = workspace
        .with_repository(|_, repo| Ok(git::head(repo)?.commit))
        .await?;
    let signed = git::signed(
        workspace.repo().git(),
        workspace.repo().store().path(),
        head,
    )
    .await?;
    Ok((head, signed))
}

async fn stage_named(
    workspace: &Arc<Workspace>,
    named: add::Request,
    report: &Reporter,
) -> Result<(), Error> {
    let (plan, withheld) = stage_only(workspace, named).await?;
    if !withheld.is_empty() {
        let names: Vec<_> = withheld.into_iter().map(|withheld| withheld.path).collect();
        report(Report::Warning(Warning::new(
            "build_output_left_out",
            format!(
                "not committed, for it looks like build output: {}; name it in `paths` to commit it",
                few(&names)
            ),
        )));
    }
    if !plan.ignored().is_empty() {
        let left_out = plan.ignored().join(", ");
        report(Report::Warning(Warning::new(
            "ignored_left_out",
            format!("not committed, for an ignore rule covers them: {left_out}"),
        )));
    }
    Ok(())
}

/// Refuses where a commit makes no sense now. Returns the commit that it replaces, if any.
fn before_commit(
    workspace: &Workspace,
    repo: &Repository,
    request: &commit::Request,
    report: &Reporter,
) -> Result<Option<ObjectId>, Error> {
    let head = git::head(repo)?;
    match head.operation {
        Some("merge" | "cherry-pick" | "revert") if !request.amend => {}
        Some(operation) => return Err(operation_under_way(operation).into()),
        None => {}
    }
    let named = Named::new(verbs::inside(workspace, "paths", &request.paths)?);
    // Files with conflicts are taken for resolved only where they are named.
    let open: Vec<_> = conflicted(repo)?
        .into_iter()
        .filter(|file| named.is_empty() || !named.covers(Path::new(file)))
        .collect();
    if !open.is_empty() {
        return Err(unresolved(&open).into());
    }
    if !request.amend {
        return Ok(None);
    }
    if git::is_published(repo, head.commit)? {
        report(Report::Warning(Warning::new(
            "rewrites_published",
            format!(
                "the remote has {} already: others may have built on it, and a push has to replace it",
                head.commit
            ),
        )));
    }
    Ok(Some(head.commit))
}
