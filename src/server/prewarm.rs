//! Branches that the operator wants ready are prepared in the background at start.

use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::workspace::{Wish, silent};

pub(super) fn start(app: &App, closing: &CancellationToken) {
    for repo in app.repos.list() {
        for branch in repo.config.prewarm.clone() {
            let workspace = app.workspaces.get(&repo, &branch);
            let (closing, margin) = (closing.clone(), app.margin.clone());
            app.tasks.spawn(async move {
                let prepare = async {
                    margin.check()?;
                    let _turn = workspace.turn.take("prewarm", "daemon").await;
                    let wish = Wish::up_to_date("daemon", Instant::now());
                    workspace.prepare(&wish, &silent()).await.map(drop)
                };
                let outcome = tokio::select! {
                    outcome = prepare => outcome,
                    () = closing.cancelled() => return,
                };
                match outcome {
                    Ok(()) => tracing::info!(repo = %workspace.repo.name, %branch, "prewarmed"),
                    Err(error) => tracing::warn!(repo = %workspace.repo.name, %branch, %error, "failed to prewarm"),
                }
            });
        }
    }
}
