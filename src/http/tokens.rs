//! Tokens: make, list, show, revoke; and who one is.

use axum::Json;
use axum::http::{HeaderName, StatusCode, header};

use super::extract::{Body, Params, TokenAt};
use super::listed::Listed;
use super::problem::ProblemResponse;
use crate::app::{
    AuthorizedApp, MadeToken, RevokedTokens, TokenFilter, TokenRequest, TokenView, WhoAmI, tokens,
};

pub(super) async fn whoami(app: AuthorizedApp) -> Json<WhoAmI> {
    Json(tokens::whoami(&app))
}

type Made = (StatusCode, [(HeaderName, String); 2], Json<MadeToken>);

pub(super) async fn make(
    app: AuthorizedApp,
    Body(request): Body<TokenRequest>,
) -> Result<Made, ProblemResponse> {
    let made = tokens::make_token(&app, &request).await?;
    let headers = [
        (header::LOCATION, format!("/api/tokens/{}", made.made.id)),
        // Nobody on the way keeps the secret.
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((StatusCode::CREATED, headers, Json(made)))
}

pub(super) async fn list(
    app: AuthorizedApp,
    Params(filter): Params<TokenFilter>,
) -> Json<Listed<TokenView>> {
    Json(Listed::all(tokens::list(&app, &filter)))
}

pub(super) async fn show(
    app: AuthorizedApp,
    TokenAt(named): TokenAt,
) -> Result<Json<TokenView>, ProblemResponse> {
    Ok(Json(tokens::get(&app, &named)?))
}

pub(super) async fn revoke(
    app: AuthorizedApp,
    TokenAt(named): TokenAt,
) -> Result<Json<RevokedTokens>, ProblemResponse> {
    Ok(Json(tokens::revoke_token(&app, &named).await?))
}
