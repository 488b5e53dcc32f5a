//! All bytes of a command that prints much, in each format, beside a pipe to cat.

use std::borrow::Cow;

use serde::Deserialize;

use super::latency::follow;
use crate::measure::{Aim, Report, Row, Unit, interleave, timed};
use crate::setting::{Served, quiet};

/// A format, and the share of the pipe's speed that it is to have.
const FORMATS: [(&str, &str, Option<f64>); 3] = [
    ("text", "text/plain", Some(0.5)),
    ("SSE", "text/event-stream", Some(0.3)),
    ("NDJSON", "application/x-ndjson", None),
];

/// An event, as far as it matters here.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    line: Option<Cow<'a, str>>,
    /// What ends the line, where that is no newline: nothing, if more of it is to come.
    #[serde(borrow)]
    eol: Option<Cow<'a, str>>,
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
}

pub async fn measure(report: &mut Report, served: &Served, lines: usize) {
    let dir = served.workspace("main");
    let expected: String = (1..=lines).map(|line| format!("{line}\n")).collect();
    for (_, accept, _) in &FORMATS[1..] {
        see_every_byte(served, accept, expected.as_bytes());
    }
    let [pipe, text, sse, ndjson] = interleave(report.scale.rounds(7), async |method, _| {
        let took = match method {
            0 => timed(|| quiet(&dir, "sh", &["-c", "make flood | cat > /dev/null"])),
            1 => text_of(served, expected.as_bytes()),
            _ => events_of(served, FORMATS[method - 1].1, lines),
        };
        lines as f64 / took
    })
    .await;
    for ((name, _, least), speed) in FORMATS.iter().zip([text, sse, ndjson]) {
        let row = Row::new(format!("{lines} lines, {name}"), Unit::PerSecond, &speed)
            .beside("make | cat", &pipe);
        report.add(match least {
            Some(least) => row.aiming(Aim::RatioAtLeast(*least)),
            None => row,
        });
    }
}

/// Each byte is compared as it comes.
fn text_of(served: &Served, expected: &[u8]) -> f64 {
    let mut seen = 0;
    let mut end = Vec::new();
    let took = timed(|| {
        follow(served, "flood", "text/plain", |piece| {
            let (output, rest) = piece.split_at(piece.len().min(expected.len() - seen));
            assert!(&expected[seen..seen + output.len()] == output, "at {seen}");
            seen += output.len();
            end.extend_from_slice(rest);
        });
    });
    assert_eq!(seen, expected.len());
    assert!(end.starts_with(b"branchyard: succeeded"));
    took
}

/// Lines are counted as they come: to read each event would take longer than to send it.
fn events_of(served: &Served, accept: &str, lines: usize) -> f64 {
    let mut seen = 0;
    let took = timed(|| {
        follow(served, "flood", accept, |piece| {
            seen += memchr::memchr_iter(b'\n', piece).count();
        });
    });
    // An SSE event has three lines and an empty one, an NDJSON event is one. A line that came in two pieces
    // may be two events.
    let each = if accept == "text/event-stream" { 4 } else { 1 };
    let events = seen / each;
    assert!(
        (lines..lines + lines / 100 + 20).contains(&events),
        "{accept}: {events}"
    );
    took
}

/// Reads every event, once, with nobody waiting.
fn see_every_byte(served: &Served, accept: &str, expected: &[u8]) {
    let (mut seen, mut ended) = (0, false);
    let mut unread = Vec::new();
    follow(served, "flood", accept, |piece| {
        unread.extend_from_slice(piece);
        let whole = memchr::memrchr(b'\n', &unread).map_or(0, |at| at + 1);
        for line in unread[..whole].split(|byte| *byte == b'\n') {
            let json = line.strip_prefix(b"data: ").unwrap_or(line);
            if json.first() != Some(&b'{') {
                continue;
            }
            let event: Event<'_> = serde_json::from_slice(json).unwrap();
            ended |= event.kind == "complete";
            if event.kind == "stdout" {
                let eol = event.eol.as_deref().unwrap_or("\n");
                for part in [event.line.as_deref().unwrap(), eol] {
                    assert!(
                        expected[seen..].starts_with(part.as_bytes()),
                        "at {seen}: {part:?}"
                    );
                    seen += part.len();
                }
            }
        }
        unread.drain(..whole);
    });
    assert_eq!(seen, expected.len());
    assert!(ended);
}
