//! A journal as events: server-sent, or one JSON object per line.

use std::ops::ControlFlow;

use bytes::Bytes;

use super::encode::Encoder;
use crate::http::negotiate::Format;
use branchyard_journal::{Cursor, Frame, FrameKind, LineItem, Sink, Splitter};

/// Renders a journal as server-sent events or NDJSON.
#[derive(Debug)]
pub struct Events {
    splitter: Splitter,
    out: Encoder,
}

impl Events {
    pub fn new(format: Format) -> Self {
        Self {
            splitter: Splitter::default(),
            out: Encoder::new(format),
        }
    }
}

impl Sink for Events {
    fn frame(&mut self, frame: &Frame<'_>, skip: usize) -> usize {
        let (splitter, out) = (&mut self.splitter, &mut self.out);
        let mut at = skip;
        while !out.is_full() {
            if let (FrameKind::Output(stream), false) = (frame.kind, splitter.has_pending()) {
                at = out.lines(frame, stream, at);
            }
            // What is more than a line within a frame, one at a time.
            at = splitter.frame(frame, at, |item, cursor| event(out, item, cursor));
            if at == frame.payload.len() {
                break;
            }
        }
        at
    }

    fn has_pending(&self) -> bool {
        self.splitter.has_pending()
    }

    fn flush(&mut self) {
        let out = &mut self.out;
        let _ = self.splitter.flush(|item, cursor| event(out, item, cursor));
    }

    fn finish(&mut self) {
        let (splitter, out) = (&mut self.splitter, &mut self.out);
        let _ = splitter.flush_all(&mut |item, cursor| event(out, item, cursor));
    }

    fn keep_alive(&mut self) {
        // In NDJSON an empty line is nothing; in SSE a comment is.
        self.out.put(match self.out.is_sse() {
            true => b":\n\n",
            false => b"\n",
        });
    }

    fn buffered(&self) -> usize {
        self.out.len()
    }

    fn take(&mut self) -> Bytes {
        self.out.take()
    }

    fn put_back(&mut self) -> Option<Cursor> {
        self.splitter.put_back()
    }

    fn format_id(&self) -> Option<u8> {
        Some(self.out.is_sse().into())
    }
}

/// One, and no more before it was looked whether there is room.
fn event(out: &mut Encoder, item: LineItem<'_>, cursor: Cursor) -> ControlFlow<()> {
    match item {
        LineItem::Event { json } => {
            out.open(cursor, event_type(json));
            // The stored object goes on after its opening brace.
            out.put(json.get(1..).unwrap_or_default());
        }
        LineItem::Output { stream, bytes, eol } => {
            out.open(cursor, stream.as_str());
            out.output(stream, bytes, eol);
        }
    }
    out.end();
    ControlFlow::Break(())
}

/// The `type` of a stored event, which its serialisation puts first.
fn event_type(json: &[u8]) -> &str {
    json.strip_prefix(b"{\"type\":\"")
        .and_then(|rest| rest.split(|b| *b == b'"').next())
        .and_then(|name| std::str::from_utf8(name).ok())
        .unwrap_or("message")
}
