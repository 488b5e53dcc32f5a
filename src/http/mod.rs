//! The HTTP face: wire to calls on [`App`] and back. `routes` is its table of contents.

mod agents;
mod artifacts;
mod audit;
mod badge;
mod bisect;
mod branches;
mod challenge;
mod credential;
mod deliveries;
mod events;
mod extract;
mod files;
mod gate;
mod groups;
mod health;
mod held;
mod held_worktrees;
mod hooks;
mod limits;
mod listed;
mod log;
mod negotiate;
mod oauth;
mod openapi;
mod page;
mod pipelines;
mod problem;
mod range;
mod raw;
mod repos;
mod route;
mod routes;
mod runs;
mod salvage;
mod session;
mod sinks;
mod streams;
mod tag;
mod test_history;
mod test_page;
mod tokens;
mod upkeep;
mod verbs;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::MethodRouter;
use tower_http::catch_panic::CatchPanicLayer;

use crate::app::App;
use branchyard_model::{ErrorKind, Problem};
use problem::{ProblemResponse, internal_panic};

pub use branches::{PinBody, PrepareBody, Ready, Removed, Shown, Workspaces};
pub use files::Said;
pub use health::Alive;
pub use held::Held;
pub use listed::Listed;
pub use negotiate::Format;
pub use problem::Document as ProblemDocument;
pub use route::Access;
pub use routes::{Address, addresses};
pub use runs::Cancelled;
pub use session::Link;
pub use sinks::{Events, Output as GroupOutput, Text};
pub use test_page::TestPage;
pub use upkeep::Amiss;

/// The whole HTTP service; `mcp` is what answers at `/mcp`, behind the same gate as everything else.
pub fn router(app: App, mcp: MethodRouter<App>) -> Router {
    let max_body = app.config().limits.max_body.as_usize();
    let mut router = Router::new();
    for route in routes::all(mcp).iter().flat_map(|section| &section.routes) {
        let noting = audit::noting(&app, route);
        let guarded = gate::guarded(&app, route, noting);
        router = router.route(&route.path, audit::recording(&app, route, guarded));
    }
    router
        .fallback(|| async { ProblemResponse(not_found()) })
        .method_not_allowed_fallback(|| async { ProblemResponse(method_not_allowed()) })
        .layer(DefaultBodyLimit::max(max_body))
        .layer(from_fn_with_state(app.clone(), challenge::challenged))
        .layer(from_fn_with_state(app.clone(), gate::check_sender))
        .layer(gate::cors(app.config()))
        .layer(CatchPanicLayer::custom(internal_panic))
        .layer(from_fn(gate::kept_apart))
        .with_state(app)
}

fn not_found() -> Problem {
    let detail = "there is nothing at this address";
    Problem::new(ErrorKind::NotFound, "no_such_address", detail)
        .help("in a branch name a slash is written %2F")
}

fn method_not_allowed() -> Problem {
    let detail = "this address does not take that method";
    Problem::new(ErrorKind::MethodNotAllowed, "method_not_allowed", detail)
}
