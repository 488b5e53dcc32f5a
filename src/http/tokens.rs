//! Tokens: make, list, show, revoke; and who one is.

use axum::Json;
use axum::http::{HeaderName, StatusCode, header};

use super::extract::{Body, Params, TokenAt};
use super::listed::Listed;
use super::problem::ProblemResponse;
use crate::app::{Desk, MadeToken, RevokedTokens, TokenFilter, TokenRequest, TokenView, WhoAmI};

pub(super) async fn whoami(desk: Desk) -> Json<WhoAmI> {
    Json(desk.whoami())
}

type Made = (StatusCode, [(HeaderName, String); 2], Json<MadeToken>);

pub(super) async fn make(
    desk: Desk,
    Body(request): Body<TokenRequest>,
) -> Result<Made, ProblemResponse> {
    let made = desk.make_token(&request).await?;
    let headers = [
        (header::LOCATION, format!("/api/tokens/{}", made.made.id)),
        // Nobody on the way keeps the secret.
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((StatusCode::CREATED, headers, Json(made)))
}

pub(super) async fn list(
    desk: Desk,
    Params(filter): Params<TokenFilter>,
) -> Json<Listed<TokenView>> {
    Json(Listed::all(desk.tokens(&filter)))
}

pub(super) async fn show(
    desk: Desk,
    TokenAt(named): TokenAt,
) -> Result<Json<TokenView>, ProblemResponse> {
    Ok(Json(desk.token(&named)?))
}

pub(super) async fn revoke(
    desk: Desk,
    TokenAt(named): TokenAt,
) -> Result<Json<RevokedTokens>, ProblemResponse> {
    Ok(Json(desk.revoke_token(&named).await?))
}
