//! Repos that nobody has asked for in a while are maintained in the background, one at a time.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::App;

const BETWEEN_LOOKS: Duration = Duration::from_secs(5 * 60);

pub(super) fn start(app: &App, closing: &CancellationToken) {
    let (tasks, app, closing) = (app.tasks.clone(), app.clone(), closing.clone());
    tasks.spawn(async move {
        let rounds = async {
            loop {
                tokio::time::sleep(BETWEEN_LOOKS).await;
                maintain_idle(&app).await;
            }
        };
        tokio::select! {
            () = rounds => {}
            () = closing.cancelled() => {}
        }
    });
}

async fn maintain_idle(app: &App) {
    for repo in app.repos.list() {
        if app.workspaces.is_in_use(&repo.name) || !repo.is_due() {
            continue;
        }
        if let Err(error) = repo.maintain().await {
            tracing::warn!(repo = %repo.name, %error, "failed to maintain");
        }
    }
}
