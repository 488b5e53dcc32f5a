//! Salvage: list, show, restore, let go.

use axum::Json;
use axum::http::header;
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Deserialize;

use super::branches::Ready;
use super::extract::{At, Body, Params, SalvageAt};
use super::listed::Listed;
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, With, does, reads};
use crate::app::{
    AuthorizedApp, RestoreRequest, SalvageDetail, SalvageFilter, SalvageItem, salvage,
};
use branchyard_model::Scope;

const SALVAGE: &str = "/api/salvage/{salvage}";

pub(super) fn routes() -> Vec<Route> {
    let at = |what| format!("{SALVAGE}/{what}");
    vec![
        reads("listSalvage", "List work that was saved")
            .gives("The newest first.")
            .get("/api/salvage", Needs(Scope::GitRead), list),
        reads("showSalvage", "Show a salvage with its files")
            .gives("The salvage.")
            .get(SALVAGE, Needs(Scope::GitRead), show),
        does(
            "salvage.drop",
            "dropSalvage",
            "Let go of a salvage for good",
        )
        .gives("It is gone.")
        .delete(SALVAGE, Needs(Scope::Ops), forget),
        reads("readSalvagedFile", "One file of a salvage")
            .writes(200, "Its bytes.", &["application/octet-stream"])
            .get(at("file"), Needs(Scope::GitRead), file),
        does("salvage.restore", "restoreSalvage", "Bring saved work back")
            .says(
                "Files, modes, index, HEAD, an operation under way, dropped stashes. The salvage \
                 is kept.",
            )
            .gives("The workspace.")
            .post(at("restore"), Needs(Scope::GitWrite), restore),
    ]
}

async fn list(
    app: AuthorizedApp,
    Params(filter): Params<SalvageFilter>,
) -> HttpResult<Json<Listed<SalvageItem>>> {
    Ok(Json(Listed::all(salvage::salvages(&app, &filter).await?)))
}

async fn show(app: AuthorizedApp, At(id): SalvageAt) -> HttpResult<Json<SalvageDetail>> {
    Ok(Json(salvage::get(&app, id).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileParams {
    /// Relative to the workspace.
    path: String,
}

async fn file(
    app: AuthorizedApp,
    At(id): SalvageAt,
    Params(params): Params<FileParams>,
) -> HttpResult {
    let bytes = salvage::salvaged_file(&app, id, &params.path).await?;
    // Whatever it holds, a browser is not to take it for a page.
    let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((kind, bytes).into_response())
}

async fn restore(
    app: AuthorizedApp,
    At(id): SalvageAt,
    Body(request): Body<RestoreRequest>,
) -> HttpResult<Json<Ready>> {
    let (workspace, warnings) = salvage::restore(&app, id, &request).await?;
    Ok(Json(Ready {
        workspace,
        warnings,
    }))
}

async fn forget(app: AuthorizedApp, At(id): SalvageAt) -> HttpResult<With<204, ()>> {
    salvage::drop_salvage(&app, id).await?;
    Ok(With(()))
}
