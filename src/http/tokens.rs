//! Tokens: make, list, show, revoke; and who one is.

use axum::Json;
use axum::http::{HeaderName, header};

use super::extract::{At, Body, Params};
use super::listed::Listed;
use super::problem::HttpResult;
use super::route::Access::Known;
use super::route::{Route, With, does, reads};
use crate::app::{
    AuthorizedApp, MadeToken, RevokedTokens, TokenFilter, TokenRequest, TokenView, WhoAmI, tokens,
};

/// A caller can make a token for at most what the caller may do; the app says who sees and revokes which.
pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("whoami", "What one may do, where, and until when")
            .gives("Whoever asks.")
            .get("/api/whoami", Known, whoami),
        reads(
            "listTokens",
            "The tokens that one made; all of them for `admin`",
        )
        .gives("The tokens, without their text.")
        .get("/api/tokens", Known, list),
        does(
            "token.create",
            "createToken",
            "Make a token, for less than one has oneself",
        )
        .gives("The token, and this once its text.")
        .post("/api/tokens", Known, make),
        reads("showToken", "Show a token")
            .gives("The token, without its text.")
            .get("/api/tokens/{token}", Known, show),
        does(
            "token.revoke",
            "revokeToken",
            "Take a token back, with those that were made with it",
        )
        .gives("What went.")
        .delete("/api/tokens/{token}", Known, revoke),
    ]
}

async fn whoami(app: AuthorizedApp) -> Json<WhoAmI> {
    Json(tokens::whoami(&app))
}

type Made = With<201, ([(HeaderName, String); 2], Json<MadeToken>)>;

async fn make(app: AuthorizedApp, Body(request): Body<TokenRequest>) -> HttpResult<Made> {
    let made = tokens::make_token(&app, &request).await?;
    let headers = [
        (header::LOCATION, format!("/api/tokens/{}", made.made.id)),
        // Nobody on the way keeps the secret.
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok(With((headers, Json(made))))
}

async fn list(app: AuthorizedApp, Params(filter): Params<TokenFilter>) -> Json<Listed<TokenView>> {
    Json(Listed::all(tokens::list(&app, &filter)))
}

async fn show(app: AuthorizedApp, At(named): At<String>) -> HttpResult<Json<TokenView>> {
    Ok(Json(tokens::get(&app, &named)?))
}

async fn revoke(app: AuthorizedApp, At(named): At<String>) -> HttpResult<Json<RevokedTokens>> {
    Ok(Json(tokens::revoke_token(&app, &named).await?))
}
