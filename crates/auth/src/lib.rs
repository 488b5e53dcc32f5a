//! Who asks, and may they? A credential becomes a [`Principal`], which is asked by every face through
//! [`crate::app`] whether it may do a thing at a place. Nothing in this module knows of HTTP.

mod area;
mod grant;
mod hook_places;
mod jwt;
mod limits;
mod peer;
mod principal;
mod session;
mod tickets;
mod tokens;

use std::fmt;

use branchyard_config::{AuthConfig, SessionKey};
use branchyard_model::{ErrorKind, Problem};
use session::Session;

pub use area::Area;
pub use grant::Grant;
pub use hook_places::HookPlace;
pub use jwt::Jwts;
pub use limits::{Limiter, Permit, Use};
pub use peer::{Connection, Peer};
pub use principal::Principal;
pub use tickets::{GOOD_FOR as TICKETS_GOOD_FOR, Tickets};
pub use tokens::{Credential, Lifetime, May, Name, RequestedToken, Token, TokenState, Tokens};

/// The principals' names that are there without anybody having made a credential.
const SESSION: &str = "session";
const ANONYMOUS: &str = "anonymous";

/// One kind of credential.
#[async_trait::async_trait]
pub trait Verifier: fmt::Debug + Send + Sync {
    /// Who showed it. `None` where it is of another kind; a refusal where it is of this kind and not good.
    async fn verify(&self, credential: &str) -> Result<Option<Principal>, Problem>;
}

/// Turns credentials into principals, whichever kind they are of.
#[derive(Debug)]
pub struct Auth {
    verifiers: Vec<Box<dyn Verifier>>,
    /// Who shows no credential, where that is allowed.
    anonymous: Option<Principal>,
}

impl Auth {
    pub fn new(key: &SessionKey, config: &AuthConfig) -> Self {
        let role = config.none.as_ref().and_then(|name| config.roles.get(name));
        Self {
            verifiers: vec![Box::new(Session::new(key))],
            anonymous: role.map(|role| Principal::new(ANONYMOUS, Grant::of_role(role))),
        }
    }

    /// Takes one more kind of credential.
    #[must_use]
    pub fn with(mut self, verifier: impl Verifier + 'static) -> Self {
        self.verifiers.push(Box::new(verifier));
        self
    }

    /// Who shows this credential, or none.
    pub async fn who(&self, credential: Option<&str>) -> Result<Principal, Problem> {
        let Some(credential) = credential else {
            return self
                .anonymous
                .clone()
                .ok_or_else(|| unauthorized("the request has no credential"));
        };
        for verifier in &self.verifiers {
            if let Some(principal) = verifier.verify(credential).await? {
                return Ok(principal);
            }
        }
        Err(unauthorized(
            "the credential is not one that this daemon knows",
        ))
    }
}

/// The answer to a missing or wrong credential.
pub fn unauthorized(detail: &str) -> Problem {
    Problem::new(ErrorKind::Unauthorized, "unauthorized", detail).help(
        "send `Authorization: Bearer KEY`; the daemon keeps such a line in <workspaces>/.branchyard/auth.header for `curl -H @FILE`",
    )
}
