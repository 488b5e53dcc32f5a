//! Messages to forges and webhooks: seen by those who see all of the repo, and sent again by `ops`.

use super::AuthorizedApp;
use branchyard_model::{DeliveryId, Problem, RepoName};
use branchyard_outbox::{Delivery, DeliveryState};

/// Which deliveries are wanted.
#[derive(Debug, Clone, Default)]
pub struct DeliveryFilter {
    pub state: Option<DeliveryState>,
    /// Only those that were made before this one.
    pub before: Option<DeliveryId>,
}

/// Those of a repo, the newest first, at most `limit`; and whether there are more.
pub fn list(
    app: &AuthorizedApp,
    repo: &RepoName,
    filter: &DeliveryFilter,
    limit: usize,
) -> Result<(Vec<Delivery>, bool), Problem> {
    app.whole_repo(repo)?;
    Ok(app.yard().outbox.list(limit, |delivery| {
        delivery.repo == *repo
            && filter.state.is_none_or(|state| delivery.state == state)
            && filter
                .before
                .is_none_or(|before| delivery.delivery_id < before)
    }))
}

/// Has a message sent once more, whatever became of it.
pub fn redeliver(
    app: &AuthorizedApp,
    repo: &RepoName,
    id: DeliveryId,
) -> Result<Delivery, Problem> {
    app.whole_repo(repo)?;
    app.yard().outbox.redeliver(repo, id)
}
