//! What goes into a push: whether it can be done now, the commit that is made first, and what it brings.

use crate::verbs::upstream;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Error, Reporter, Workspace, left_out, standing, verbs};
use branchyard_git as git;
use branchyard_git::verbs::operation::Operation;
use branchyard_git::verbs::push::{self, Pushed, Request, State};
use branchyard_git::verbs::secretive::suspicion;
use branchyard_git::verbs::withheld::{self, Withheld};
use branchyard_git::verbs::{Verbosity, add, commit, conflicted, unresolved};
use branchyard_git::{Repository, object_id};
use branchyard_model::{CommitId, ErrorKind, Problem, TagName};

/// Refuses while something is under way: HEAD of a rebase is not what the branch is going to be, and
/// on an agent's branch it would replace what the remote has. What a commit ends may be ended by it.
pub(in crate::verbs) async fn check_can_push(
    workspace: &Arc<Workspace>,
    commits_first: bool,
) -> Result<(), Error> {
    workspace
        .with_repository(move |this, repo| {
            standing::check_head(this, repo, &git::head(repo)?)?;
            let Some(operation) = Operation::under_way(repo)? else {
                return Ok(());
            };
            // Staged with the rest, they would count as resolved.
            let open = conflicted(repo)?;
            if !open.is_empty() {
                return Err(unresolved(&open).into());
            }
            let ends_with_commit = matches!(
                operation,
                Operation::Merge | Operation::CherryPick | Operation::Revert
            );
            match commits_first && ends_with_commit {
                true => Ok(()),
                false => Err(operation.in_the_way().into()),
            }
        })
        .await
}

pub(super) async fn would_push(
    workspace: &Arc<Workspace>,
    request: &Request,
    report: &Reporter,
) -> Result<Pushed, Error> {
    let remote = upstream::learn(workspace, report).await?;
    let withheld = match request.message.is_some() && request.paths.is_empty() {
        true => {
            let everything = workspace.with_repository(everything);
            everything.await?.1
        }
        false => Vec::new(),
    };
    let (withheld, withheld_in_all) = withheld::listed(withheld);
    let mut pushed = Pushed {
        state: State::DryRun,
        standing: Some(verbs::push::stands_to(workspace, remote.as_ref()).await?),
        remote_commit: remote.clone(),
        withheld,
        withheld_in_all,
        ..Pushed::default()
    };
    tell_outgoing(workspace, request, remote, &mut pushed).await?;
    Ok(pushed)
}

/// Notes the commits that the remote lacks, if they are to be told.
pub(super) async fn tell_outgoing(
    workspace: &Arc<Workspace>,
    request: &Request,
    remote: Option<CommitId>,
    pushed: &mut Pushed,
) -> Result<(), Error> {
    if request.verbosity == Verbosity::Minimal {
        return Ok(());
    }
    let remote = remote.as_ref().map(object_id).transpose()?;
    let outgoing = workspace.with_repository(move |_, repo| {
        let local = git::head(repo)?.commit;
        Ok(push::outgoing(repo, local, remote)?)
    });
    let (outgoing, in_all) = outgoing.await?;
    (pushed.outgoing, pushed.outgoing_in_all) = (Some(outgoing), in_all);
    Ok(())
}

/// Stages what was asked for and commits it, if there is anything.
pub(super) async fn commit_for_push(
    workspace: &Arc<Workspace>,
    request: &Request,
    pushed: &mut Pushed,
    report: &Reporter,
) -> Result<(), Error> {
    let _files = workspace.share_files().await;
    if request.paths.is_empty() {
        let (plan, withheld) = workspace
            .with_repository(|this, repo| {
                let (paths, withheld) = everything(this, repo)?;
                let request = add::Request::default();
                let plan = add::AddPlan::new(repo, &request, paths, Vec::new())?;
                Ok((plan, withheld))
            })
            .await?;
        (pushed.withheld, pushed.withheld_in_all) = withheld::listed(withheld);
        add::add(workspace.repo().git(), workspace.path(), &plan).await?;
    }
    match verbs::commit(workspace, request.commit(), report).await {
        Ok(committed) => pushed.committed = Some(committed.id),
        // Then there is only something to push.
        Err(error) if error.problem().code == commit::NOTHING => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Every file that changed and is not ignored, and the new ones that are left out: those that look like
/// secrets, and what the yard holds to be build output.
pub(in crate::verbs) fn everything(
    workspace: &Workspace,
    repo: &Repository,
) -> Result<(Vec<PathBuf>, Vec<Withheld>), Error> {
    let modules = git::submodules(repo)?;
    let is_file = |path: &PathBuf| !modules.contains(path);
    let mut paths: Vec<_> = git::changed_files(repo)?
        .into_iter()
        .filter(is_file)
        .collect();
    let left_out = left_out::left_out(workspace, repo)?;
    let mut withheld = Vec::new();
    for path in git::Untracked::in_worktree(repo, true)?.paths {
        if left_out.covers(&path) {
            continue;
        }
        match suspicion(workspace.path(), &path) {
            Some(why) => withheld.push(Withheld {
                path: path.to_string_lossy().into_owned(),
                why,
            }),
            None => paths.push(path),
        }
    }
    withheld.extend(left_out.withheld);
    paths.sort();
    Ok((paths, withheld))
}

/// Refuses tags that are not here, before anything is done.
pub(super) async fn check_tags(workspace: &Arc<Workspace>, tags: &[String]) -> Result<(), Error> {
    let tags = tags.to_vec();
    workspace
        .with_repository(move |_, repo| {
            for tag in tags {
                let name = TagName::parse(&tag).map_err(|problem| problem.field("tags"))?;
                if git::read_ref(repo, &name.full())?.is_none() {
                    let detail = format!("there is no tag named {tag:?}");
                    return Err(Problem::new(ErrorKind::NotFound, "tag_not_found", detail)
                        .field("tags")
                        .help("git_tag lists them, and makes one")
                        .into());
                }
            }
            Ok(())
        })
        .await
}
