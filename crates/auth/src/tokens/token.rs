//! One token, as the daemon knows it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{log_in, narrow};
use crate::{Grant, Principal, unauthorized};
use branchyard_config::AuthConfig;
use branchyard_db::security_db::TokenRow;
use branchyard_model::{ErrorKind, Problem};

/// How old the time of the last use on disk may be.
const USE_NOTED_EVERY: SignedDuration = SignedDuration::from_mins(1);
const NEVER: i64 = i64::MIN;

#[derive(Debug)]
pub struct Token {
    row: TokenRow,
    /// The principals above it, from the first one to the one who made it.
    line: Vec<String>,
    /// What it was given. What it is good for is within that, and in `standing`.
    grant: Grant,
    standing: Result<Principal, Problem>,
    revoked: CancellationToken,
    revoked_at: OnceLock<Timestamp>,
    last_used: AtomicI64,
    last_noted: AtomicI64,
}

// Whether a token can be used, and if not, why. No doc comment: its schema has no description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenState {
    Live,
    Expired,
    Revoked,
    /// It has a role that is not in the configuration.
    Useless,
}

impl Token {
    /// What the row stands for under this configuration; `parent` is the token that it was made with.
    pub(super) fn new(
        row: &TokenRow,
        grant: Grant,
        parent: Option<&Self>,
        config: &AuthConfig,
    ) -> Self {
        let revoked = CancellationToken::new();
        let standing = standing(row, &grant, parent, config).map(|grant| {
            let name = principal_name(&row.name);
            let account = row.account.clone().unwrap_or_else(|| name.clone());
            Principal::new(name, grant)
                .charged_to(account)
                .revocable(revoked.clone())
        });
        let mut line = parent.map_or_else(Vec::new, |parent| parent.line.clone());
        line.push(row.created_by.clone());
        let micros = |time: Option<Timestamp>| time.map_or(NEVER, Timestamp::as_microsecond);
        let token = Self {
            row: row.clone(),
            line,
            grant,
            standing,
            revoked,
            revoked_at: OnceLock::new(),
            last_used: AtomicI64::new(micros(row.last_used_at)),
            last_noted: AtomicI64::new(micros(row.last_used_at)),
        };
        if let Some(at) = row.revoked_at {
            token.revoke(at);
        }
        token
    }

    pub fn id(&self) -> &str {
        &self.row.id
    }

    pub fn name(&self) -> &str {
        &self.row.name
    }

    /// Of a log-in to the page: who logged in; empty where that is not known.
    pub fn log_in(&self) -> Option<&str> {
        log_in::person(&self.row.name, &self.row.id)
    }

    /// As it was made: its role, when, and the hash of its secret.
    pub fn row(&self) -> &TokenRow {
        &self.row
    }

    pub fn line(&self) -> &[String] {
        &self.line
    }

    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Who shows it, or why nobody may any more. Asked only where the secret was right.
    pub(super) fn holder(&self, now: Timestamp) -> Result<Principal, Problem> {
        let over = |why: &str| {
            let detail = format!("the token {} {why}", self.row.name);
            Err(unauthorized(&detail)
                .help("ask whoever made it for another; `branchyard token create` makes one"))
        };
        match self.state(now) {
            TokenState::Revoked => over("was revoked"),
            TokenState::Expired => over("has expired"),
            TokenState::Live | TokenState::Useless => self.standing.clone(),
        }
    }

    pub fn state(&self, now: Timestamp) -> TokenState {
        match &self.standing {
            _ if self.revoked_at().is_some() => TokenState::Revoked,
            _ if self.grant.has_expired(now) => TokenState::Expired,
            Ok(_) => TokenState::Live,
            Err(_) => TokenState::Useless,
        }
    }

    /// What it is good for under the configuration of now.
    pub fn good_for(&self) -> Option<&Grant> {
        self.standing.as_ref().ok().map(Principal::grant)
    }

    pub fn principal_name(&self) -> String {
        principal_name(&self.row.name)
    }

    /// Whether it was made by this principal, or with a token that was.
    pub fn is_below(&self, principal: &str) -> bool {
        self.line.iter().any(|above| above == principal)
    }

    /// When it was over, if it is.
    pub(super) fn ended_at(&self, now: Timestamp) -> Option<Timestamp> {
        let expired = self.grant.expires.filter(|expires| *expires <= now);
        self.revoked_at().or(expired)
    }

    /// Takes it back, and tells whoever listens. The first time counts.
    pub(super) fn revoke(&self, at: Timestamp) {
        // Whoever was first has said when.
        let _ = self.revoked_at.set(at);
        self.revoked.cancel();
    }

    pub fn revoked_at(&self) -> Option<Timestamp> {
        self.revoked_at.get().copied()
    }

    pub fn last_used(&self) -> Option<Timestamp> {
        time(self.last_used.load(Ordering::Relaxed))
    }

    /// Takes note of a use; `true` where it is time to write that down.
    pub(super) fn used(&self, now: Timestamp) -> bool {
        let (micros, order) = (now.as_microsecond(), Ordering::Relaxed);
        self.last_used.store(micros, order);
        let noted = self.last_noted.load(order);
        let is_due = time(noted).is_none_or(|noted| now.duration_since(noted) >= USE_NOTED_EVERY);
        // Of those who come at once, one writes.
        let exchange = || {
            self.last_noted
                .compare_exchange(noted, micros, order, order)
        };
        is_due && exchange().is_ok()
    }
}

pub(super) fn principal_name(token: &str) -> String {
    format!("{}{token}", super::PRINCIPAL)
}

/// Its grant, within what its role allows today and what the token above it is good for today.
fn standing(
    row: &TokenRow,
    grant: &Grant,
    parent: Option<&Token>,
    config: &AuthConfig,
) -> Result<Grant, Problem> {
    let mut grant = grant.clone();
    if let Some(name) = &row.role {
        let role = config.roles.get(name);
        let role = role.ok_or_else(|| role_gone(&row.name, name))?;
        grant = narrow::within(grant, role.scopes, &role.toolsets);
    }
    match (parent, &row.parent) {
        (Some(parent), _) => {
            let above = parent.standing.as_ref().map_err(Clone::clone)?.grant();
            Ok(narrow::within(grant, above.rights, &above.toolsets))
        }
        (None, None) => Ok(grant),
        (None, Some(_)) => {
            let name = &row.name;
            let detail = format!("the token that {name} was made with is not known any more");
            Err(unauthorized(&detail))
        }
    }
}

fn role_gone(token: &str, role: &str) -> Problem {
    let detail = format!(
        "the token {token} has the role {role}, which this daemon does not have (any more)"
    );
    Problem::new(ErrorKind::Forbidden, "role_gone", detail).help(format!(
        "the operator can add [auth.roles.{role}] to the configuration; else ask for another token"
    ))
}

fn time(micros: i64) -> Option<Timestamp> {
    Timestamp::from_microsecond(micros).ok()
}
