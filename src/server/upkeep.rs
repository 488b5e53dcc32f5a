//! Repos that nobody has asked for in a while are maintained in the background, one at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::Parts;
use branchyard_workspace::repos::upkeep;

const BETWEEN_LOOKS: Duration = Duration::from_secs(5 * 60);

pub(super) fn start(yard: &Arc<Parts>, closing: &CancellationToken) {
    let (tasks, yard) = (yard.tasks.clone(), yard.clone());
    let loops = yard.loops.clone();
    let rounds = loops.keep("repo_maintenance", move || work(yard.clone()));
    tasks.spawn(closing.clone().run_until_cancelled_owned(rounds));
}

async fn work(yard: Arc<Parts>) {
    loop {
        tokio::time::sleep(BETWEEN_LOOKS).await;
        for repo in yard.repos.list() {
            let is_idle = !yard.workspaces.is_in_use(repo.name());
            if is_idle
                && upkeep::is_due(&repo)
                && let Err(error) = upkeep::maintain(&repo).await
            {
                tracing::warn!(repo = %repo.name(), %error, "failed to maintain");
            }
        }
    }
}
