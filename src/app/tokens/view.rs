//! Tokens and principals as callers are shown them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_auth::{Area, Credential, Grant, Principal, Token, TokenState};
use branchyard_config::Toolset;
use branchyard_model::{Author, Scope};

/// What somebody may do, where, and until when.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Good {
    pub scopes: Vec<Scope>,
    /// The sets of MCP tools that it may be offered.
    pub toolsets: Vec<Toolset>,
    /// A repo and branch has to be in each of these; none means everywhere.
    pub areas: Vec<Area>,
    /// Null where it never does.
    pub expires: Option<Timestamp>,
    /// Who its commits are by, if that is not the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
}

/// Whoever asks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WhoAmI {
    pub name: String,
    /// The role of a token that has one.
    pub role: Option<String>,
    /// Who made it, where it is a token: of a session of the page, who logged in.
    pub created_by: Option<String>,
    #[serde(flatten)]
    pub good: Good,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TokenView {
    pub id: String,
    pub name: String,
    /// It is a log-in to the page.
    #[serde(default)]
    pub session: bool,
    /// Who logged in, where that is known.
    #[serde(default)]
    pub person: Option<String>,
    pub role: Option<String>,
    pub state: TokenState,
    #[serde(flatten)]
    pub good: Good,
    pub created_at: Timestamp,
    /// The principal that made it.
    pub created_by: String,
    pub last_used: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// A new token, the only time that it is shown.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MadeToken {
    /// What its holder shows. It is not kept, and cannot be had again.
    #[schemars(with = "String")]
    pub token: Credential,
    #[serde(flatten)]
    pub made: TokenView,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RevokedTokens {
    #[serde(flatten)]
    pub revoked: TokenView,
    /// The names of those that were made with it, and went with it.
    pub with_it: Vec<String>,
}

impl Good {
    fn of(grant: &Grant) -> Self {
        Self {
            scopes: grant.rights.iter().collect(),
            toolsets: grant.toolsets.clone(),
            areas: grant.areas.clone(),
            expires: grant.expires,
            author: grant.author.clone(),
        }
    }
}

impl WhoAmI {
    pub(super) fn new(principal: &Principal, token: Option<&Token>) -> Self {
        Self {
            name: principal.name().to_owned(),
            role: token.and_then(|token| token.row().role.clone()),
            created_by: token.map(maker),
            good: Good::of(principal.grant()),
        }
    }
}

fn maker(token: &Token) -> String {
    token.line().last().cloned().unwrap_or_default()
}

impl TokenView {
    pub(super) fn new(token: &Token, now: Timestamp) -> Self {
        let good = token.good_for().map_or_else(
            || Good {
                scopes: Vec::new(),
                toolsets: Vec::new(),
                ..Good::of(token.grant())
            },
            Good::of,
        );
        Self {
            id: token.id().to_owned(),
            name: token.name().to_owned(),
            session: token.log_in().is_some(),
            person: token
                .log_in()
                .filter(|person| !person.is_empty())
                .map(str::to_owned),
            role: token.row().role.clone(),
            state: token.state(now),
            good,
            created_at: token.row().created_at,
            created_by: maker(token),
            last_used: token.last_used(),
            revoked_at: token.revoked_at(),
        }
    }
}
