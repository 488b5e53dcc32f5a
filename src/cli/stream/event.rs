//! What a stream says: one JSON object per line. Types and fields that this version does not know
//! are passed over.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cli::client::lenient;
use crate::cli::exit::Failure;
use branchyard_model::{
    Complete, Gap, GroupRecord, JobRecord, MemberEnded, MemberStarted, PipelineRecord, Problem,
    Status, Summary, Warning,
};

/// One event, borrowed from its line.
#[derive(Debug, PartialEq)]
pub(crate) enum Event<'a> {
    Output {
        /// Whose it is: the branch among the runs of a group, the job among those of a pipeline.
        owner: Option<String>,
        to: Channel,
        bytes: Cow<'a, [u8]>,
        eol: Cow<'a, str>,
    },
    Status(Box<Status>),
    Warning(String),
    /// Output that the daemon did not keep.
    Gap(String),
    Ended(Box<Ending>),
    /// The first of a group: which runs there are.
    Group(GroupRecord),
    /// The command of a run of a group has started.
    Started(MemberStarted),
    /// A run of a group has ended.
    MemberEnded(Box<MemberEnded>),
    /// A pipeline with all of its jobs: first, after a retry began, and last.
    Pipeline(Box<PipelineRecord>),
    /// A job of a pipeline changed.
    Job(Box<JobRecord>),
    /// Of a later version.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Stdout,
    Stderr,
}

/// The last event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ending {
    Complete(Box<Complete>),
    /// Refused after it was queued.
    Error(Problem),
    /// All runs of a group have ended.
    Summary(Summary),
    /// All jobs of a pipeline have ended.
    Pipeline(Box<PipelineRecord>),
}

/// One line, taken apart: the event, and the cursor past it, which we only hand back.
pub(super) fn parse(line: &[u8]) -> Result<(Event<'_>, Option<String>), Failure> {
    let envelope: Envelope<'_> =
        serde_json::from_slice(line).map_err(|error| nonsense(&error.to_string()))?;
    let ended = |ending| Event::Ended(Box::new(ending));
    let event = match envelope.kind.as_ref() {
        "stdout" | "stderr" => Event::Output {
            owner: envelope.branch.or(envelope.job),
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
        "warning" => Event::Warning(of_json::<Warning>(line)?.message),
        "gap" => {
            let bytes = of_json::<Gap>(line)?.bytes;
            Event::Gap(format!("{bytes} bytes of output were not kept"))
        }
        "complete" => ended(Ending::Complete(Box::new(of_json(line)?))),
        "error" => ended(Ending::Error(of_json(line)?)),
        "group" => Event::Group(of_json(line)?),
        "started" => Event::Started(of_json(line)?),
        "ended" => Event::MemberEnded(of_json(line)?),
        "summary" => ended(Ending::Summary(of_json(line)?)),
        "pipeline" => Event::Pipeline(of_json(line)?),
        "job" => Event::Job(of_json(line)?),
        _ => Event::Unknown,
    };
    let cursor = match envelope.id {
        Value::String(cursor) => Some(cursor),
        Value::Number(cursor) => Some(cursor.to_string()),
        _ => None,
    };
    Ok((event, cursor))
}

/// What every event has, and all that output has: the other types are read a second time.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    id: Value,
    #[serde(default, borrow)]
    line: Cow<'a, str>,
    #[serde(default)]
    b64: Option<String>,
    #[serde(default = "newline", borrow)]
    eol: Cow<'a, str>,
    #[serde(default)]
    branch: Option<String>,
    #[serde(default)]
    job: Option<String>,
}

fn newline<'a>() -> Cow<'a, str> {
    Cow::Borrowed("\n")
}

fn of_json<T: DeserializeOwned>(line: &[u8]) -> Result<T, Failure> {
    lenient(line, |_| {}).map_err(|error| nonsense(&error.to_string()))
}

fn nonsense(what: &str) -> Failure {
    Failure::daemon(format!(
        "the daemon sent an event that makes no sense: {what}"
    ))
    .help("compare `branchyard --version` with the daemon's: `branchyard doctor`")
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
        assert_eq!(cursor.as_deref(), Some("9"));
        // How a run ended has to be known.
        let ended = br#"{"type":"complete","state":"a state of tomorrow","exit_code":0}"#;
        assert_eq!(parse(ended).unwrap_err().exit, 125);
    }
}
