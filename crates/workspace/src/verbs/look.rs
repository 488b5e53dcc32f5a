//! Status and diff of a workspace: in-process where it has few files, with the command's help where it
//! has many. The caller shares the files.

use std::sync::Arc;

use crate::verbs::begun;
use crate::{Error, Workspace, standing, verbs};
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

/// What a status needs besides a first look.
enum Need {
    Nothing(Box<(About, Status)>),
    Look,
    Command,
}

pub async fn status(
    workspace: &Arc<Workspace>,
    request: status::Request,
) -> Result<(About, Status), Error> {
    let asked = request.clone();
    let (paths, need) = verbs::look_at_repository(workspace, move |this, repo| {
        let paths = verbs::inside(this, "paths", &asked.paths)?;
        let status = match (asked.is_usual(), asked.untracked) {
            (true, true) => this.scanner().all(repo)?,
            (true, false) => this.scanner().tracked(repo)?,
            (false, _) => Arc::new(None),
        };
        let status = match status.as_ref() {
            Some(status) => status::status_at_a_glance(repo, this.branch(), &asked, status)?,
            None => None,
        };
        let need = match status {
            Some(mut status) => {
                begun::tell(this, repo, &mut status);
                let about = standing::standing(this, repo, Some(!status.clean))?;
                Need::Nothing(Box::new((about, status)))
            }
            None if asked.ignored || suspects::is_large(repo) => Need::Command,
            None => Need::Look,
        };
        Ok((paths, need))
    })
    .await?;
    let found = match need {
        Need::Nothing(answer) => return Ok(*answer),
        Need::Command => {
            let (git, dir) = (workspace.repo().git(), workspace.path());
            Some(Found::ask(git, dir, &paths, &request).await?)
        }
        Need::Look => None,
    };
    workspace
        .looking(move |this| {
            let repo = this.worktree().open()?;
            let branch = &this.branch();
            let mut status = match found {
                Some(found) => status::status_of(&repo, branch, &paths, &request, found)?,
                None => status::status(&repo, branch, &paths, &request)?,
            };
            begun::tell(this, &repo, &mut status);
            // A look at some of the files says nothing of the others.
            let dirty = Some(!status.clean).filter(|dirty| *dirty || paths.is_empty());
            Ok((standing::standing(this, &repo, dirty)?, status))
        })
        .await
}

pub async fn diff(
    workspace: &Arc<Workspace>,
    request: diff::Request,
) -> Result<(About, Differences), Error> {
    let asked = request.clone();
    let (paths, narrowing) = verbs::look_at_repository(workspace, move |this, repo| {
        let paths = verbs::inside(this, "paths", &asked.paths)?;
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
    verbs::look(workspace, move |_, repo| {
        let comparison = Comparison::resolve(repo, &request)?;
        let paths = match &suspects {
            None => Some(&paths[..]),
            Some(suspects) if suspects.paths().is_empty() => None,
            Some(suspects) => {
                suspects.stand_for_index(repo)?;
                Some(suspects.paths())
            }
        };
        Ok(comparison.differences(repo, paths, &request)?)
    })
    .await
}
