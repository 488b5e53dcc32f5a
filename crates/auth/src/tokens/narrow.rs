//! What may be made of a credential: as much as it is good for itself, or less, and for no longer.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::{Area, Grant};
use branchyard_config::{Role, Toolset};
use branchyard_model::{Author, ErrorKind, Problem, Scope, Scopes};

/// For how long, where nobody says so.
const BY_ADMINS: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const BY_OTHERS: Duration = Duration::from_secs(12 * 60 * 60);

/// What a new token is to be good for.
#[derive(Debug, Clone)]
pub struct RequestedToken<'a> {
    pub may: May<'a>,
    /// As many as there are to be had, if not said.
    pub toolsets: Option<Vec<Toolset>>,
    pub area: Area,
    /// As is usual, if not said.
    pub lifetime: Option<Lifetime>,
    /// That of the asker, if not said.
    pub author: Option<Author>,
}

/// What it may do.
#[derive(Debug, Clone, Copy)]
pub enum May<'a> {
    /// Whatever the role allows, also once the operator has changed it.
    Role(&'a Role),
    Only(Scopes),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    For(Duration),
    Until(Timestamp),
    Never,
}

impl May<'_> {
    fn rights(self) -> Scopes {
        match self {
            Self::Role(role) => role.scopes,
            Self::Only(rights) => rights,
        }
    }

    /// The most that the new token may ever do. A role is looked up anew whenever the daemon starts, so of
    /// the asker's rights none is given up here.
    fn bound(self, own: Scopes) -> Scopes {
        match self {
            Self::Role(_) => own,
            Self::Only(rights) => rights,
        }
    }
}

/// What the asker's grant gives to a token of this kind, or why it cannot.
pub(super) fn narrowed(
    own: &Grant,
    wish: &RequestedToken<'_>,
    now: Timestamp,
) -> Result<Grant, Problem> {
    let lacking = wish.may.rights().without(own.rights);
    if !lacking.is_empty() {
        let detail = format!("you do not have the scopes {lacking} yourself");
        return Err(wider("scopes", detail));
    }
    if wish.may.rights().is_empty() {
        let detail = "the token would be good for nothing";
        return Err(Problem::unprocessable("scopes", detail).help("name a role or some scopes"));
    }
    let mut grant = Grant {
        rights: wish.may.bound(own.rights),
        toolsets: toolsets(own, wish)?,
        areas: own.areas.clone(),
        expires: expiry(own, wish.lifetime, now)?,
        author: author(own, wish)?,
    };
    if !wish.area.is_everywhere() {
        grant.areas.push(wish.area.clone());
    }
    Ok(grant)
}

/// What is left of a grant where it also has to be within these.
pub(super) fn within(mut grant: Grant, rights: Scopes, toolsets: &[Toolset]) -> Grant {
    grant.rights = grant.rights.common(rights);
    grant.toolsets.retain(|set| toolsets.contains(set));
    grant
}

/// Who commits by a name commits by no other, and gives no other away.
fn author(own: &Grant, wish: &RequestedToken<'_>) -> Result<Option<Author>, Problem> {
    match (&own.author, &wish.author) {
        (Some(own), Some(other)) if own != other => {
            let detail = format!("your own commits are by {own}, and so are those of your tokens");
            Err(wider("author", detail))
        }
        (Some(own), _) => Ok(Some(own.clone())),
        (None, wish) => Ok(wish.clone()),
    }
}

fn toolsets(own: &Grant, wish: &RequestedToken<'_>) -> Result<Vec<Toolset>, Problem> {
    let Some(asked) = &wish.toolsets else {
        // Those of a role are looked up with it.
        return Ok(own.toolsets.clone());
    };
    let to_be_had = |set: &Toolset| match wish.may {
        May::Role(role) => own.toolsets.contains(set) && role.toolsets.contains(set),
        May::Only(_) => own.toolsets.contains(set),
    };
    let lacking = asked.iter().filter(|set| !to_be_had(set));
    let lacking: Vec<_> = lacking.map(|set| set.as_str()).collect();
    if lacking.is_empty() {
        return Ok(asked.clone());
    }
    let lacking = lacking.join(", ");
    let detail = format!("the toolsets {lacking} are not yours to give, or not the role's");
    Err(wider("toolsets", detail))
}

fn expiry(
    own: &Grant,
    lifetime: Option<Lifetime>,
    now: Timestamp,
) -> Result<Option<Timestamp>, Problem> {
    let is_admin = own.rights.contains(Scope::Admin);
    let Some(lifetime) = lifetime else {
        let usual = after(now, if is_admin { BY_ADMINS } else { BY_OTHERS })?;
        return Ok(Some(own.expires.map_or(usual, |own| own.min(usual))));
    };
    let expires = match lifetime {
        Lifetime::Never if is_admin => None,
        Lifetime::Never => {
            let detail = "only an admin makes a token that never expires";
            return Err(wider("expires", detail));
        }
        Lifetime::For(duration) => Some(after(now, duration)?),
        Lifetime::Until(time) => Some(time),
    };
    if expires.is_some_and(|expires| expires <= now) {
        let detail = "the token would have expired already";
        return Err(Problem::unprocessable("expires", detail));
    }
    match own.expires {
        Some(own) if expires.is_none_or(|expires| expires > own) => {
            let detail = format!("your own credential expires before that, at {own}");
            Err(wider("expires", detail))
        }
        _ => Ok(expires),
    }
}

fn after(now: Timestamp, duration: Duration) -> Result<Timestamp, Problem> {
    SignedDuration::try_from(duration)
        .and_then(|duration| now.checked_add(duration))
        .map_err(|_| Problem::unprocessable("expires", "that is beyond the end of time"))
}

fn wider(field: &str, detail: impl Into<String>) -> Problem {
    Problem::new(ErrorKind::Forbidden, "wider_than_own", detail)
        .field(field)
        .help("a token can be made for what you may do yourself, or less, and for no longer; `branchyard whoami` says what that is")
}

#[cfg(test)]
mod tests;
