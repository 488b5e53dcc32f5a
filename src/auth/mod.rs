//! Who asks, and may they? A credential becomes a [`Principal`] with rights; every face asks the same
//! question here. Nothing in this module knows of HTTP.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::config::SessionKey;
use crate::model::{ErrorKind, Problem};

/// What a principal may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    RepoRead,
    BuildRun,
    GitRead,
    GitWrite,
    CodeRun,
    Ops,
    Admin,
}

impl Right {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RepoRead => "repo:read",
            Self::BuildRun => "build:run",
            Self::GitRead => "git:read",
            Self::GitWrite => "git:write",
            Self::CodeRun => "code:run",
            Self::Ops => "ops",
            Self::Admin => "admin",
        }
    }
}

/// Who asks.
#[derive(Debug, Clone)]
pub struct Principal {
    pub name: String,
    rights: Vec<Right>,
}

impl Principal {
    /// The holder of the session key, who may do everything.
    fn session() -> Self {
        use Right as R;
        Self {
            name: "session".to_owned(),
            rights: vec![
                R::RepoRead,
                R::BuildRun,
                R::GitRead,
                R::GitWrite,
                R::CodeRun,
                R::Ops,
                R::Admin,
            ],
        }
    }

    /// Whoever asked for a build before, with the right that was looked at then.
    pub fn of_build(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rights: vec![Right::BuildRun],
        }
    }

    pub fn require(&self, right: Right) -> Result<(), Problem> {
        if self.rights.contains(&right) {
            return Ok(());
        }
        Err(Problem::new(
            ErrorKind::Forbidden,
            "missing_right",
            format!("{} does not have the right {}", self.name, right.as_str()),
        ))
    }
}

/// Turns credentials into principals.
#[derive(Debug)]
pub struct Auth {
    /// Only the key's hash is kept, so comparing cannot leak its length either.
    session: [u8; 32],
}

impl Auth {
    pub fn new(key: &SessionKey) -> Self {
        Self {
            session: hash(key.expose()),
        }
    }

    /// The principal behind a bearer token.
    pub fn bearer(&self, token: &str) -> Result<Principal, Problem> {
        if bool::from(hash(token).ct_eq(&self.session)) {
            Ok(Principal::session())
        } else {
            Err(unauthorized("the key is not the one of this daemon"))
        }
    }
}

/// The answer to a missing or wrong credential.
pub fn unauthorized(detail: &str) -> Problem {
    Problem::new(ErrorKind::Unauthorized, "unauthorized", detail).help(
        "send `Authorization: Bearer KEY`; the daemon keeps such a line in <workspaces>/.branchyard/auth.header for `curl -H @FILE`",
    )
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
