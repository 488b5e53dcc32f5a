//! A place in what a run printed, as agents carry it from one call to the next.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use branchyard_model::Problem;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
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
        let detail = "this cursor is of the output, not of a search in it";
        Problem::unprocessable("cursor", detail)
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

impl TryFrom<String> for LogCursor {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = |kind: char| text.strip_prefix(kind)?.parse().ok();
        let place = number('b').map(Self::Byte).or(number('l').map(Self::Line));
        place.ok_or_else(|| {
            format!(
                "{text:?} is no cursor: pass the next_cursor of an answer about the same run, as it is"
            )
        })
    }
}
