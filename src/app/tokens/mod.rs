//! Tokens, and who one is. A caller can make a token for at most what the caller may do; who sees and
//! revokes which is decided here.

mod request;
mod view;

use std::sync::Arc;

use jiff::Timestamp;

use super::AuthorizedApp;
use branchyard_auth::{Name, Principal, Token};
use branchyard_model::{ErrorKind, Problem, Scope};

pub use branchyard_auth::TokenState;
pub use request::{TokenFilter, TokenRequest};
pub use view::{Good, MadeToken, RevokedTokens, TokenView, WhoAmI};

pub fn whoami(app: &AuthorizedApp) -> WhoAmI {
    let token = app.yard().tokens.shown_by(app.principal());
    WhoAmI::new(app.principal(), token.as_deref())
}

/// A token within what the asker may do. The answer holds its secret; nobody is told again.
pub async fn make_token(app: &AuthorizedApp, request: &TokenRequest) -> Result<MadeToken, Problem> {
    let requested = request.requested(&app.yard().config.auth)?;
    app.yard().margin.check()?;
    let name = request.name.clone();
    let name = name.map_or(Name::Id, Name::Given);
    let (tokens, role) = (&app.yard().tokens, request.role.clone());
    let (made, token) = tokens.make(app.principal(), name, role, &requested).await?;
    let made = TokenView::new(&made, Timestamp::now());
    Ok(MadeToken { token, made })
}

/// Those that the asker may know of, oldest first.
pub fn list(app: &AuthorizedApp, filter: &TokenFilter) -> Vec<TokenView> {
    let now = Timestamp::now();
    let mut all = app.yard().tokens.list();
    all.retain(|token| may_know(app.principal(), token));
    all.retain(|token| filter.all || is_in_use(token, now));
    all.iter().map(|token| TokenView::new(token, now)).collect()
}

pub fn get(app: &AuthorizedApp, named: &str) -> Result<TokenView, Problem> {
    let token = known_token(app, named)?;
    Ok(TokenView::new(&token, Timestamp::now()))
}

/// Takes a token back, and all that were made with it.
pub async fn revoke_token(app: &AuthorizedApp, named: &str) -> Result<RevokedTokens, Problem> {
    let token = known_token(app, named)?;
    let revoked = app.yard().tokens.revoke(&token).await?;
    let with_it = revoked.iter().filter(|other| other.id() != token.id());
    Ok(RevokedTokens {
        revoked: TokenView::new(&token, Timestamp::now()),
        with_it: with_it.map(|other| other.name().to_owned()).collect(),
    })
}

fn known_token(app: &AuthorizedApp, named: &str) -> Result<Arc<Token>, Problem> {
    let token = app.yard().tokens.find(named);
    let known = token.filter(|token| may_know(app.principal(), token));
    known.ok_or_else(|| {
        let detail = format!("there is no token {named:?}, or it is not of your making");
        Problem::new(ErrorKind::NotFound, "token_not_found", detail)
            .help("`branchyard token list` names those that are yours to revoke")
    })
}

/// One's own, those that were made with it, and for those who look after the whole yard all of them.
fn may_know(principal: &Principal, token: &Token) -> bool {
    let is_admin = principal.rights().contains(Scope::Admin) && principal.grant().is_everywhere();
    is_admin || token.is_below(principal.name()) || token.principal_name() == principal.name()
}

/// Also those that a change of the configuration made useless: another makes them good again.
fn is_in_use(token: &Token, now: Timestamp) -> bool {
    matches!(token.state(now), TokenState::Live | TokenState::Useless)
}
