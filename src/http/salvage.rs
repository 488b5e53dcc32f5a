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
use crate::app::{Desk, RestoreRequest, SalvageDetail, SalvageFilter, SalvageItem};

pub(super) async fn list(
    desk: Desk,
    Params(filter): Params<SalvageFilter>,
) -> Result<Json<Listed<SalvageItem>>, ProblemResponse> {
    Ok(Json(Listed::all(desk.salvages(&filter).await?)))
}

pub(super) async fn show(
    desk: Desk,
    SalvageAt(id): SalvageAt,
) -> Result<Json<SalvageDetail>, ProblemResponse> {
    Ok(Json(desk.salvage(id).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileParams {
    /// Relative to the workspace.
    path: String,
}

pub(super) async fn file(
    desk: Desk,
    SalvageAt(id): SalvageAt,
    Params(params): Params<FileParams>,
) -> Result<Response, ProblemResponse> {
    let bytes = desk.salvaged_file(id, &params.path).await?;
    // Whatever it holds, a browser is not to take it for a page.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, bytes).into_response())
}

pub(super) async fn restore(
    desk: Desk,
    SalvageAt(id): SalvageAt,
    Body(request): Body<RestoreRequest>,
) -> Result<Json<Ready>, ProblemResponse> {
    let (workspace, warnings) = desk.restore(id, &request).await?;
    Ok(Json(Ready {
        workspace,
        warnings,
    }))
}

pub(super) async fn forget(
    desk: Desk,
    SalvageAt(id): SalvageAt,
) -> Result<StatusCode, ProblemResponse> {
    desk.drop_salvage(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
