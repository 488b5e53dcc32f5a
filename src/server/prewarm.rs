//! Branches that the operator wants ready are prepared in the background at start.

use std::time::Instant;

use tokio_util::sync::CancellationToken;

use std::sync::Arc;

use crate::app::Parts;
use branchyard_workspace::{PrepareOptions, silent, sync};

pub(super) fn start(yard: &Arc<Parts>, closing: &CancellationToken) {
    for repo in yard.repos.list() {
        for branch in repo.config().prewarm.clone() {
            let workspace = yard.workspaces.get(&repo, &branch);
            let (closing, margin) = (closing.clone(), yard.margin.clone());
            yard.tasks.spawn(async move {
                let prepare = async {
                    margin.check()?;
                    let _lock = workspace.queue().lock("prewarm", "daemon").await;
                    let options = PrepareOptions::up_to_date("daemon", Instant::now());
                    sync::prepare(&workspace, &options, &silent()).await.map(drop)
                };
                let outcome = tokio::select! {
                    outcome = prepare => outcome,
                    () = closing.cancelled() => return,
                };
                match outcome {
                    Ok(()) => tracing::info!(repo = %workspace.repo().name(), %branch, "prewarmed"),
                    Err(error) => tracing::warn!(repo = %workspace.repo().name(), %branch, %error, "failed to prewarm"),
                }
            });
        }
    }
}
