//! Identifiers that we make (runs) or that git makes (commits).

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Problem;

/// A run's identifier: a UUID v7, so that sorting by id is sorting by time of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Uuid);

impl RunId {
    /// A new id, later than every id made before it in this process.
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// The random end of the id: enough to tell the runs of one daemon apart.
    pub fn short(self) -> String {
        let text = self.0.simple().to_string();
        text[text.len() - 12..].to_owned()
    }

    pub fn parse(text: &str) -> Result<Self, Problem> {
        // Only the hyphenated form: an id is also a directory name and must have one spelling.
        match Uuid::try_parse(text) {
            Ok(id) if id.to_string() == text => Ok(Self(id)),
            _ => Err(Problem::bad("run_id", format!("{text:?} is not a run id"))
                .help("list the runs with GET /api/runs or `branchyard runs`")),
        }
    }
}

impl Default for RunId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A commit (or tree) as 40 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(String);

impl CommitId {
    pub fn parse(text: &str) -> Result<Self, Problem> {
        if text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(
                Problem::bad("commit", format!("{text:?} is not a commit id"))
                    .help("give all 40 hex digits, as `git rev-parse` prints them"),
            )
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CommitId {
    type Error = Problem;
    fn try_from(text: String) -> Result<Self, Problem> {
        Self::parse(&text)
    }
}

impl From<CommitId> for String {
    fn from(id: CommitId) -> String {
        id.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
