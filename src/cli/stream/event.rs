//! What a stream says: one JSON object per line. Types and fields that this version does not know
//! are passed over.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, de};

use super::group::{GroupEvent, Summary};
use super::run_error::RunError;
use crate::cli::exit::Failure;
use crate::cli::finding::Findings;

/// One event, borrowed from its line.
#[derive(Debug, PartialEq)]
pub(crate) enum Event<'a> {
    Output {
        /// Whose it is, among the runs of a group.
        branch: Option<String>,
        to: Channel,
        bytes: Cow<'a, [u8]>,
        eol: Cow<'a, str>,
    },
    Status(Status),
    Warning(String),
    /// Output that the daemon did not keep.
    Gap(String),
    Ended(Ending),
    /// Of a group.
    Group(GroupEvent),
    /// Of a later version.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Stdout,
    Stderr,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Status {
    pub state: String,
    #[serde(default)]
    pub position: Option<u64>,
    #[serde(default)]
    pub holder: Option<Holder>,
    #[serde(default)]
    pub phase: Option<String>,
    #[serde(default)]
    pub percent: Option<u8>,
    #[serde(default)]
    pub warm: Option<Warm>,
}

/// What a workspace was made from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Warm {
    pub branch: String,
}

/// Who has the lock of a workspace.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Holder {
    pub what: String,
    #[serde(default)]
    pub who: String,
    #[serde(default)]
    pub since: Option<Timestamp>,
}

/// The last event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ending {
    Complete(Complete),
    /// Refused after it was queued.
    Error(RunError),
    /// All runs of a group have ended.
    Summary(Summary),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Complete {
    pub state: String,
    #[serde(default)]
    pub exit_code: Option<i32>,
    #[serde(default)]
    pub signal: Option<i32>,
    #[serde(default)]
    pub commit: Option<String>,
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// The earlier run that answered.
    #[serde(default)]
    pub cached: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub incremental: Option<bool>,
    #[serde(default)]
    pub warm: Option<Warm>,
    #[serde(default)]
    pub diagnostics: Option<Findings>,
}

/// An opaque place in a stream: text or a number, we only hand it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor(pub String);

/// One line, taken apart: the event, and the cursor past it.
pub(super) fn parse(line: &[u8]) -> Result<(Event<'_>, Option<Cursor>), Failure> {
    let envelope: Envelope<'_> = of_json(line)?;
    let event = match envelope.kind.as_ref() {
        "stdout" | "stderr" => Event::Output {
            branch: envelope.branch,
            to: match envelope.kind.as_ref() {
                "stdout" => Channel::Stdout,
                _ => Channel::Stderr,
            },
            bytes: match (envelope.b64, envelope.line) {
                (Some(b64), _) => Cow::Owned(
                    STANDARD
                        .decode(b64)
                        .map_err(|error| nonsense(&error.to_string()))?,
                ),
                (None, Cow::Borrowed(text)) => Cow::Borrowed(text.as_bytes()),
                (None, Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
            },
            eol: envelope.eol,
        },
        "status" => Event::Status(of_json(line)?),
        "warning" => {
            let warning: Message = of_json(line)?;
            Event::Warning(warning.message.unwrap_or_default())
        }
        "gap" => {
            let gap: Message = of_json(line)?;
            Event::Gap(match (gap.message, gap.bytes) {
                (Some(message), _) => message,
                (None, Some(bytes)) => format!("{bytes} bytes of output were not kept"),
                (None, None) => "some output was not kept".to_owned(),
            })
        }
        "complete" => Event::Ended(Ending::Complete(of_json(line)?)),
        "error" => Event::Ended(Ending::Error(of_json(line)?)),
        "group" => Event::Group(GroupEvent::Named(of_json(line)?)),
        "started" => Event::Group(GroupEvent::Started(of_json(line)?)),
        "ended" => Event::Group(GroupEvent::Ended(Box::new(of_json(line)?))),
        "summary" => Event::Ended(Ending::Summary(of_json(line)?)),
        _ => Event::Unknown,
    };
    Ok((event, envelope.id))
}

/// What every event has, and all that output has: the other types are read a second time.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    id: Option<Cursor>,
    #[serde(default, borrow)]
    line: Cow<'a, str>,
    #[serde(default)]
    b64: Option<String>,
    #[serde(default = "newline", borrow)]
    eol: Cow<'a, str>,
    #[serde(default)]
    branch: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    bytes: Option<u64>,
}

fn newline<'a>() -> Cow<'a, str> {
    Cow::Borrowed("\n")
}

fn of_json<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(line).map_err(|error| nonsense(&error.to_string()))
}

fn nonsense(what: &str) -> Failure {
    Failure::daemon(format!(
        "the daemon sent an event that makes no sense: {what}"
    ))
    .help("compare `branchyard --version` with the daemon's: `branchyard doctor`")
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TextOrNumber;
        impl Visitor<'_> for TextOrNumber {
            type Value = Cursor;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a cursor")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Cursor, E> {
                Ok(Cursor(text.to_owned()))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Cursor, E> {
                Ok(Cursor(number.to_string()))
            }
        }
        from.deserialize_any(TextOrNumber)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_put_together_to_the_exact_bytes() {
        for (json, bytes, end) in [
            (r#"{"type":"stdout","id":"1","line":"a"}"#, &b"a"[..], "\n"),
            (
                r#"{"type":"stdout","id":2,"line":"a\tb","eol":"\r\n"}"#,
                b"a\tb",
                "\r\n",
            ),
            (r#"{"type":"stdout","line":"50%","eol":""}"#, b"50%", ""),
            (r#"{"type":"stdout","b64":"//4A"}"#, &[0xff, 0xfe, 0], "\n"),
            (
                r#"{"type":"stdout","line":"\u001b[31m"}"#,
                b"\x1b[31m",
                "\n",
            ),
        ] {
            let (event, _) = parse(json.as_bytes()).unwrap();
            let Event::Output {
                to,
                bytes: got,
                eol,
                ..
            } = event
            else {
                panic!("{json} is no output");
            };
            assert_eq!(
                (to, got.as_ref(), eol.as_ref()),
                (Channel::Stdout, bytes, end)
            );
        }
        assert!(parse(br#"{"type":"stdout","b64":"?"}"#).is_err());
        assert!(parse(b"{}").is_err());
    }

    #[test]
    fn an_event_of_a_later_version_is_passed_over() {
        let (event, cursor) = parse(br#"{"type":"weather","id":"9","sun":true}"#).unwrap();
        assert_eq!(event, Event::Unknown);
        assert_eq!(cursor.unwrap().0, "9");
    }
}
