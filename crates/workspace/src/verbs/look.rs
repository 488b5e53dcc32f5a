//! Status and diff of a workspace: in-process where metadata tell which files differ, with the command's help where
//! they do not. The caller shares the files.

use std::path::PathBuf;
use std::sync::Arc;

use crate::verbs::begun;
use crate::verbs::submodule::changed;
use crate::{Error, Workspace, included, standing, verbs};
use branchyard_git::Repository;
use branchyard_git::verbs::diff::{self, Comparison, Differences};
use branchyard_git::verbs::status::{self, Found, Status};
use branchyard_git::verbs::suspects::{self, Against, Suspects};
use branchyard_model::About;

/// How it is known which files to compare.
enum Narrowing {
    None,
    ByCommand(Against),
    Known(Suspects),
}

pub async fn status(
    workspace: &Arc<Workspace>,
    request: status::Request,
) -> Result<(About, Status), Error> {
    let asked = request.clone();
    let (paths, known) = verbs::look_at_repository(workspace, move |this, repo| {
        let paths = verbs::inside(this, "paths", &asked.paths)?;
        // Ignored files git alone knows, and of many files it looks at those alone that are asked for.
        let is_usual = !asked.ignored && (paths.is_empty() || !suspects::is_large(repo));
        let scan = match (is_usual, asked.untracked) {
            (true, true) => this.scanner().all(repo)?,
            (true, false) => this.scanner().tracked(repo)?,
            (false, _) => Arc::new(None),
        };
        let status = match scan.as_ref() {
            Some(scan) => status::status_at_a_glance(repo, this.branch(), &paths, &asked, scan)?,
            None => None,
        };
        let known = status.map(|status| told(this, repo, &paths, status));
        Ok((paths, known.transpose()?))
    })
    .await?;
    if let Some(known) = known {
        return Ok(known);
    }
    let (git, dir) = (workspace.repo().git(), workspace.path());
    let found = Found::ask(git, dir, &paths, &request).await?;
    workspace
        .looking(move |this| {
            let repo = this.worktree().open()?;
            let status = status::status_of(&repo, this.branch(), &paths, &request, found)?;
            told(this, &repo, &paths, status)
        })
        .await
}

fn told(
    workspace: &Workspace,
    repo: &Repository,
    paths: &[PathBuf],
    mut status: Status,
) -> Result<(About, Status), Error> {
    begun::tell(workspace, repo, &mut status);
    status.submodules = changed(workspace)?;
    // A look at some of the files says nothing of the others.
    let dirty = Some(!status.clean).filter(|dirty| *dirty || paths.is_empty());
    Ok((standing::standing(workspace, repo, dirty)?, status))
}

pub async fn diff(
    workspace: &Arc<Workspace>,
    request: diff::Request,
) -> Result<(About, Differences), Error> {
    let asked = request.clone();
    let (paths, narrowing) = verbs::look_at_repository(workspace, move |this, repo| {
        let paths = verbs::inside(this, "paths", &asked.paths)?;
        if asked.include_untracked {
            included::check_untracked(this, repo)?;
        }
        let against = match asked.include_untracked {
            true => None,
            false => Comparison::resolve(repo, &asked)?.against(),
        };
        let suspects = match against {
            Some(against) => {
                let status = this.scanner().tracked(repo)?;
                let status = status.as_ref().as_ref();
                status.and_then(|status| Suspects::against(status, against))
            }
            None => None,
        };
        let narrowing = match (suspects, against) {
            (Some(suspects), _) => Narrowing::Known(suspects.within(&paths)),
            (None, Some(against)) if suspects::is_large(repo) => Narrowing::ByCommand(against),
            _ => Narrowing::None,
        };
        Ok((paths, narrowing))
    })
    .await?;
    let suspects = match narrowing {
        Narrowing::Known(suspects) => Some(suspects),
        Narrowing::ByCommand(against) => {
            let (git, dir) = (workspace.repo().git(), workspace.path());
            Some(Suspects::ask(git, dir, against, &paths).await?)
        }
        Narrowing::None => None,
    };
    verbs::look(workspace, move |this, repo| {
        let comparison = Comparison::resolve(repo, &request)?;
        let paths = match &suspects {
            None => Some(&paths[..]),
            Some(suspects) if suspects.paths().is_empty() => None,
            Some(suspects) => {
                suspects.stand_for_index(repo)?;
                Some(suspects.paths())
            }
        };
        let mut differences = comparison.differences(repo, paths, &request)?;
        if differences.new == diff::FILES {
            differences.submodules = changed(this)?;
        }
        Ok(differences)
    })
    .await
}
