//! Looks at history for which the command is asked, too. Callers shares the files.

use std::io::{Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use branchyard_git::Repository;

use crate::repos::remote;
use crate::{Error, Workspace, files, verbs};
use branchyard_git::verbs::blame::{self, Blame, Question, Subject};
use branchyard_git::verbs::log::{self, Log, Query};
use branchyard_git::verbs::merge_preview::{self, MergePreview};
use branchyard_model::About;

pub async fn log(workspace: &Arc<Workspace>, query: Query) -> Result<(About, Log), Error> {
    if !query.needs_list() {
        return verbs::look(workspace, move |_, repo| Ok(log::log(repo, &query)?)).await;
    }
    let asked = query.clone();
    let ends = workspace.with_repository(move |this, repo| {
        Ok((asked.ends(repo)?, one_inside(this, asked.path())?))
    });
    let (ends, path) = ends.await?;
    let (git, store) = (workspace.repo().git(), workspace.repo().store().path());
    let listed = log::list(git, store, &ends, &query, path.as_deref()).await?;
    verbs::look(workspace, move |_, repo| {
        Ok(log::log_of(repo, &query, listed, path.as_deref())?)
    })
    .await
}

pub async fn blame(
    workspace: &Arc<Workspace>,
    request: blame::Request,
) -> Result<(About, Blame), Error> {
    let (about, question) =
        verbs::look(workspace, move |this, repo| question(this, repo, request)).await?;
    let blame = blame::blame(workspace.repo().git(), workspace.path(), question).await?;
    Ok((about, blame))
}

fn question(
    workspace: &Workspace,
    repo: &Repository,
    request: blame::Request,
) -> Result<Question, Error> {
    let path = one_inside(workspace, Some(&request.path))?.unwrap_or_default();
    let (subject, total_lines) = match &request.revision {
        Some(named) => {
            let (commit, lines) = blame::committed(repo, named, &path)?;
            (Subject::Committed(commit), lines)
        }
        None => {
            let mut file = files::regular::open_unfollowed(workspace, &path)?;
            blame::check_tracked(repo, &path)?;
            let mut content = Vec::new();
            file.read_to_end(&mut content)
                .and_then(|_| file.rewind())
                .map_err(Error::io("read a file"))?;
            (Subject::Now(file), blame::lines(&content))
        }
    };
    Ok(Question {
        path,
        subject,
        total_lines,
        request,
    })
}

pub async fn merge_preview(
    workspace: &Arc<Workspace>,
    request: merge_preview::Request,
) -> Result<(About, MergePreview), Error> {
    let (default, verbosity) = (workspace.repo().default_branch(), request.verbosity);
    let (about, pair) = verbs::look(workspace, move |_, repo| {
        Ok(merge_preview::pair(repo, &request, default.as_deref())?)
    })
    .await?;
    let git = workspace.repo().git();
    let preview =
        merge_preview::preview(git, workspace.repo().store().path(), pair, verbosity).await?;
    Ok((about, preview))
}

/// Brings the branches that a preview is about to where the remote has them. A name that is no branch
/// there may still be one here, or a tag. Nobody needs to hold the files.
pub async fn bring_for(
    workspace: &Workspace,
    request: &merge_preview::Request,
) -> Result<(), Error> {
    let asked_at = Instant::now();
    let default = workspace.repo().default_branch();
    for branch in request.branches_to_fetch(default.as_deref()) {
        let asked = remote::ask(workspace.repo(), &branch, asked_at).await?;
        remote::bring(workspace.repo(), &branch, &asked, &|_, _| {}).await?;
    }
    Ok(())
}

/// The path in the field `path`.
fn one_inside(workspace: &Workspace, path: Option<&str>) -> Result<Option<PathBuf>, Error> {
    let given: Vec<String> = path.into_iter().map(str::to_owned).collect();
    Ok(verbs::inside(workspace, "path", &given)?.pop())
}
