//! Scanner at history for which the command is asked, too. Callers shares the files.

use std::io::{Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use git2::Repository;

use crate::{Error, Workspace};
use branchyard_git::verbs::blame::{self, Blame, Question, Subject};
use branchyard_git::verbs::log::{self, Log, Query};
use branchyard_git::verbs::merge_preview::{self, MergePreview};
use branchyard_model::About;

impl Workspace {
    pub async fn log(self: &Arc<Self>, query: Query) -> Result<(About, Log), Error> {
        if !query.follows() {
            let log = move |this: &Self, repo: &Repository| {
                let path = this.one_inside(query.path())?;
                Ok(log::log(repo, &query, path.as_deref())?)
            };
            return self.look(log).await;
        }
        let asked = query.clone();
        let ends = self.with_repository(move |this, repo| {
            Ok((asked.ends(repo)?, this.one_inside(asked.path())?))
        });
        let (ends, path) = ends.await?;
        let path = path.unwrap_or_default();
        let git = self.repo.git();
        let followed =
            log::follow(git, self.repo.store().path(), &ends, query.bounds(), &path).await?;
        self.look(move |_, repo| Ok(log::log_of(repo, &query, followed)?))
            .await
    }

    pub async fn blame(self: &Arc<Self>, request: blame::Request) -> Result<(About, Blame), Error> {
        let (about, question) = self
            .look(move |this, repo| this.question(repo, request))
            .await?;
        let blame = blame::blame(self.repo.git(), self.path(), question).await?;
        Ok((about, blame))
    }

    fn question(&self, repo: &Repository, request: blame::Request) -> Result<Question, Error> {
        let path = self.one_inside(Some(&request.path))?.unwrap_or_default();
        let (subject, total_lines) = match &request.revision {
            Some(named) => {
                let (commit, lines) = blame::committed(repo, named, &path)?;
                (Subject::Committed(commit), lines)
            }
            None => {
                let mut file = self.open_unfollowed(&path)?;
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
        self: &Arc<Self>,
        request: merge_preview::Request,
    ) -> Result<(About, MergePreview), Error> {
        let (default, verbosity) = (self.repo.default_branch(), request.verbosity);
        let (about, pair) = self
            .look(move |_, repo| Ok(merge_preview::pair(repo, &request, default.as_deref())?))
            .await?;
        let git = self.repo.git();
        let preview =
            merge_preview::preview(git, self.repo.store().path(), pair, verbosity).await?;
        Ok((about, preview))
    }

    /// Brings the branches that a preview is about to where the remote has them. A name that is no branch
    /// there may still be one here, or a tag. Nobody needs to hold the files.
    pub async fn bring_for(&self, request: &merge_preview::Request) -> Result<(), Error> {
        let asked_at = Instant::now();
        let default = self.repo.default_branch();
        for branch in request.branches_to_fetch(default.as_deref()) {
            let asked = self.repo.ask(&branch, asked_at).await?;
            self.repo.bring(&branch, &asked, &|_, _| {}).await?;
        }
        Ok(())
    }

    /// The path in the field `path`.
    fn one_inside(&self, path: Option<&str>) -> Result<Option<PathBuf>, Error> {
        let given: Vec<String> = path.into_iter().map(str::to_owned).collect();
        Ok(self.inside("path", &given)?.pop())
    }
}
