//! The HTTP face: wire to calls on [`App`] and back. `routes` is its table of contents.

mod agents;
mod branches;
mod extract;
mod files;
mod findings;
mod gate;
mod groups;
mod health;
mod log;
mod negotiate;
mod problem;
mod reap;
mod repos;
mod routes;
mod runs;
mod salvage;
mod sinks;
mod streams;
mod verbs;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::MethodRouter;
use tower_http::catch_panic::CatchPanicLayer;

use crate::app::App;
use crate::model::{ErrorKind, Problem};
use problem::{ProblemResponse, internal_panic};

/// The whole HTTP service; `mcp` is what answers at `/mcp`, behind the same gate as everything else.
pub fn router(app: App, mcp: MethodRouter<App>) -> Router {
    let mut router = Router::new();
    for route in routes::all(mcp) {
        router = router.route(
            &route.path,
            gate::guarded(&app, route.access, route.handler),
        );
    }
    router
        .fallback(|| async { ProblemResponse(not_found()) })
        .method_not_allowed_fallback(|| async { ProblemResponse(method_not_allowed()) })
        .layer(DefaultBodyLimit::max(app.config.limits.max_body.as_usize()))
        .layer(axum::middleware::from_fn_with_state(
            app.clone(),
            gate::check_sender,
        ))
        .layer(gate::cors(&app.config))
        .layer(CatchPanicLayer::custom(internal_panic))
        .with_state(app)
}

fn not_found() -> Problem {
    Problem::new(
        ErrorKind::NotFound,
        "no_such_address",
        "there is nothing at this address",
    )
    .help("in a branch name a slash is written %2F")
}

fn method_not_allowed() -> Problem {
    Problem::new(
        ErrorKind::MethodNotAllowed,
        "method_not_allowed",
        "this address does not take that method",
    )
}
