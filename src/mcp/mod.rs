//! The MCP face: the yard as tools, resources and prompts for coding agents, on rmcp.
//!
//! `tools` is its table of contents, one file for each domain. It keeps nothing between two calls: what
//! lasts is a run, a workspace or a salvage, each with its own name. What a client's configuration fixed
//! comes by header with every request ([`scope`]), so that no two agents share a default; a session of
//! the older protocol holds only what its `initialize` said ([`sessions`]), and of which changes it wants to
//! hear ([`resources`]).

mod audit;
mod call;
mod complaints;
mod completion;
mod cursor;
mod fit;
mod handler;
pub mod headers;
mod log_cursor;
mod mend;
mod outcome;
mod page;
mod panics;
mod portable;
mod progress;
mod prompts;
mod reply;
mod resources;
mod schema;
mod scope;
mod session_files;
mod sessions;
mod tool;
mod tools;
mod waiting;
mod window;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodRouter, post_service};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use branchyard_auth::Principal;
use branchyard_config::Toolset;
use branchyard_model::{Problem, Scope};
pub use handler::Yard;
use scope::ToolScope;
use sessions::Sessions;

/// A session that was idle for so long leaves memory; it comes back from disk when it is named again.
const IDLE_SESSION: Duration = Duration::from_secs(30 * 60);

/// What answers at `/mcp`, for callers whose sender and credential were checked. It ends with `close`.
pub fn service(app: &App, close: CancellationToken) -> MethodRouter<App> {
    let yard = Yard::new(app.clone(), close.clone());
    serve(app, close, move || yard.for_session())
}

/// A tool, and what it asks of its callers.
#[derive(Debug, Clone)]
pub struct Declared {
    pub name: String,
    pub set: Toolset,
    /// What every call needs; a tool that does more for some arguments asks again.
    pub right: Scope,
}

/// Every tool there is.
pub fn declared() -> Vec<Declared> {
    tools::all().iter().map(tool::Tool::declared).collect()
}

/// The same with another handler behind the same transport. It is made anew for every session of the
/// older protocol and for every request of the newer one.
pub fn serve<H: ServerHandler>(
    app: &App,
    close: CancellationToken,
    handler: impl Fn() -> H + Send + Sync + 'static,
) -> MethodRouter<App> {
    let mut session = SessionConfig::default();
    session.keep_alive = Some(IDLE_SESSION);
    let mut manager = LocalSessionManager::default();
    manager.session_config = session;
    let manager = Arc::new(manager);
    let sessions = Arc::new(Sessions::open(app, manager.clone()));
    let mut config = StreamableHttpServerConfig::default()
        // The gate before us has looked at both.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        // One message is one answer, where there is nothing to tell on the way.
        .with_json_response(true)
        .with_max_request_body_bytes(app.config().limits.max_body.as_usize())
        .with_cancellation_token(close);
    config.session_store = Some(sessions.clone());
    let service = StreamableHttpService::new(move || Ok(handler()), manager, config);
    post_service(service.clone())
        .get_service(service.clone())
        .delete_service(service)
        .route_layer(from_fn_with_state((app.clone(), sessions), enter))
}

/// Reads what the client's configuration says, and keeps everyone to sessions of their own.
async fn enter(
    State((app, sessions)): State<(App, Arc<Sessions>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(principal) = request.extensions().get::<Principal>().cloned() else {
        return reply::refused(&branchyard_auth::unauthorized("nobody asks"));
    };
    let scope = ToolScope::read(
        request.headers(),
        (&app.config().mcp, &app.config().auth),
        &principal,
    );
    let says_json = says_json(request.headers());
    let is_theirs = sessions.check(request.headers(), &principal).await;
    let mut response = match scope.and_then(|scope| is_theirs.map(|()| scope)) {
        Ok(scope) => {
            request.extensions_mut().insert(Arc::new(scope));
            sessions::asked_by(principal.name().to_owned(), next.run(request)).await
        }
        Err(problem) => reply::refused(&problem),
    };
    // What was called JSON and cannot be read is no matter of its type, as rmcp says it is.
    if says_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        response = reply::refused(&Problem::bad("body", "it is not a JSON-RPC message"));
    }
    let max_body = app.config().limits.max_body.as_usize();
    let refuses = response.status().is_client_error();
    let headers = response.headers_mut();
    headers.insert(headers::MAX_BODY, max_body.into());
    // Where rmcp refuses something in words, it does not say that they are.
    if refuses && !headers.contains_key(header::CONTENT_TYPE) {
        let words = HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, words);
    }
    response
}

fn says_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}
