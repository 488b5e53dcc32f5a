//! Staging and committing in a workspace.

use std::path::Path;
use std::sync::Arc;

use git2::{Oid, Repository};

use super::in_gits_words;
use crate::left_out::LeftOut;
use crate::{Error, Report, Reporter, Workspace};
use branchyard_git as git;
use branchyard_git::verbs::add::{self, AddPlan, Added};
use branchyard_git::verbs::commit::{self, Committed};
use branchyard_git::verbs::withheld::Withheld;
use branchyard_git::verbs::{Named, conflicted, few, operation_under_way, unresolved};
use branchyard_model::Warning;

impl Workspace {
    /// Stages what was asked for. The caller holds the workspace and its files, as for all that follows.
    pub async fn stage(self: &Arc<Self>, request: add::Request) -> Result<Added, Error> {
        let verbosity = request.verbosity;
        let (plan, withheld) = self.stage_only(request).await?;
        self.with_repository(move |_, repo| Ok(Added::of(repo, verbosity, plan.ignored, withheld)?))
            .await
    }

    async fn stage_only(
        self: &Arc<Self>,
        request: add::Request,
    ) -> Result<(AddPlan, Vec<Withheld>), Error> {
        let (plan, withheld) = self
            .with_repository(move |this, repo| {
                let paths = this.inside("paths", &request.paths)?;
                let left_out = match request.is_everything(&paths) {
                    true => this.left_out(repo)?.but(&paths),
                    false => LeftOut::default(),
                };
                let out = left_out.paths.into_iter().collect();
                let plan = AddPlan::new(repo, &request, paths, out)?;
                Ok((plan, left_out.withheld))
            })
            .await?;
        let staged = add::add(self.repo.git(), self.path(), &plan).await;
        staged.map_err(in_gits_words)?;
        Ok((plan, withheld))
    }

    /// Stages what was named and commits what is staged.
    pub async fn commit(
        self: &Arc<Self>,
        request: commit::Request,
        report: &Reporter,
    ) -> Result<Committed, Error> {
        let signs = self.repo.git().is_to_sign(request.sign)?;
        let (asked, tell) = (request.clone(), report.clone());
        let amended = self
            .with_repository(move |this, repo| this.before_commit(repo, &asked, &tell))
            .await?;
        if request.all {
            let tracked = add::Request {
                update: true,
                ..add::Request::default()
            };
            self.stage_only(tracked).await?;
        }
        if !request.paths.is_empty() {
            let named = add::Request {
                paths: request.paths.clone(),
                ..add::Request::default()
            };
            self.stage_named(named, report).await?;
        }
        let asked = request.clone();
        self.with_repository(move |_, repo| Ok(commit::check_content(repo, &asked)?))
            .await?;
        if signs {
            // Whether it can be signed is found out while nothing has changed yet.
            self.signed_head().await?;
        }
        let done = commit::commit(self.repo.git(), self.path(), &request).await;
        done.map_err(in_gits_words)?;
        if signs {
            let (made, signed) = self.signed_head().await?;
            commit::replace(self.repo.git(), self.path(), made, signed).await?;
        }
        self.with_repository(move |_, repo| Ok(Committed::of(repo, request.verbosity, amended)?))
            .await
    }

    /// HEAD's commit, and the same commit with a signature.
    async fn signed_head(self: &Arc<Self>) -> Result<(Oid, Oid), Error> {
        let head = self
            .with_repository(|_, repo| Ok(git::head(repo)?.commit))
            .await?;
        let signed = git::signed(self.repo.git(), self.repo.store().path(), head).await?;
        Ok((head, signed))
    }

    async fn stage_named(
        self: &Arc<Self>,
        named: add::Request,
        report: &Reporter,
    ) -> Result<(), Error> {
        let (plan, withheld) = self.stage_only(named).await?;
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
        if !plan.ignored.is_empty() {
            let left_out = plan.ignored.join(", ");
            report(Report::Warning(Warning::new(
                "ignored_left_out",
                format!("not committed, for an ignore rule covers them: {left_out}"),
            )));
        }
        Ok(())
    }

    /// Refuses where a commit makes no sense now. Returns the commit that it replaces, if any.
    fn before_commit(
        &self,
        repo: &Repository,
        request: &commit::Request,
        report: &Reporter,
    ) -> Result<Option<Oid>, Error> {
        let head = git::head(repo)?;
        match head.operation {
            Some("merge" | "cherry-pick" | "revert") if !request.amend => {}
            Some(operation) => return Err(operation_under_way(operation).into()),
            None => {}
        }
        let named = Named::new(self.inside("paths", &request.paths)?);
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
        if is_published(repo, head.commit)? {
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
}

/// Whether a branch of the remote, as last fetched, has this commit.
fn is_published(repo: &Repository, commit: Oid) -> Result<bool, git::Error> {
    let mut walk = repo.revwalk()?;
    walk.push(commit)?;
    walk.hide_glob("refs/remotes/*")?;
    Ok(walk.next().transpose()?.is_none())
}
