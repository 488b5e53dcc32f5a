//! Who gets in: the sender's `Host` and `Origin` first, then the credential and the right that the
//! route asks for, then whether they have too much under way already.

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use tokio_stream::StreamExt;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::audit;
use super::limits;
use super::problem::ProblemResponse;
use super::session::{check_page, of_cookie};
use crate::app::App;
use crate::auth::{Peer, Principal, unauthorized};
use crate::config::{Config, HostName};
use crate::model::{ErrorKind, Problem, Right};

/// What a route asks of its caller.
#[derive(Debug, Clone, Copy)]
pub(super) enum Access {
    Open,
    /// A credential, whatever its rights.
    Known,
    Needs(Right),
}

/// The handler behind the check of its right. The principal is found in the request's extensions.
pub(super) fn guarded(app: &App, access: Access, handler: MethodRouter<App>) -> MethodRouter<App> {
    match access {
        Access::Open => handler,
        Access::Known => handler.route_layer(from_fn_with_state((app.clone(), None), authorize)),
        Access::Needs(right) => {
            handler.route_layer(from_fn_with_state((app.clone(), Some(right)), authorize))
        }
    }
}

async fn authorize(
    State((app, right)): State<(App, Option<Right>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let shown = credential(request.headers());
    let by_cookie = matches!(shown, Ok(Some(Credential::Cookie(_))));
    let shown = shown.map(|shown| shown.map(|shown| shown.text().to_owned()));
    let principal = match known(&app, shown).await {
        Ok(principal) => principal,
        Err(problem) => return limits::unknown(&app, request.extensions().get(), problem),
    };
    let own = match by_cookie {
        true => check_page(request.method(), request.headers()),
        false => Ok(()),
    };
    let allowed = own.and_then(|()| right.map_or(Ok(()), |right| principal.require(right)));
    let mut response = match allowed {
        Ok(()) => {
            request.extensions_mut().insert(principal.clone());
            let answer = limits::admitted(&app, &principal.account, request, next).await;
            until_gone(answer, principal.clone())
        }
        Err(problem) => ProblemResponse(problem).into_response(),
    };
    // Whoever records a refusal is to know whose it was.
    response.extensions_mut().insert(principal);
    response
}

/// A stream ends when the credential does that it was asked for with.
fn until_gone(response: Response, principal: Principal) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        Body::from_stream(async_stream::stream! {
            let mut pieces = body.into_data_stream();
            let mut gone = std::pin::pin!(principal.gone());
            loop {
                let piece = tokio::select! {
                    biased;
                    () = &mut gone => break,
                    piece = pieces.next() => piece,
                };
                match piece {
                    Some(piece) => yield piece,
                    None => break,
                }
            }
        })
    })
}

async fn known(
    app: &App,
    credential: Result<Option<String>, Problem>,
) -> Result<Principal, Problem> {
    app.who(credential?.as_deref()).await
}

/// What a request shows, and how.
pub(super) enum Credential<'a> {
    Bearer(&'a str),
    /// The session of somebody who logged in to the page.
    Cookie(&'a str),
}

impl<'a> Credential<'a> {
    pub(super) fn text(&self) -> &'a str {
        match self {
            Self::Bearer(text) | Self::Cookie(text) => text,
        }
    }
}

/// The credential, if the request has one.
pub(super) fn credential(headers: &HeaderMap) -> Result<Option<Credential<'_>>, Problem> {
    let bearer = bearer(headers)?.map(Credential::Bearer);
    Ok(bearer.or_else(|| of_cookie(headers).map(Credential::Cookie)))
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    value
        .to_str()
        .ok()
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| Some(token.trim()))
        .ok_or_else(|| unauthorized("the Authorization header is not of the form `Bearer KEY`"))
}

/// Refuses requests that a foreign page or a rebound name sent: a browser on this machine must not be
/// made to speak to the daemon.
pub(super) async fn check_sender(State(app): State<App>, request: Request, next: Next) -> Response {
    match check_host(app.config(), &request)
        .and_then(|host| check_origin(app.config(), request.headers(), &host))
    {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            audit::turned_away(&app, &mut request.into_parts().0, &problem).await;
            ProblemResponse(problem).into_response()
        }
    }
}

fn check_host(config: &Config, request: &Request) -> Result<String, Problem> {
    let given = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .or_else(|| {
            request
                .uri()
                .authority()
                .map(|authority| authority.as_str())
        })
        .ok_or_else(|| Problem::bad("Host", "the request has no Host header"))?
        .to_owned();
    // No page and no name leads to the Unix socket.
    if request.extensions().get() == Some(&Peer::Socket) {
        return Ok(given);
    }
    let refused = || {
        Problem::new(
            ErrorKind::Forbidden,
            "foreign_host",
            format!("{given:?} is not a name of this daemon"),
        )
        .field("Host")
        .help("add the name to `allowed_hosts`")
    };
    let name = HostName::parse(without_port(&given)).map_err(|_| refused())?;
    let listens_there = name
        .address()
        .is_some_and(|ip| ip.is_loopback() || ip == config.listen.ip());
    if listens_there || name.to_string() == "localhost" || config.allowed_hosts.contains(&name) {
        return Ok(given);
    }
    Err(refused())
}

/// `host`, `host:port`, `[v6]`, `[v6]:port`.
pub(super) fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|b| b.is_ascii_digit())
                && !name.ends_with(':')
                && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

fn check_origin(config: &Config, headers: &HeaderMap, host: &str) -> Result<(), Problem> {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let own = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"))
        .is_some_and(|(_, authority)| authority == host);
    let allowed = config
        .allowed_origins
        .iter()
        .any(|known| origin == known.as_str());
    if own || allowed {
        return Ok(());
    }
    Err(Problem::new(
        ErrorKind::Forbidden,
        "foreign_origin",
        "pages of this origin may not call the daemon",
    )
    .field("Origin")
    .help("add it to `allowed_origins`"))
}

/// CORS answers, only for the origins that the operator named.
pub(super) fn cors(config: &Config) -> CorsLayer {
    let origins = config
        .allowed_origins
        .iter()
        .filter_map(|origin| HeaderValue::from_str(origin.as_str()).ok());
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::ACCEPT,
            HeaderName::from_static("last-event-id"),
            HeaderName::from_static("prefer"),
            HeaderName::from_static("mcp-session-id"),
            HeaderName::from_static("mcp-protocol-version"),
            HeaderName::from_static("mcp-method"),
            HeaderName::from_static("mcp-name"),
        ])
        .expose_headers([
            header::LOCATION,
            header::WWW_AUTHENTICATE,
            HeaderName::from_static("mcp-session-id"),
        ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_taken_off_every_form_of_host() {
        for (given, name) in [
            ("localhost:3344", "localhost"),
            ("localhost", "localhost"),
            ("127.0.0.1:1", "127.0.0.1"),
            ("[::1]:3344", "[::1]"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(without_port(given), name);
        }
    }
}
