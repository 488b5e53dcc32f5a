//! Resolving conflicts in a workspace. The caller holds the workspace's lock and its files.

use std::sync::Arc;

use super::super::salvage::tell;
use super::super::{Error, Reporter, Workspace};
use crate::{reset, verbs};
use branchyard_git::verbs::resolve::{Plan, Request, Resolved};
use branchyard_model::SalvageReason;
use branchyard_runtime::disk::Moment;

/// Writes and stages what was chosen. Where that overwrites what somebody edited, all is saved first.
pub async fn resolve(
    workspace: &Arc<Workspace>,
    request: Request,
    by: String,
    report: &Reporter,
) -> Result<Resolved, Error> {
    let verbosity = request.verbosity;
    let resolved = match request.chosen()? {
        None => Vec::new(),
        Some(chosen) => {
            let looked_at = Moment::now();
            let planned = workspace.with_repository(move |this, repo| {
                let named = match request.all {
                    Some(_) => None,
                    None => Some(verbs::inside(this, "paths", &request.paths)?),
                };
                let allow_markers = request.allow_markers;
                let plan = Plan::new(repo, named.as_deref(), &chosen, allow_markers)?;
                let discards = plan.discards_edits(repo)?;
                let save = || verbs::operation::save(this, repo, SalvageReason::Resolve, &by);
                let saved = discards.then(save).transpose()?;
                reset::set_aside(this, &plan.replaced(this.path())?, looked_at)?;
                Ok((plan, saved))
            });
            let (plan, saved) = planned.await?;
            tell(report, saved.as_ref());
            plan.carry_out(workspace.repo().git(), workspace.path())
                .await?;
            plan.paths()
        }
    };
    workspace
        .with_repository(move |_, repo| Ok(Resolved::read(repo, resolved, verbosity)?))
        .await
}
