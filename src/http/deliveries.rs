//! Messages to forges and webhooks: listed, and sent again.

use axum::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{At, Params, RepoAt};
use super::listed::{Listed, limit};
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, With, does, reads};
use crate::app::{AuthorizedApp, deliveries};
use branchyard_model::{DeliveryId, RepoName, Scope};
use branchyard_outbox::{Delivery, DeliveryState};

const DEFAULT_PAGE: usize = 50;

pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("listDeliveries", "List the messages to forges and webhooks")
            .gives("A page of them, the latest first.")
            .get("/api/repos/{repo}/deliveries", Needs(Scope::RepoRead), list),
        does(
            "delivery.redeliver",
            "redeliver",
            "Send a message to a forge or webhook once more",
        )
        .gives("As it is now. That it arrives is not waited for.")
        .post(
            "/api/repos/{repo}/deliveries/{delivery}/redeliver",
            Needs(Scope::Ops),
            redeliver,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeliveryParams {
    /// Only those in this state.
    state: Option<DeliveryState>,
    /// The `next` of the page before.
    #[schemars(with = "Option<DeliveryId>")]
    before: Option<String>,
    /// How many at a time; 50 if left out, and never more than 500.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

async fn list(
    app: AuthorizedApp,
    At(repo): RepoAt,
    Params(params): Params<DeliveryParams>,
) -> HttpResult<Json<Listed<Delivery, DeliveryId>>> {
    let before = params.before.as_deref().map(DeliveryId::parse);
    let filter = deliveries::DeliveryFilter {
        state: params.state,
        before: before
            .transpose()
            .map_err(|problem| problem.field("before"))?,
    };
    let limit = limit(params.limit, DEFAULT_PAGE)?;
    let (items, more) = deliveries::list(&app, &repo, &filter, limit)?;
    let next = items.last().filter(|_| more).map(|it| it.delivery_id);
    Ok(Json(Listed::page(items, next)))
}

async fn redeliver(
    app: AuthorizedApp,
    At((repo, id)): At<(RepoName, DeliveryId)>,
) -> HttpResult<With<202, Json<Delivery>>> {
    Ok(With(Json(deliveries::redeliver(&app, &repo, id)?)))
}
