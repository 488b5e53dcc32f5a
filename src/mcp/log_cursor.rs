//! A place in what a run printed, as agents carry it from one call to the next.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

use branchyard_model::Problem;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogCursor {
    /// So many bytes of the output stand before it.
    Byte(u64),
    /// The beginning of a line, counted from 1: where a search goes on.
    Line(u64),
}

impl LogCursor {
    /// The refusal where only a place in the output itself will do.
    pub(super) fn of_a_search() -> Problem {
        Problem::unprocessable("cursor", "this cursor is of a search in the log")
            .help("pass it to run_log with the same grep")
    }

    /// The refusal where only a search goes on.
    pub(super) fn of_the_output() -> Problem {
        Problem::unprocessable(
            "cursor",
            "this cursor is of the output, not of a search in it",
        )
        .help("pass the next_cursor of the search before, or leave it out")
    }
}

impl fmt::Display for LogCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(byte) => write!(f, "b{byte}"),
            Self::Line(line) => write!(f, "l{line}"),
        }
    }
}

impl<'de> Deserialize<'de> for LogCursor {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let number = |kind: char| text.strip_prefix(kind)?.parse().ok();
        let place = number('b').map(Self::Byte).or(number('l').map(Self::Line));
        place.ok_or_else(|| {
            de::Error::custom(format!(
                "{text:?} is no cursor: pass the next_cursor of an answer about the same run, as it is"
            ))
        })
    }
}

impl schemars::JsonSchema for LogCursor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LogCursor".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}
