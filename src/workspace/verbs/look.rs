//! Status and diff of a workspace: in-process where it has few files, with the command's help where it
//! has many. The caller stands on the floor.

use std::sync::Arc;

use crate::git::verbs::diff::{self, Comparison, Differences};
use crate::git::verbs::large::{self, Against, Suspects};
use crate::git::verbs::status::{self, Found, Status};
use crate::model::About;
use crate::workspace::{Error, Workspace};

/// How it is known which files to compare.
enum Narrowing {
    None,
    ByCommand(Against),
    /// Nothing was touched, so there is none.
    ToNothing,
}

impl Workspace {
    pub async fn status(
        self: &Arc<Self>,
        request: status::Request,
    ) -> Result<(About, Status), Error> {
        let asked = request.clone();
        let (paths, by_command) = self
            .with_repository(move |this, repo| {
                let paths = this.inside("paths", &asked.paths)?;
                Ok((paths, asked.ignored || large::is_large(repo)))
            })
            .await?;
        let found = match by_command {
            true => {
                let (git, dir) = (self.repo.git(), self.path());
                Some(Found::ask(git, dir, &paths, &request).await?)
            }
            false => None,
        };
        self.blocking(move |this| {
            let repo = this.worktree.open()?;
            let branch = &this.branch;
            let status = match found {
                Some(found) => status::status_of(&repo, branch, &paths, &request, found)?,
                None => status::status(&repo, branch, &paths, &request)?,
            };
            // A look at some of the files says nothing of the others.
            let dirty = Some(status.is_dirty()).filter(|dirty| *dirty || paths.is_empty());
            Ok((this.standing(&repo, dirty)?, status))
        })
        .await
    }

    pub async fn diff(
        self: &Arc<Self>,
        request: diff::Request,
    ) -> Result<(About, Differences), Error> {
        let asked = request.clone();
        let (paths, narrowing) = self
            .with_repository(move |this, repo| {
                let paths = this.inside("paths", &asked.paths)?;
                let against = match asked.include_untracked {
                    true => None,
                    false => Comparison::resolve(repo, &asked)?.against(),
                };
                let narrowing = match against {
                    Some(against) if against.is_untouched(repo) => Narrowing::ToNothing,
                    Some(against) if large::is_large(repo) => Narrowing::ByCommand(against),
                    _ => Narrowing::None,
                };
                Ok((paths, narrowing))
            })
            .await?;
        let suspects = match narrowing {
            Narrowing::ToNothing => Some(Suspects::default()),
            Narrowing::ByCommand(against) => {
                let (git, dir) = (self.repo.git(), self.path());
                Some(Suspects::ask(git, dir, against, &paths).await?)
            }
            Narrowing::None => None,
        };
        self.look(move |_, repo| {
            let comparison = Comparison::resolve(repo, &request)?;
            let paths = match &suspects {
                None => Some(&paths),
                Some(suspects) if suspects.paths.is_empty() => None,
                Some(suspects) => {
                    suspects.stand_for_index(repo)?;
                    Some(&suspects.paths)
                }
            };
            Ok(comparison.differences(repo, paths.map(Vec::as_slice), &request)?)
        })
        .await
    }
}
