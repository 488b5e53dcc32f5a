//! Resolving conflicts in a workspace. The caller holds the workspace's lock and its files.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::salvage::tell;
use super::super::{Error, Reporter, Workspace};
use branchyard_git::verbs::resolve::{Plan, Request, Resolved};
use branchyard_model::SalvageReason;
use branchyard_runtime::disk::Moment;

impl Workspace {
    /// Writes and stages what was chosen. Where that overwrites what somebody edited, all is saved first.
    pub async fn resolve(
        self: &Arc<Self>,
        request: Request,
        by: String,
        report: &Reporter,
    ) -> Result<Resolved, Error> {
        let verbosity = request.verbosity;
        let resolved = match request.chosen()? {
            None => Vec::new(),
            Some(chosen) => {
                let looked_at = Moment::now();
                let planned = self.with_repository(move |this, repo| {
                    let named = this.conflicted_paths(&request)?;
                    let allow_markers = request.allow_markers;
                    let plan = Plan::new(repo, named.as_deref(), &chosen, allow_markers)?;
                    let saved = match plan.discards_edits(repo)? {
                        true => Some(this.save(repo, SalvageReason::Resolve, &by)?),
                        false => None,
                    };
                    this.set_aside(&plan.replaced(this.path())?, looked_at)?;
                    Ok((plan, saved))
                });
                let (plan, saved) = planned.await?;
                if let Some(salvage) = &saved {
                    tell(report, salvage);
                }
                plan.carry_out(self.repo.git(), self.path()).await?;
                plan.paths()
            }
        };
        self.with_repository(move |_, repo| Ok(Resolved::read(repo, resolved, verbosity)?))
            .await
    }

    fn conflicted_paths(&self, request: &Request) -> Result<Option<Vec<PathBuf>>, Error> {
        match request.all {
            Some(_) => Ok(None),
            None => Ok(Some(self.inside("paths", &request.paths)?)),
        }
    }
}
