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
mod confirm;
mod cursor;
mod failed_tests;
mod fit;
mod handler;
pub mod headers;
mod log_cursor;
mod log_matches;
mod mend;
mod message;
mod outcome;
mod page;
mod panics;
mod pipeline_failures;
mod pipeline_outcome;
mod pipeline_waiting;
mod portable;
mod progress;
mod prompts;
mod reply;
mod resources;
mod schema;
mod scope;
mod session_files;
mod sessions;
mod settings;
mod tasks;
mod tool;
mod tools;
mod truncate;
mod waiting;
mod window;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post_service};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use branchyard_auth::Principal;
use branchyard_config::Toolset;
use branchyard_model::Scope;
pub use handler::Yard;
use message::{Answered, InFlight, Message};
use reply::Rejection;
use scope::ToolScope;
use sessions::Sessions;
use settings::Settings;

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
    let entrance = Entrance {
        app: app.clone(),
        sessions,
        in_flight: InFlight::default(),
    };
    let service = StreamableHttpService::new(move || Ok(handler()), manager, config);
    post_service(service.clone())
        .get_service(service.clone())
        .delete_service(service)
        .route_layer(from_fn_with_state(entrance, enter))
}

/// What is before everybody who answers.
#[derive(Clone)]
struct Entrance {
    app: App,
    sessions: Arc<Sessions>,
    in_flight: InFlight,
}

async fn enter(State(entrance): State<Entrance>, request: Request, next: Next) -> Response {
    let max_body = entrance.app.config().limits.max_body.as_usize();
    let answered = entrance.answer(request, next, max_body).await;
    let mut response = answered.unwrap_or_else(IntoResponse::into_response);
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

impl Entrance {
    /// Reads what the client's configuration says and what the message is, and keeps everyone to sessions of their own.
    async fn answer(
        &self,
        request: Request,
        next: Next,
        max_body: usize,
    ) -> Result<Response, Rejection> {
        let (mut parts, mut body) = request.into_parts();
        let Some(principal) = parts.extensions.get::<Principal>().cloned() else {
            return Err(branchyard_auth::unauthorized("the request does not say who asks").into());
        };
        let (config, auth) = (&self.app.config().mcp, &self.app.config().auth);
        let settings = Settings::read(&parts.headers, &parts.uri)?;
        let scope = ToolScope::read(&settings, (config, auth), tool_names(), &principal)?;
        self.sessions.check(&parts.headers, &principal).await?;
        let mut message = None;
        if parts.method == Method::POST && says_json(&parts.headers) {
            let read = to_bytes(body, max_body).await;
            let bytes = read.map_err(|_| message::too_large(max_body))?;
            message = Some(Message::read(&bytes)?);
            body = Body::from(bytes);
        }
        let session = parts
            .headers
            .get(sessions::HEADER)
            .and_then(|id| id.to_str().ok());
        let answered = match (session, &message) {
            (Some(session), Some(message)) => self.in_flight.begin(session, message)?,
            _ => None,
        };
        parts.extensions.insert(Arc::new(scope));
        let request = Request::from_parts(parts, body);
        let response = sessions::asked_by(principal.name().to_owned(), next.run(request)).await;
        match message {
            // What was called JSON and cannot be read is no matter of its type, as rmcp says it is.
            Some(message) if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                Err(message.senseless())
            }
            _ => Ok(held_to_the_end(response, answered)),
        }
    }
}

/// A request whose answer is a stream is answered with its last byte; any other with the answer itself.
fn held_to_the_end(response: Response, answered: Option<Answered>) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    match answered.filter(|_| is_stream) {
        Some(answered) => response.map(|body| {
            Body::from_stream(body.into_data_stream().map(move |piece| {
                let _held = &answered;
                piece
            }))
        }),
        None => response,
    }
}

fn tool_names() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> =
        LazyLock::new(|| declared().into_iter().map(|tool| tool.name).collect());
    &NAMES
}

fn says_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}
