//! The daemon as an OAuth protected resource: its metadata (RFC 9728), by which clients find the issuer.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use schemars::JsonSchema;
use serde::Serialize;

use super::challenge::WELL_KNOWN;
use super::problem::HttpResult;
use super::route::Access::Open;
use super::route::{Route, reads};
use crate::app::App;
use branchyard_model::{ErrorKind, Problem, Scope};

/// Clients that have no token yet learn here who gives them one.
pub(super) fn routes() -> Vec<Route> {
    let operation = |id| {
        reads(id, "Who gives tokens for this daemon (RFC 9728)")
            .says("Only with `[auth.oauth]`; else 404.")
            .gives("The issuer, and what tokens may be asked for.")
    };
    let below = format!("{WELL_KNOWN}/{{*path}}");
    vec![
        operation("oauthResource").get(WELL_KNOWN, Open, metadata),
        operation("oauthResourceAt").get(below, Open, metadata),
    ]
}

/// Where agents are, whatever the audience is.
const MCP: &str = "/mcp";

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProtectedResource")]
struct Metadata {
    resource: String,
    authorization_servers: [String; 1],
    scopes_supported: [&'static str; Scope::ALL.len()],
    bearer_methods_supported: [&'static str; 1],
    resource_name: &'static str,
}

/// Clients ask with the path of what they want to reach behind the well-known part, or with none.
async fn metadata(State(app): State<App>, uri: Uri) -> HttpResult<Json<Metadata>> {
    let oauth = app.config().auth.oauth.as_ref();
    let oauth = oauth.ok_or_else(not_configured)?;
    let path = uri.path().strip_prefix(WELL_KNOWN).unwrap_or_default();
    let own = oauth.audience.url().path();
    if !["", MCP, own.trim_end_matches('/')].contains(&path) {
        return Err(not_configured().into());
    }
    Ok(Json(Metadata {
        // Never what the request calls itself: the sender chooses that.
        resource: oauth.audience.as_str().to_owned(),
        authorization_servers: [oauth.issuer.as_str().to_owned()],
        scopes_supported: Scope::ALL.map(Scope::as_str),
        bearer_methods_supported: ["header"],
        resource_name: "Branchyard",
    }))
}

fn not_configured() -> Problem {
    let detail = "no OAuth issuer gives tokens for this";
    Problem::new(ErrorKind::NotFound, "no_oauth", detail)
        .help("configure [auth.oauth], or use the session key or a token of the daemon's own")
}
