//! The three stream formats, and the bare log. Many events share one piece, and no event is an
//! allocation of its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};

use super::negotiate::Format;
use crate::journal::{Cursor, Eol, Frame, FrameKind, Item, Sink, Splitter};
use crate::model::Event;

/// Renders a journal as server-sent events or NDJSON.
#[derive(Debug)]
pub(super) struct Events {
    splitter: Splitter,
    out: Out,
}

#[derive(Debug)]
struct Out {
    sse: bool,
    buffer: BytesMut,
}

impl Events {
    pub(super) fn new(format: Format) -> Self {
        Self {
            splitter: Splitter::default(),
            out: Out {
                sse: format == Format::Sse,
                buffer: BytesMut::new(),
            },
        }
    }
}

impl Sink for Events {
    fn frame(&mut self, frame: &Frame<'_>, skip: usize) {
        let out = &mut self.out;
        self.splitter
            .frame(frame, skip, |item, cursor| out.item(item, cursor));
    }

    fn has_pending(&self) -> bool {
        self.splitter.has_pending()
    }

    fn flush(&mut self) {
        let out = &mut self.out;
        self.splitter.flush(|item, cursor| out.item(item, cursor));
    }

    fn finish(&mut self) {
        let out = &mut self.out;
        self.splitter
            .flush_all(&mut |item, cursor| out.item(item, cursor));
    }

    fn keep_alive(&mut self) {
        // In NDJSON an empty line is nothing; in SSE a comment is.
        self.out
            .buffer
            .put_slice(if self.out.sse { b":\n\n" } else { b"\n" });
    }

    fn buffered(&self) -> usize {
        self.out.buffer.len()
    }

    fn take(&mut self) -> Bytes {
        self.out.buffer.split().freeze()
    }
}

impl Out {
    fn item(&mut self, item: Item<'_>, cursor: Cursor) {
        match item {
            Item::Event { json } => {
                self.open(cursor, event_type(json));
                // The stored object goes on after its opening brace.
                self.buffer.put_slice(json.get(1..).unwrap_or_default());
            }
            Item::Output { stream, bytes, eol } => {
                self.open(cursor, stream.as_str());
                self.output(stream.as_str(), bytes, eol);
            }
        }
        self.buffer
            .put_slice(if self.sse { b"\n\n" } else { b"\n" });
    }

    /// Everything up to and including the object's opening brace; NDJSON carries the id inside.
    fn open(&mut self, cursor: Cursor, kind: &str) {
        use std::fmt::Write;
        // Writing into a growing buffer cannot fail.
        let _ = if self.sse {
            write!(self.buffer, "id: {cursor}\nevent: {kind}\ndata: {{")
        } else {
            write!(self.buffer, "{{\"id\":\"{cursor}\",")
        };
    }

    fn output(&mut self, stream: &str, bytes: &[u8], eol: Eol) {
        self.buffer.put_slice(b"\"type\":\"");
        self.buffer.put_slice(stream.as_bytes());
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                self.buffer.put_slice(b"\",\"line\":");
                // A string always serialises, and JSON escapes every line break in it.
                let _ = serde_json::to_writer((&mut self.buffer).writer(), text);
            }
            Err(_) => {
                self.buffer.put_slice(b"\",\"b64\":\"");
                self.buffer.put_slice(STANDARD.encode(bytes).as_bytes());
                self.buffer.put_slice(b"\"");
            }
        }
        self.buffer.put_slice(match eol {
            Eol::Lf => b"}".as_slice(),
            Eol::CrLf => b",\"eol\":\"\\r\\n\"}",
            Eol::None => b",\"eol\":\"\"}",
        });
    }
}

/// The `type` of a stored event, which its serialisation puts first.
fn event_type(json: &[u8]) -> &str {
    json.strip_prefix(b"{\"type\":\"")
        .and_then(|rest| rest.split(|b| *b == b'"').next())
        .and_then(|name| std::str::from_utf8(name).ok())
        .unwrap_or("message")
}

/// Renders a journal as the bytes that the command wrote, with or without a last line that says how
/// it ended.
#[derive(Debug)]
pub(super) struct Text {
    buffer: BytesMut,
    with_end: bool,
    last_byte: Option<u8>,
}

impl Text {
    /// The output and one last line `branchyard: …`.
    pub(super) fn with_end() -> Self {
        Self {
            buffer: BytesMut::new(),
            with_end: true,
            last_byte: None,
        }
    }

    /// Exactly the output.
    pub(super) fn exact() -> Self {
        Self {
            with_end: false,
            ..Self::with_end()
        }
    }

    fn end(&mut self, event: &Event) {
        let how = match event {
            Event::Complete(complete) => {
                let mut how = complete.state.as_str().to_owned();
                if let Some(code) = complete.exit_code {
                    how.push_str(&format!(", exit code {code}"));
                }
                if let Some(signal) = complete.signal {
                    how.push_str(&format!(", signal {signal}"));
                }
                if let Some(commit) = &complete.commit {
                    how.push_str(&format!(", commit {commit}"));
                }
                how.push_str(&format!(", {} ms", complete.duration_ms));
                if let Some(reason) = &complete.reason {
                    how.push_str(&format!(" ({reason})"));
                }
                how
            }
            Event::Error(problem) => format!("rejected: {}", problem.detail),
            Event::Status(_) | Event::Warning(_) => return,
        };
        let unended = self.last_byte.is_some_and(|byte| byte != b'\n');
        if unended {
            self.buffer.put_slice(b"\n");
        }
        let note = if unended {
            " [no newline at end of output]"
        } else {
            ""
        };
        self.buffer
            .put_slice(format!("branchyard: {how}{note}\n").as_bytes());
    }
}

impl Sink for Text {
    fn frame(&mut self, frame: &Frame<'_>, skip: usize) {
        match frame.kind {
            FrameKind::Output(_) => {
                self.buffer.put_slice(&frame.payload[skip..]);
                self.last_byte = frame.payload.last().copied();
            }
            FrameKind::Event if self.with_end => {
                if let Ok(event) = serde_json::from_slice(frame.payload) {
                    self.end(&event);
                }
            }
            FrameKind::Event => {}
        }
    }

    fn has_pending(&self) -> bool {
        false
    }

    fn flush(&mut self) {}

    fn finish(&mut self) {}

    fn keep_alive(&mut self) {
        // Every byte would be taken for output; silence is all that text can say.
    }

    fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn take(&mut self) -> Bytes {
        self.buffer.split().freeze()
    }
}
