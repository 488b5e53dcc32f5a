//! Identifiers that we make (runs) or that git makes (commits).

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Problem;
use super::names::{read_from_text, shown_as_text};

/// A run's identifier: a UUID v7, so that sorting by id is sorting by time of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId(Uuid);

/// The identifier of a group of runs that were started together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupId(Uuid);

/// The identifier of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PipelineId(Uuid);

/// The identifier of a message to a forge or webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeliveryId(Uuid);

/// The identifier of a salvage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SalvageId(Uuid);

impl RunId {
    /// The random end of the id: enough to tell the runs of one daemon apart.
    pub fn short(self) -> String {
        short(self.0)
    }
}

impl PipelineId {
    /// As for runs.
    pub fn short(self) -> String {
        short(self.0)
    }
}

fn short(id: Uuid) -> String {
    let text = id.simple().to_string();
    text[text.len() - 12..].to_owned()
}

/// Only this form: an id is also a directory name and must have one spelling.
fn hyphenated(text: &str) -> Option<Uuid> {
    let id = Uuid::try_parse(text).ok()?;
    (id.to_string() == text).then_some(id)
}

macro_rules! made_by_time {
    ($($id:ident: $field:literal, $what:literal, $help:literal;)*) => {$(
        impl $id {
            pub fn parse(text: &str) -> Result<Self, Problem> {
                hyphenated(text).map(Self).ok_or_else(|| {
                    Problem::bad($field, format!("{text:?} is not {}", $what)).help($help)
                })
            }

            /// A new id, later than every id made before it in this process.
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// When it was made, to the millisecond.
            pub fn made_at(self) -> Timestamp {
                let time = self.0.get_timestamp();
                let (seconds, nanos) = time.map_or((0, 0), |time| time.to_unix());
                let seconds = i64::try_from(seconds).unwrap_or(0);
                Timestamp::new(seconds, i32::try_from(nanos).unwrap_or(0)).unwrap_or_default()
            }
        }

        impl Default for $id {
            fn default() -> Self {
                Self::new()
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}
made_by_time! {
    RunId: "run_id", "a run id", "list the runs with GET /api/runs or `branchyard runs`";
    GroupId: "group_id", "a group id", "a run of a group names it: GET /api/runs/{run_id}";
    PipelineId: "pipeline_id", "the id of a pipeline",
        "list the pipelines of a repo with GET /api/repos/{repo}/pipelines or `branchyard pipeline list`";
    DeliveryId: "delivery_id", "the id of a delivery", "list them with GET /api/repos/{repo}/deliveries";
    SalvageId: "salvage_id", "the id of a salvage",
        "list them with GET /api/salvage or `branchyard salvage list`";
}

/// A commit (or tree) as 40 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct CommitId(String);

impl CommitId {
    pub fn parse(text: &str) -> Result<Self, Problem> {
        if text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        Err(
            Problem::bad("commit", format!("{text:?} is not a commit id"))
                .help("give all 40 hex digits, as `git rev-parse` prints them"),
        )
    }
}

shown_as_text!(CommitId);
read_from_text!(CommitId);
