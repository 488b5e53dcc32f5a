//! Limits at the wire: every request of a known principal takes a place for as long as it is being
//! answered, down to the last byte of the answer, and its body has a time to come in.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::held::Held;
use super::negotiate::prefers_async;
use super::problem::ProblemResponse;
use crate::app::App;
use branchyard_auth::{Peer, Use};
use branchyard_model::Problem;

/// Answers a request that counts as one of `who`, unless they have too much under way. Refused before anything is done.
pub(super) async fn admitted(app: &App, who: &str, request: Request, next: Next) -> Response {
    let permit = match app.limiter().admit(who, use_of(&request)) {
        Ok(permit) => permit,
        Err(problem) => return ProblemResponse(problem).into_response(),
    };
    let patience = app.config().timeouts.request;
    let by = None;
    let request = request.map(|body| Body::new(Arriving { body, patience, by }));
    let response = next.run(request).await;
    response.map(|body| Body::new(Held::new(body, permit)))
}

/// The answer to a request without a good credential: what is wrong with it, or that it is one of too many.
pub(super) fn unknown(app: &App, peer: Option<&Peer>, problem: Problem) -> Response {
    let problem = failed(app, peer.copied().unwrap_or_default(), problem);
    ProblemResponse(problem).into_response()
}

/// Counts a refusal; what to say, that or that it is one of too many.
pub(super) fn failed(app: &App, peer: Peer, problem: Problem) -> Problem {
    app.limiter().failed(peer).err().unwrap_or(problem)
}

/// Known before the request is answered: one that starts something must be refused before it does.
fn use_of(request: &Request) -> Use {
    let (path, headers) = (request.uri().path(), request.headers());
    let is_stream = if path.starts_with("/stream/") {
        !prefers_async(headers)
    } else if path == "/mcp" {
        // What the newer protocol subscribes with; the header has to say what the body says.
        let subscribes = |method| method == "subscriptions/listen";
        request.method() == Method::GET || headers.get("mcp-method").is_some_and(subscribes)
    } else {
        // It follows a run that has not ended.
        path.starts_with("/api/runs/") && path.ends_with("/log")
    };
    if is_stream { Use::Stream } else { Use::Request }
}

/// The body of a request, which must have come within a time, counted from when it is first waited for.
struct Arriving {
    body: Body,
    patience: Duration,
    by: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        let patience = self.patience;
        let by = self.by.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(by.as_mut().poll(cx));
        let late = "the body did not come in time (timeouts.request)";
        Poll::Ready(Some(Err(axum::Error::new(late))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
