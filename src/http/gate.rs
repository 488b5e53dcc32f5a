//! Who gets in: the sender's `Host` and `Origin` first, then the credential and the right that the
//! route asks for, then whether they have too much under way already.

use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, Version, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use tokio_stream::StreamExt;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::audit;
use super::credential::{Credential, credential, without_port};
use super::limits;
use super::problem::ProblemResponse;
use super::route::{Access, Route};
use super::session::check_page;
use crate::app::App;
use branchyard_auth::{Connection, Peer, Principal, unauthorized};
use branchyard_config::{Config, HostName};
use branchyard_model::{ErrorKind, Problem, Scope};

/// What is checked before a handler is asked.
#[derive(Debug, Clone)]
struct Guard {
    app: App,
    right: Option<Scope>,
    /// Whether the handler may end the very credential that it is called with.
    ends_credentials: bool,
}

/// The handler behind the check of its right. The principal is found in the request's extensions.
pub(super) fn guarded(app: &App, route: &Route, handler: MethodRouter<App>) -> MethodRouter<App> {
    let right = match route.access {
        Access::Open => return handler,
        Access::Known => None,
        Access::Needs(right) => Some(right),
    };
    let action = route.action.as_deref();
    let guard = Guard {
        app: app.clone(),
        right,
        ends_credentials: matches!(action, Some("token.revoke" | "session.close")),
    };
    handler.route_layer(from_fn_with_state(guard, authorize))
}

async fn authorize(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let Guard { app, right, .. } = guard;
    let shown = credential(request.headers());
    let by_cookie = matches!(shown, Ok(Some(Credential::Cookie(_))));
    let is_shown = matches!(shown, Ok(Some(_)));
    let shown = shown.map(|shown| shown.map(|shown| shown.text().to_owned()));
    let known = match shown {
        Ok(shown) => app.who(shown.as_deref()).await,
        Err(problem) => Err(problem),
    };
    let principal = match known {
        Ok(principal) => principal,
        Err(problem) => return limits::unknown(&app, request.extensions().get(), problem),
    };
    // A caller that needs no credential has shown none that would set it apart.
    if is_shown
        && let Some(connection) = request.extensions().get::<Arc<dyn Connection>>()
        && let Err(problem) = connection.authenticated()
    {
        return ProblemResponse(problem).into_response();
    }
    let own = match by_cookie {
        true => check_page(request.method(), request.headers()),
        false => Ok(()),
    };
    let allowed = own.and_then(|()| match right {
        Some(right) => principal.require(right).and_then(|()| app.check_place()),
        None => Ok(()),
    });
    let mut response = match allowed {
        Ok(()) => {
            request.extensions_mut().insert(principal.clone());
            let answer = limits::admitted(&app, principal.account(), request, next);
            let answer = match guard.ends_credentials {
                true => answer.await,
                false => unless_gone(answer, &principal).await,
            };
            until_gone(answer, principal.clone())
        }
        Err(problem) => ProblemResponse(problem).into_response(),
    };
    // Whoever records a refusal is to know whose it was.
    response.extensions_mut().insert(principal);
    response
}

/// An answer that is waited for: a run's end, a lock, a clone. Who revokes a credential must not find that it was
/// answered afterwards, so the wait ends as it does for a caller who hangs up.
async fn unless_gone(answer: impl Future<Output = Response>, principal: &Principal) -> Response {
    tokio::select! {
        biased;
        () = principal.gone() => {
            let problem = unauthorized("the credential was revoked or has expired in the meantime");
            ProblemResponse(problem).into_response()
        }
        answer = answer => answer,
    }
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
            while let Some(piece) = tokio::select! {
                biased;
                () = &mut gone => None,
                piece = pieces.next() => piece,
            } {
                yield piece;
            }
        })
    })
}

/// Refuses requests that a foreign page or a rebound name sent: a browser on this machine must not be
/// made to speak to the daemon.
pub(super) async fn check_sender(State(app): State<App>, request: Request, next: Next) -> Response {
    // What asks whether the daemon lives may be as old as HTTP/1.0, which has no Host. No browser is.
    let is_probe = request.version() == Version::HTTP_10
        && request.uri().path() == "/healthz"
        && !request.headers().contains_key(header::HOST);
    if is_probe {
        return next.run(request).await;
    }
    match check_host(app.config(), &request)
        .and_then(|host| check_origin(app.config(), &request, &host))
    {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            audit::turned_away(&app, &mut request.into_parts().0, &problem).await;
            ProblemResponse(problem).into_response()
        }
    }
}

