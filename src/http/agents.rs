//! Agents on branches: `git/clone` and `git/init`, which come before there is a branch to name.

use axum::Json;

use super::audit::Noted;
use super::extract::Body;
use super::problem::ProblemResponse;
use crate::app::{AuthorizedApp, Begun, CloneRequest, InitRequest, agents};

pub(super) async fn clone(
    app: AuthorizedApp,
    noted: Noted,
    Body(request): Body<CloneRequest>,
) -> Result<Json<Begun>, ProblemResponse> {
    noted.at(request.repo.as_ref(), None);
    let begun = agents::git_clone(&app, &request).await?;
    noted.at(Some(&begun.repo), Some(&begun.branch));
    Ok(Json(begun))
}

pub(super) async fn init(
    app: AuthorizedApp,
    noted: Noted,
    Body(request): Body<InitRequest>,
) -> Result<Json<Begun>, ProblemResponse> {
    noted.at(Some(&request.repo), request.default_branch.as_ref());
    Ok(Json(agents::git_init(&app, &request).await?))
}
