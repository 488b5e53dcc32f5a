//! Salvage: list, show, restore, let go.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;

use super::branches::Ready;
use super::extract::{Body, Params, SalvageAt};
use super::listed::Listed;
use super::problem::ProblemResponse;
use crate::app::{
    AuthorizedApp, RestoreRequest, SalvageDetail, SalvageFilter, SalvageItem, salvage,
};

pub(super) async fn list(
    app: AuthorizedApp,
    Params(filter): Params<SalvageFilter>,
) -> Result<Json<Listed<SalvageItem>>, ProblemResponse> {
    Ok(Json(Listed::all(salvage::salvages(&app, &filter).await?)))
}

pub(super) async fn show(
    app: AuthorizedApp,
    SalvageAt(id): SalvageAt,
) -> Result<Json<SalvageDetail>, ProblemResponse> {
    Ok(Json(salvage::get(&app, id).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileParams {
    /// Relative to the workspace.
    path: String,
}

pub(super) async fn file(
    app: AuthorizedApp,
    SalvageAt(id): SalvageAt,
    Params(params): Params<FileParams>,
) -> Result<Response, ProblemResponse> {
    let bytes = salvage::salvaged_file(&app, id, &params.path).await?;
    // Whatever it holds, a browser is not to take it for a page.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, bytes).into_response())
}

pub(super) async fn restore(
    app: AuthorizedApp,
    SalvageAt(id): SalvageAt,
    Body(request): Body<RestoreRequest>,
) -> Result<Json<Ready>, ProblemResponse> {
    let (workspace, warnings) = salvage::restore(&app, id, &request).await?;
    Ok(Json(Ready {
        workspace,
        warnings,
    }))
}

pub(super) async fn forget(
    app: AuthorizedApp,
    SalvageAt(id): SalvageAt,
) -> Result<StatusCode, ProblemResponse> {
    salvage::drop_salvage(&app, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