fn check_host(config: &Config, request: &Request) -> Result<String, Problem> {
    let given = host(request)?.to_owned();
    // No page and no name leads to the Unix socket.
    if request.extensions().get() == Some(&Peer::Socket) {
        return Ok(given);
    }
    let refused = || {
        let detail = format!("{given:?} is not a name of this daemon");
        Problem::new(ErrorKind::Forbidden, "foreign_host", detail)
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

/// The one host that a request is for. Where there are two, a proxy may have looked at the other.
fn host(request: &Request) -> Result<&str, Problem> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let in_header = hosts.next();
    if hosts.next().is_some() {
        return Err(Problem::bad("Host", "the request has several Host headers"));
    }
    let in_header = in_header
        .map(|host| host.to_str())
        .transpose()
        .map_err(|_| Problem::bad("Host", "the Host header is not ASCII"))?;
    let in_target = request.uri().authority().map(|host| host.as_str());
    match (in_header, in_target) {
        (Some(one), Some(other)) if !one.eq_ignore_ascii_case(other) => Err(Problem::bad(
            "Host",
            "the request line names another host than the Host header",
        )),
        (Some(host), _) | (None, Some(host)) => Ok(host),
        (None, None) => Err(Problem::bad("Host", "the request has no Host header")),
    }
}

fn check_origin(config: &Config, request: &Request, host: &str) -> Result<(), Problem> {
    let mut origins = request.headers().get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else {
        return Ok(());
    };
    if origins.next().is_some() {
        let detail = "the request has several Origin headers";
        return Err(Problem::bad("Origin", detail));
    }
    // The socket is plain HTTP.
    let is_socket = request.extensions().get() == Some(&Peer::Socket);
    let scheme = match config.tls {
        Some(_) if !is_socket => "https",
        _ => "http",
    };
    let own = |origin| is_origin(scheme, origin, host);
    let mut allowed = config.allowed_origins.iter();
    if origin.to_str().is_ok_and(own) || allowed.any(|known| origin == known.as_str()) {
        return Ok(());
    }
    let detail = "pages of this origin may not call the daemon";
    Err(Problem::new(ErrorKind::Forbidden, "foreign_origin", detail)
        .field("Origin")
        .help(
            "add it to `allowed_origins`, also where a proxy in front of the daemon adds the https",
        ))
}

/// Whether a page of `origin` came from here, where the daemon is called `host`: same scheme, name and port.
fn is_origin(scheme: &str, origin: &str, host: &str) -> bool {
    let port = match scheme {
        "https" => ":443",
        _ => ":80",
    };
    // Browsers leave out the scheme's own port, and other clients need not.
    let bare = |authority: &str| {
        let authority = authority.to_ascii_lowercase();
        authority
            .strip_suffix(port)
            .unwrap_or(&authority)
            .to_owned()
    };
    let origin = origin.split_once("://");
    origin.is_some_and(|(given, authority)| given == scheme && bare(authority) == bare(host))
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

/// What every answer tells a browser: that no page of another origin may have it as an image, a script or the
/// like, and that it is what its type says.
pub(super) async fn kept_apart(request: Request, next: Next) -> Response {
    let headers = [
        ("cross-origin-resource-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
    ];
    (headers, next.run(request).await).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_name_and_a_port() {
        for (scheme, origin, host, expected) in [
            ("http", "http://a:1", "a:1", true),
            ("http", "http://a", "a", true),
            ("http", "http://a", "a:80", true),
            ("http", "http://a", "A", true),
            ("http", "https://a:1", "a:1", false),
            ("http", "https://a", "a", false),
            ("http", "http://a:2", "a:1", false),
            ("http", "http://a", "a:1", false),
            ("http", "http://b:1", "a:1", false),
            ("http", "http://a:443", "a", false),
            ("https", "https://a", "a:443", true),
            ("https", "https://a:1", "a:1", true),
            ("https", "http://a:1", "a:1", false),
            ("https", "http://a", "a", false),
            ("https", "https://a", "a:80", false),
            ("https", "https://[::1]:1", "[::1]:1", true),
            ("http", "null", "null", false),
            ("http", "", "", false),
            ("http", "HTTP://a", "a", false),
            ("http", "http://u@a", "a", false),
        ] {
            assert_eq!(
                is_origin(scheme, origin, host),
                expected,
                "{scheme} {origin} {host}"
            );
        }
    }

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
