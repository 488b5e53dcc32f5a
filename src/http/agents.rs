//! Agents on branches: `git/clone` and `git/init`, which come before there is a branch to name.

use axum::Json;
use axum::extract::State;

use super::extract::{Asker, Body};
use super::problem::ProblemResponse;
use crate::app::{App, Begun, CloneRequest, InitRequest};

pub(super) async fn clone(
    State(app): State<App>,
    Asker(principal): Asker,
    Body(request): Body<CloneRequest>,
) -> Result<Json<Begun>, ProblemResponse> {
    Ok(Json(app.git_clone(&principal, &request).await?))
}

pub(super) async fn init(
    State(app): State<App>,
    Asker(principal): Asker,
    Body(request): Body<InitRequest>,
) -> Result<Json<Begun>, ProblemResponse> {
    Ok(Json(app.git_init(&principal, &request).await?))
}
