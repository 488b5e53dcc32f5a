//! Logging in to the page: a credential becomes a cookie that no script can read, and goes with the log-out.
//!
//! A browser sends a cookie whoever has it send something. So it is never sent from another site (`SameSite=Strict`),
//! pages of other origins are turned away at the gate, and what is not a mere look has to carry a header that only a page
//! of our own can add.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::credential::{Credential, cookie_name, credential};
use super::extract::{At, Body};
use super::limits;
use super::negotiate::accepts;
use super::problem::HttpResult;
use super::route::Access::{Known, Open};
use super::route::{Route, With, does, reads};
use crate::app::{App, AuthorizedApp, Session, WhoAmI, session, tokens};
use branchyard_auth::Peer;
use branchyard_model::{ErrorKind, Problem};

/// What a page of our own says of itself.
const OWN_PAGE: &str = "branchyard-page";

/// A credential for a cookie and back, or for a link that logs in once.
pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("showSession", "Who is logged in, if anybody")
            .or::<Visitor>(200, "To ask is no failure.")
            .get("/api/session", Open, show),
        does(
            "session.open",
            "openSession",
            "Log in to the page: the credential for a cookie",
        )
        .gives("Whoever is logged in now; the cookie comes with it.")
        .post("/api/session", Known, open),
        does("session.close", "closeSession", "Log out of the page")
            .gives("The cookie is good no more.")
            .delete("/api/session", Known, close),
        does(
            "session.ticket",
            "createTicket",
            "A link that logs a browser in, once",
        )
        .gives("The link.")
        .post("/api/session/ticket", Known, ticket),
        reads("redeemTicket", "Follow a link that logs in")
            .only(303, "To the page; the cookie comes with it.")
            .get("/open/{ticket}", Open, redeem),
    ]
}

type Cookie = [(HeaderName, String); 1];

/// Who is logged in.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
struct Visitor {
    /// `null` where nobody is.
    principal: Option<WhoAmI>,
}

