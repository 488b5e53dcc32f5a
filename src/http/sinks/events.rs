//! A journal as events: server-sent, or one JSON object per line.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};

use crate::http::negotiate::Format;
use crate::journal::{Cursor, Eol, Frame, Item, Sink, Splitter};

/// Renders a journal as server-sent events or NDJSON.
#[derive(Debug)]
pub struct Events {
    splitter: Splitter,
    out: Out,
}

#[derive(Debug)]
pub(super) struct Out {
    pub(super) sse: bool,
    pub(super) buffer: BytesMut,
}

impl Out {
    pub(super) fn new(format: Format) -> Self {
        Self {
            sse: format == Format::Sse,
            buffer: BytesMut::new(),
        }
    }
}

impl Events {
    pub fn new(format: Format) -> Self {
        Self {
            splitter: Splitter::default(),
            out: Out::new(format),
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
        // All of the memory goes with the piece: a viewer that waits holds none.
        std::mem::take(&mut self.out.buffer).freeze()
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
        self.end();
    }

    pub(super) fn end(&mut self) {
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

    pub(super) fn output(&mut self, stream: &str, bytes: &[u8], eol: Eol) {
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
