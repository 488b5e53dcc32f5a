//! Sessions of the page: a token for as much as the one who logs in may do, for half a day at most. So it survives
//! the daemon, is listed and taken back like any other, and ends with the credential that it was had with.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{App, AuthorizedApp};
use branchyard_auth::{Area, Credential, Lifetime, May, Name, RequestedToken, TICKETS_GOOD_FOR};
use branchyard_model::{ErrorKind, Problem};

const LASTS: SignedDuration = SignedDuration::from_hours(12);

/// Somebody who has logged in.
#[derive(Debug)]
pub struct Session {
    pub credential: Credential,
    pub lasts: Duration,
}

/// A way in that can be used once.
#[derive(Debug)]
pub struct Ticket {
    pub text: String,
    pub good_for: Duration,
}

/// Logs in the person of this name; without one, the person that the token is called after that they log in with.
pub async fn log_in(app: &AuthorizedApp, person: Option<String>) -> Result<Session, Problem> {
    let now = Timestamp::now();
    let own = app.principal().grant().expires;
    let until = own.map_or(now + LASTS, |own| own.min(now + LASTS));
    let requested = RequestedToken {
        may: May::Only(app.principal().rights()),
        toolsets: None,
        area: Area::everywhere(),
        lifetime: Some(Lifetime::Until(until)),
        author: None,
    };
    let tokens = &app.yard().tokens;
    let person = person.or_else(|| {
        let token = tokens.shown_by(app.principal())?;
        let own = token.log_in().unwrap_or(token.name());
        (!own.is_empty() && own != token.id()).then(|| own.to_owned())
    });
    let name = Name::LogIn(person);
    let (_, credential) = tokens.make(app.principal(), name, None, &requested).await?;
    Ok(Session {
        credential,
        lasts: until.duration_since(now).unsigned_abs(),
    })
}

/// Takes back the token that a session is.
pub async fn log_out(app: &AuthorizedApp) -> Result<(), Problem> {
    match app.yard().tokens.shown_by(app.principal()) {
        Some(token) => app.yard().tokens.revoke(&token).await.map(drop),
        None => Ok(()),
    }
}

pub fn ticket(app: &AuthorizedApp) -> Result<Ticket, Problem> {
    let issued = app.yard().tickets.issue(app.principal());
    let text = issued.map_err(|error| {
        let detail = format!("the machine gives no random numbers: {error}");
        Problem::new(ErrorKind::Internal, "no_randomness", detail)
    })?;
    Ok(Ticket {
        text,
        good_for: TICKETS_GOOD_FOR,
    })
}

impl App {
    /// The authorized app of whoever was given this ticket.
    pub fn redeem(&self, ticket: &str) -> Option<AuthorizedApp> {
        let principal = self.0.tickets.redeem(ticket)?;
        Some(self.for_principal(principal))
    }
}
