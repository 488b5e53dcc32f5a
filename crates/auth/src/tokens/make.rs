//! Making a token.

use std::sync::Arc;

use jiff::Timestamp;

use super::credential::{self, Credential};
use super::log_in;
use super::narrow::narrowed;
use super::{REMEMBERED, RequestedToken, Token, TokenRow, TokenState, Tokens, not_kept};
use crate::{ANONYMOUS, Grant, Principal, SESSION};
use branchyard_model::{ErrorKind, Problem, Scope};

/// How many makers may stand above a token.
const DEEPEST: usize = 8;
/// How many tokens that are in use any one may have made, with those made of them; the holder of the session
/// key has no such limit.
const MOST_OF_ONE: usize = 1_000;
const MOST: usize = 10_000;
const LONGEST_NAME: usize = 64;

/// What a token is called, once and for ever.
#[derive(Debug)]
pub enum Name {
    Given(String),
    /// Its id.
    Id,
    /// A log-in to the page, of the person of this name, where one is told.
    LogIn(Option<String>),
}

impl Tokens {
    /// A token for somebody else, within what the asker may do; what it looks like is told here and nowhere
    /// again. Goes on to its end also if nobody waits for it.
    pub async fn make(
        &self,
        asker: &Principal,
        name: Name,
        role: Option<String>,
        wish: &RequestedToken<'_>,
    ) -> Result<(Arc<Token>, Credential), Problem> {
        if asker.name() == ANONYMOUS {
            let detail = "whoever shows no credential cannot give one to others";
            return Err(Problem::new(ErrorKind::Forbidden, "nobody_known", detail)
                .help("ask with the session key or a token"));
        }
        if let Name::Given(name) | Name::LogIn(Some(name)) = &name {
            check_name(name)?;
        }
        let grant = narrowed(asker.grant(), wish, Timestamp::now())?;
        let (tokens, asker) = (self.clone(), asker.clone());
        let making = tokio::spawn(async move { tokens.add(&asker, name, role, grant).await });
        making.await.map_err(|error| {
            let detail = format!("a token was not made: {error}");
            Problem::new(ErrorKind::Internal, "token_not_made", detail)
        })?
    }

    async fn add(
        &self,
        asker: &Principal,
        name: Name,
        role: Option<String>,
        grant: Grant,
    ) -> Result<(Arc<Token>, Credential), Problem> {
        let _changing = self.0.changing.lock().await;
        let now = Timestamp::now();
        let parent = self.shown_by(asker);
        if let Some(parent) = &parent {
            // It may have been taken back since it was looked at.
            parent.holder(now)?;
        }
        self.check_number(asker, parent.as_deref(), now)?;
        let credential = Credential::generate().map_err(|error| {
            let detail = format!("the machine gives no random numbers: {error}");
            Problem::new(ErrorKind::Internal, "no_randomness", detail)
        })?;
        let row = TokenRow {
            id: credential.id().to_owned(),
            name: match name {
                Name::Given(name) => name,
                Name::Id => credential.id().to_owned(),
                Name::LogIn(person) => log_in::name(person.as_deref(), credential.id()),
            },
            hash: credential.hash(),
            role,
            grant_json: serde_json::to_string(&grant).map_err(|error| {
                let detail = format!("a grant cannot be written: {error}");
                Problem::new(ErrorKind::Internal, "token_not_made", detail)
            })?,
            parent: parent.as_ref().map(|parent| parent.id().to_owned()),
            account: account_of(asker),
            created_by: asker.name().to_owned(),
            created_at: now,
            expires_at: grant.expires,
            revoked_at: None,
            last_used_at: None,
        };
        let token = Arc::new(Token::new(&row, grant, parent.as_deref(), &self.0.config));
        let added = self.0.trust.add_token(row).await;
        if !added.map_err(|error| not_kept(&error))? {
            let detail = format!("there is, or was, a token with the name {}", token.name());
            return Err(Problem::new(ErrorKind::Conflict, "name_taken", detail)
                .field("name")
                .help("choose another: a name is given once, also after its token is gone"));
        }
        let mut known = self.0.known.write();
        known.retain(|_, token| {
            let ended = token.ended_at(now);
            ended.is_none_or(|ended| now.duration_since(ended) < REMEMBERED)
        });
        known.insert(token.id().to_owned(), token.clone());
        Ok((token, credential))
    }

    /// A credential that got into wrong hands fills neither the memory nor the list.
    fn check_number(
        &self,
        asker: &Principal,
        parent: Option<&Token>,
        now: Timestamp,
    ) -> Result<(), Problem> {
        let mut line = parent.map_or_else(Vec::new, |parent| parent.line().to_owned());
        line.push(asker.name().to_owned());
        if line.len() > DEEPEST {
            let detail = format!("{DEEPEST} credentials stand above this one already");
            return Err(Problem::new(ErrorKind::Forbidden, "too_deep", detail)
                .help("ask whoever gave you yours to make this token"));
        }
        let mut live = self.list();
        live.retain(|token| token.state(now) == TokenState::Live);
        let full = |whose: &str, most| {
            let detail = format!("{whose} already {most} tokens that are in use");
            Problem::new(ErrorKind::Conflict, "too_many_tokens", detail)
                .help("revoke those that nobody needs, or let them expire sooner")
        };
        if live.len() >= MOST {
            return Err(full("there are", MOST));
        }
        for above in line.iter().filter(|above| *above != SESSION) {
            let below = live.iter().filter(|token| token.is_below(above)).count();
            if below >= MOST_OF_ONE {
                return Err(full(&format!("{above} made"), MOST_OF_ONE));
            }
        }
        Ok(())
    }
}

/// Whoever runs the yard gives others a share of their own; anybody else gives a part of theirs.
fn account_of(asker: &Principal) -> Option<String> {
    let gives_their_own = !asker.rights().contains(Scope::Admin);
    gives_their_own.then(|| asker.account().to_owned())
}

fn check_name(name: &str) -> Result<(), Problem> {
    let is_fine = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let starts_well = name
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric());
    if !starts_well || name.len() > LONGEST_NAME || !name.bytes().all(is_fine) {
        let detail = format!(
            "a token's name is at most {LONGEST_NAME} letters, digits, '.', '_' and '-', and begins with a letter or digit"
        );
        return Err(Problem::unprocessable("name", detail));
    }
    if credential::is_id(name) {
        let detail = "the name looks like the id of a token";
        return Err(
            Problem::unprocessable("name", detail).help("choose one that says who it is for")
        );
    }
    Ok(())
}
