//! The audit of what comes by HTTP, in two layers: one before the handler, which notes what is about to
//! change something, and one around the gate, which sees whom it turned away. And reading the audit.

mod note;
mod read;

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::http::{HeaderMap, header, request};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;

use super::problem::{ProblemResponse, status};
use super::route::Route;
use crate::app::App;
use crate::app::audit::{Answer, AuditCall as Call, AuditOutcome, Auditor, Named, Sender, Via};
use branchyard_auth::{Peer, Principal};
use branchyard_model::Problem;

pub(super) use note::Noted;
pub(super) use read::routes;

/// By which a proxy or a caller knows a request again.
const REQUEST_ID: &str = "x-request-id";

/// What was answered is recorded already.
#[derive(Debug, Clone, Copy)]
struct Recorded;

#[derive(Debug)]
struct Watched {
    auditor: Auditor,
    action: Option<Cow<'static, str>>,
    /// As it stands in the table of routes.
    path: String,
}

/// The handler, with a note of every call that reaches it, where its route changes something.
pub(super) fn noting(app: &App, route: &Route) -> MethodRouter<App> {
    let handler = route.handler.clone();
    match route.action {
        None => handler,
        Some(_) => handler.route_layer(from_fn_with_state(watched(app, route), noted)),
    }
}

/// The handler behind its gate, with every refusal recorded.
pub(super) fn recording(app: &App, route: &Route, guarded: MethodRouter<App>) -> MethodRouter<App> {
    guarded.route_layer(from_fn_with_state(watched(app, route), record_refusal))
}

fn watched(app: &App, route: &Route) -> Arc<Watched> {
    Arc::new(Watched {
        auditor: app.auditor(),
        action: route.action.clone(),
        path: route.path.clone().into_owned(),
    })
}

async fn noted(State(route): State<Arc<Watched>>, request: Request, next: Next) -> Response {
    let auditor = &route.auditor;
    let (mut parts, body) = request.into_parts();
    let principal = parts.extensions.get::<Principal>().cloned();
    let (mut call, named) = route.call(&mut parts).await;
    call.principal = principal.as_ref().map(|who| who.name().to_owned());
    auditor.locate(&mut call, &named).await;
    let mut entry = match auditor.begin(call.clone()).await {
        Ok(entry) => entry,
        Err(problem) => return ProblemResponse(problem).into_response(),
    };
    let noted = Noted::default();
    parts.extensions.insert(noted.clone());
    let mut response = next.run(Request::from_parts(parts, body)).await;
    auditor.locate(&mut call, &noted.named()).await;
    auditor.locate(&mut call, &made(response.headers())).await;
    let end = answer(&response).end(principal.as_ref(), &call);
    if noted.was_a_look() && end.outcome == AuditOutcome::Allowed {
        entry.forget();
    } else {
        entry.tell(|begun| *begun = call);
        entry.end(end);
    }
    response.extensions_mut().insert(Recorded);
    response
}

async fn record_refusal(
    State(route): State<Arc<Watched>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let (mut call, named) = route.call(&mut parts).await;
    // For what reads messages of its own.
    parts.extensions.insert(sender(&parts));
    let response = next.run(Request::from_parts(parts, body)).await;
    if response.extensions().get::<Recorded>().is_some() || response.status().as_u16() < 400 {
        return response;
    }
    let auditor = &route.auditor;
    let principal = response.extensions().get::<Principal>().cloned();
    call.principal = principal.as_ref().map(|who| who.name().to_owned());
    auditor.locate(&mut call, &named).await;
    let end = answer(&response).end(principal.as_ref(), &call);
    if end.outcome == AuditOutcome::Refused {
        auditor.refused(call, end);
    }
    response
}

/// Records that a request was refused before it came to its route, for its sender.
pub(super) async fn turned_away(app: &App, parts: &mut request::Parts, problem: &Problem) {
    let path = parts.extensions.get::<MatchedPath>();
    let path = path.map_or_else(|| "?".to_owned(), |path| path.as_str().to_owned());
    let route = Watched {
        auditor: app.auditor(),
        action: None,
        path,
    };
    let (call, _) = route.call(parts).await;
    let status = status(problem.kind).as_u16();
    let code = Some(problem.code.as_str().into());
    let end = Answer { status, code }.end(None, &call);
    if end.outcome == AuditOutcome::Refused {
        route.auditor.refused(call, end);
    }
}

impl Watched {
    /// What a request is, as far as it says so itself; and what it names.
    async fn call(&self, parts: &mut request::Parts) -> (Call, Named) {
        let action = match &self.action {
            Some(action) => action.clone().into_owned(),
            None => format!("{} {}", parts.method, self.path),
        };
        let mut call = Call::new(Via::Http, action);
        call.sent_by(&sender(parts));
        let named = match RawPathParams::from_request_parts(parts, &()).await {
            Ok(params) => Named::by(|name| {
                let mut params = params.iter();
                params.find_map(|(key, value)| (key == name).then_some(value))
            }),
            // What is no text names nothing.
            Err(_) => Named::default(),
        };
        (call, named)
    }
}

fn sender(parts: &request::Parts) -> Sender {
    let peer = parts.extensions.get::<Peer>();
    let word = |name| Some(parts.headers.get(name)?.to_str().ok()?.to_owned());
    Sender {
        peer: peer.map(ToString::to_string),
        request: word(REQUEST_ID),
        client: word(header::USER_AGENT.as_str()),
    }
}

/// The run or group that an answer says it made.
fn made(headers: &HeaderMap) -> Named {
    let location = headers.get(header::LOCATION);
    let location = location.and_then(|location| location.to_str().ok());
    Named::by(|name| location?.strip_prefix(&format!("/api/{name}s/")))
}

fn answer(response: &Response) -> Answer<'_> {
    let problem = response.extensions().get::<Problem>();
    Answer {
        status: response.status().as_u16(),
        code: problem.map(|problem| problem.code.as_str().into()),
    }
}
