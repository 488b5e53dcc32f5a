//! Salvage: list, show, restore, let go.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Body, Params, SalvageAt};
use super::problem::ProblemResponse;
use crate::app::{Desk, RestoreRequest, SalvageDetail, SalvageFilter};

pub(super) async fn list(
    desk: Desk,
    Params(filter): Params<SalvageFilter>,
) -> Result<Json<Value>, ProblemResponse> {
    let items = desk.salvages(&filter).await?;
    Ok(Json(json!({ "items": items, "next": null })))
}

pub(super) async fn show(
    desk: Desk,
    SalvageAt(id): SalvageAt,
) -> Result<Json<SalvageDetail>, ProblemResponse> {
    Ok(Json(desk.salvage(id).await?))
}

#[derive(Debug, Deserialize)]
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
) -> Result<Json<Value>, ProblemResponse> {
    let (description, warnings) = desk.restore(id, &request).await?;
    let mut answer = json!(description);
    answer["warnings"] = json!(warnings);
    Ok(Json(answer))
}

pub(super) async fn forget(
    desk: Desk,
    SalvageAt(id): SalvageAt,
) -> Result<StatusCode, ProblemResponse> {
    desk.drop_salvage(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
