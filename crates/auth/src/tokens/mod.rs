//! Tokens: made with another credential, for as much as that is good for or less.
//!
//! A token that names a role may do what the role allows under the configuration the daemon was started
//! with, and never more than its maker could when it was made. With a token everything that was made
//! with it is over, too. All that are in use are known here, so that no request waits for the disk.

mod credential;
mod log_in;
mod make;
mod narrow;
mod token;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::RwLock;
use subtle::ConstantTimeEq;
use tokio::sync::Mutex;

use super::{Grant, Principal, Verifier, unauthorized};
use branchyard_config::AuthConfig;
use branchyard_db::security_db::{self, SecurityDb, TokenRow};
use branchyard_model::{ErrorKind, Problem};

pub use credential::Credential;
pub use make::Name;
pub use narrow::{Lifetime, May, RequestedToken};
pub use token::{Token, TokenState};

/// What the names of principals begin with who show a token, and no others'.
pub(crate) const PRINCIPAL: &str = "token:";
/// For how long a token that is over is still known, so that its holder is told why it is refused.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// For how long one without a name of its own is kept on disk. Those with a name stay, and keep it.
const KEPT: SignedDuration = SignedDuration::from_hours(90 * 24);

/// All tokens; cheap to clone.
#[derive(Debug, Clone)]
pub struct Tokens(Arc<TokensInner>);

#[derive(Debug)]
struct TokensInner {
    trust: SecurityDb,
    config: AuthConfig,
    known: RwLock<HashMap<String, Arc<Token>>>,
    /// Held by whoever makes or revokes: nothing is made with a token that is being revoked.
    changing: Mutex<()>,
}

impl Tokens {
    pub fn open(trust: SecurityDb, config: &AuthConfig) -> Result<Self, security_db::Error> {
        let now = Timestamp::now();
        trust.forget_tokens(now - KEPT);
        let mut known: HashMap<String, Arc<Token>> = HashMap::new();
        // In the order in which they were made, so that each finds the one it was made with.
        for row in trust.tokens(now - REMEMBERED)? {
            let grant: Grant = match serde_json::from_str(&row.grant_json) {
                Ok(grant) => grant,
                Err(error) => {
                    tracing::error!(token = row.name, %error, "a token is refused: what it is good for cannot be read");
                    continue;
                }
            };
            let parent = row.parent.as_ref().and_then(|id| known.get(id));
            let token = Token::new(&row, grant, parent.map(Arc::as_ref), config);
            if token.state(now) == TokenState::Useless {
                tracing::warn!(
                    token = row.name,
                    role = row.role,
                    "a token is good for nothing: it, or one that it was made with, has a role that is not in the configuration"
                );
            }
            known.insert(token.id().to_owned(), Arc::new(token));
        }
        Ok(Self(Arc::new(TokensInner {
            trust,
            config: config.clone(),
            known: RwLock::new(known),
            changing: Mutex::new(()),
        })))
    }

    /// Those that are known, oldest first.
    pub fn list(&self) -> Vec<Arc<Token>> {
        let known = self.0.known.read();
        let mut all: Vec<_> = known.values().cloned().collect();
        all.sort_by(|a, b| (a.row().created_at, a.id()).cmp(&(b.row().created_at, b.id())));
        all
    }

    /// By its id or its name.
    pub fn find(&self, named: &str) -> Option<Arc<Token>> {
        let known = self.0.known.read();
        let by_name = || known.values().find(|token| token.name() == named);
        known.get(named).or_else(by_name).cloned()
    }

    /// The token that this principal showed, if it was one.
    pub fn shown_by(&self, principal: &Principal) -> Option<Arc<Token>> {
        self.find(principal.name().strip_prefix(PRINCIPAL)?)
    }

    /// Takes back a token and all that were made with it; those that were not before. What their holders
    /// have open ends at once, whatever becomes of the disk.
    pub async fn revoke(&self, token: &Arc<Token>) -> Result<Vec<Arc<Token>>, Problem> {
        let _changing = self.0.changing.lock().await;
        let (now, name) = (Timestamp::now(), token.principal_name());
        let mut all = self.list();
        all.retain(|other| other.id() == token.id() || other.is_below(&name));
        let ids = all.iter().map(|token| token.id().to_owned()).collect();
        let before = all.clone();
        all.retain(|token| token.revoked_at().is_none());
        for token in &before {
            token.revoke(now);
        }
        let kept = self.0.trust.revoke_tokens(ids, now).await;
        kept.map(|()| all).map_err(|error| {
            let help = "it is refused until the daemon is started anew; ask again when the disk is in order";
            not_kept(&error).help(help)
        })
    }
}

#[async_trait::async_trait]
impl Verifier for Tokens {
    async fn verify(&self, credential: &str) -> Result<Option<Principal>, Problem> {
        if !credential.starts_with(credential::PREFIX) {
            return Ok(None);
        }
        // Whether there is no such token or its secret is another, nobody is told.
        let unknown = || {
            unauthorized("the token is not one that this daemon knows")
                .help("`branchyard token create` makes one; of those that were made, only hashes are kept")
        };
        let (id, hash) = credential::read(credential).ok_or_else(unknown)?;
        let token = self.0.known.read().get(id).cloned();
        let token = token
            .filter(|token| bool::from(token.row().hash.ct_eq(&hash)))
            .ok_or_else(unknown)?;
        let now = Timestamp::now();
        let principal = token.holder(now)?;
        if token.used(now) {
            self.0.trust.note_token_use(token.id(), now);
        }
        Ok(Some(principal))
    }
}

fn not_kept(error: &security_db::Error) -> Problem {
    let detail = format!("what was asked for tokens is not on the disk: {error}");
    Problem::new(ErrorKind::Unavailable, "trust_unavailable", detail)
}
