//! What may be done, and sets of it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that a caller may be allowed to do. Every route and every tool names the one that it needs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[schemars(rename = "Right")]
pub enum Scope {
    /// Look at repos, workspaces, files and runs.
    #[serde(rename = "repo:read")]
    RepoRead,
    /// Start and cancel builds and tasks.
    #[serde(rename = "build:run")]
    BuildRun,
    /// Read history and what was salvaged.
    #[serde(rename = "git:read")]
    GitRead,
    /// Change branches and workspaces, and push.
    #[serde(rename = "git:write")]
    GitWrite,
    /// Edit files and execute code of one's own.
    #[serde(rename = "code:run")]
    CodeRun,
    /// Look after the daemon: metrics, findings, reaping.
    #[serde(rename = "ops")]
    Ops,
    /// Register and remove repos, touch protected branches, manage tokens, read the audit.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    pub const ALL: [Self; 7] = [
        Self::RepoRead,
        Self::BuildRun,
        Self::GitRead,
        Self::GitWrite,
        Self::CodeRun,
        Self::Ops,
        Self::Admin,
    ];

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

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.as_str() == name)
    }
}

/// A set of rights.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Scope>", into = "Vec<Scope>")]
pub struct Scopes(u8);

impl Scopes {
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    pub fn contains(self, right: Scope) -> bool {
        self.0 & bit(right) != 0
    }

    /// Those of these that `others` lack.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Those that both have.
    #[must_use]
    pub fn common(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Scope> {
        let all = Scope::ALL.into_iter();
        all.filter(move |right| self.contains(*right))
    }
}

fn bit(right: Scope) -> u8 {
    1 << right as u8
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(rights: I) -> Self {
        Self(rights.into_iter().map(bit).fold(0, |all, one| all | one))
    }
}

impl From<Vec<Scope>> for Scopes {
    fn from(rights: Vec<Scope>) -> Self {
        rights.into_iter().collect()
    }
}

impl From<Scopes> for Vec<Scope> {
    fn from(rights: Scopes) -> Self {
        rights.iter().collect()
    }
}

/// With spaces between them, as OAuth writes scopes.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Scope::as_str).collect();
        f.write_str(&names.join(" "))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scopes({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_know_what_is_in_them_and_how_it_is_written() {
        let some: Scopes = [Scope::GitRead, Scope::RepoRead].into_iter().collect();
        assert!(some.contains(Scope::GitRead) && !some.contains(Scope::Admin));
        assert_eq!(some.to_string(), "repo:read git:read");
        assert_eq!(
            Scopes::all().without(some).iter().count(),
            Scope::ALL.len() - 2
        );
        assert_eq!(Scopes::all().common(some), some);
        let json = serde_json::to_string(&some).unwrap();
        assert_eq!(json, r#"["repo:read","git:read"]"#);
        assert_eq!(serde_json::from_str::<Scopes>(&json).unwrap(), some);
        for right in Scope::ALL {
            assert_eq!(Scope::parse(right.as_str()), Some(right));
        }
    }
}
