//! Branches that the operator wants ready are prepared in the background at start.

use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

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
                match closing.run_until_cancelled(prepare).await {
                    None => {}
                    Some(Ok(())) => tracing::info!(repo = %workspace.repo().name(), %branch, "prewarmed"),
                    Some(Err(error)) => tracing::warn!(repo = %workspace.repo().name(), %branch, %error, "failed to prewarm"),
                }
            });
        }
    }
}