/// A link that logs a browser in.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ticket")]
pub struct Link {
    /// Where to go: good once.
    pub path: String,
    /// For how many seconds it is good.
    pub expires_in: u64,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LogIn")]
struct LogInBody {
    /// Who logs in: runs, commits and the audit name them. Letters, digits, '.', '_' and '-'; if left out, what the
    /// token is called that is logged in with.
    name: Option<String>,
}

/// Logs in the caller, who showed a credential.
async fn open(
    State(app): State<App>,
    authorized: AuthorizedApp,
    headers: HeaderMap,
    Body(body): Body<LogInBody>,
) -> HttpResult<(Cookie, Json<Visitor>)> {
    let session = session::log_in(&authorized, body.name).await?;
    let who = about(Some(tokens::whoami(&authorized)));
    Ok(([cookie(&app, &headers, &session)], who))
}

/// Who is logged in, if anybody: to ask is no failure.
async fn show(
    State(app): State<App>,
    peer: Option<axum::Extension<Peer>>,
    headers: HeaderMap,
) -> HttpResult {
    let shown = credential(&headers)?;
    match app.who(shown.as_ref().map(Credential::text)).await {
        Ok(principal) => {
            let who = tokens::whoami(&app.for_principal(principal));
            Ok(about(Some(who)).into_response())
        }
        Err(_) if shown.is_none() => Ok(about(None).into_response()),
        Err(problem) => {
            let counted = limits::unknown(&app, peer.as_deref(), problem);
            if counted.status() != StatusCode::UNAUTHORIZED {
                return Ok(counted);
            }
            Ok(([forgotten(&headers)], about(None)).into_response())
        }
    }
}

/// Logs out; a credential that came in another way is not a session, and stays good.
async fn close(
    authorized: AuthorizedApp,
    headers: HeaderMap,
) -> HttpResult<With<204, (Cookie, ())>> {
    if let Some(Credential::Cookie(_)) = credential(&headers)? {
        session::log_out(&authorized).await?;
    }
    Ok(With(([forgotten(&headers)], ())))
}

/// A link that logs a browser in, once.
async fn ticket(authorized: AuthorizedApp) -> HttpResult<With<201, Json<Link>>> {
    let ticket = session::ticket(&authorized)?;
    let link = Link {
        path: format!("/open/{}", ticket.text),
        expires_in: ticket.good_for.as_secs(),
    };
    Ok(With(Json(link)))
}

/// Follows such a link. Only a browser that goes there uses it up: programs that look at links before a person
/// does (HEAD, prefetching, previews within a page) learn nothing of it.
async fn redeem(
    State(app): State<App>,
    peer: Option<axum::Extension<Peer>>,
    At(ticket): At<String>,
    method: Method,
    headers: HeaderMap,
) -> HttpResult {
    if method == Method::HEAD {
        return Ok(StatusCode::OK.into_response());
    }
    if !is_visit(&headers) {
        let detail = "this link is for a browser that goes there, not for a look ahead";
        let problem = Problem::new(ErrorKind::Forbidden, "not_a_visit", detail);
        return Err(problem.help("open the link in a browser").into());
    }
    let Some(authorized) = app.redeem(&ticket) else {
        let detail = "this link was used already, or is older than a minute";
        let problem = Problem::new(ErrorKind::Unauthorized, "ticket_used", detail)
            .help("`branchyard open` makes another");
        let refusal = limits::unknown(&app, peer.as_deref(), problem);
        return Ok(match refusal.status() {
            // A person is told by the page, which can also let them in.
            StatusCode::UNAUTHORIZED if accepts(&headers, "text/html") => {
                let to_the_page = [(header::LOCATION, "../#/?link=used")];
                (StatusCode::SEE_OTHER, to_the_page).into_response()
            }
            _ => refusal,
        });
    };
    let session = session::log_in(&authorized, None).await?;
    let to_the_page = [(header::LOCATION, "../".to_owned())];
    let cookie = [cookie(&app, &headers, &session)];
    Ok((StatusCode::SEE_OTHER, cookie, to_the_page).into_response())
}

/// Whether a request is what it says of itself: a person going to an address. Programs that say nothing count too.
fn is_visit(headers: &HeaderMap) -> bool {
    let says = |name: &str, word: &str| {
        let mut values = headers.get_all(name).iter();
        values.any(|value| value.to_str().is_ok_and(|value| value.contains(word)))
    };
    let mut purposes = ["sec-purpose", "purpose", "x-purpose", "x-moz"].iter();
    let looks_ahead = purposes.any(|name| says(name, "prefetch") || says(name, "preview"));
    let goes_elsewhere = |name: &str, word: &str| headers.contains_key(name) && !says(name, word);
    !looks_ahead
        && !goes_elsewhere("sec-fetch-dest", "document")
        && !goes_elsewhere("sec-fetch-mode", "navigate")
}

fn about(principal: Option<WhoAmI>) -> Json<Visitor> {
    Json(Visitor { principal })
}

/// Refuses what a page of another site may have made a browser send.
pub(super) fn check_page(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    if method.is_safe() || headers.contains_key(OWN_PAGE) {
        return Ok(());
    }
    let detail = "what is asked for with a cookie has to come from the daemon's own page";
    Err(Problem::new(ErrorKind::Forbidden, "csrf", detail)
        .field(OWN_PAGE)
        .help("programs send `Authorization: Bearer KEY` in place of the cookie"))
}

fn cookie(app: &App, headers: &HeaderMap, session: &Session) -> (HeaderName, String) {
    let (name, lasts) = (cookie_name(headers), session.lasts.as_secs());
    let secure = match app.config().tls {
        Some(_) => "; Secure",
        None => "",
    };
    let text = session.credential.expose();
    let value =
        format!("{name}={text}; Path=/; HttpOnly; SameSite=Strict; Max-Age={lasts}{secure}");
    (header::SET_COOKIE, value)
}

fn forgotten(headers: &HeaderMap) -> (HeaderName, String) {
    let name = cookie_name(headers);
    let value = format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    (header::SET_COOKIE, value)
}
