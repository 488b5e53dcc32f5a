//! The output of one run among those of others.

use bytes::{BufMut, Bytes};

use super::events::Out;
use crate::http::negotiate::Format;
use crate::journal::{Frame, Item, Sink, Splitter};
use crate::model::Member;

/// Renders the output of one run among those of others: each event, or line of text, says whose it is.
#[derive(Debug)]
pub struct Output {
    splitter: Splitter,
    format: Format,
    /// What stands before each line, or in each event.
    label: String,
    out: Out,
}

impl Output {
    pub fn of(member: &Member, format: Format) -> Self {
        let label = match format {
            Format::Text => format!("{} | ", member.branch),
            // Names and ids are plain data, which always serialises.
            Format::Sse | Format::Ndjson => format!(
                "\"run_id\":\"{}\",\"branch\":{},",
                member.run_id,
                serde_json::to_string(&member.branch).unwrap_or_default()
            ),
        };
        Self {
            splitter: Splitter::default(),
            format,
            label,
            out: Out::new(format),
        }
    }

    fn item(out: &mut Out, format: Format, label: &str, item: Item<'_>) {
        let Item::Output { stream, bytes, eol } = item else {
            return;
        };
        let kind = stream.as_str();
        if format == Format::Text {
            out.buffer.put_slice(label.as_bytes());
            out.buffer.put_slice(bytes);
            out.buffer.put_slice(b"\n");
            return;
        }
        // Without an id: the place in a run's journal is no place in the group's.
        if out.sse {
            out.buffer
                .put_slice(format!("event: {kind}\ndata: ").as_bytes());
        }
        out.buffer.put_slice(b"{");
        out.buffer.put_slice(label.as_bytes());
        out.output(kind, bytes, eol);
        out.end();
    }
}

impl Sink for Output {
    fn frame(&mut self, frame: &Frame<'_>, skip: usize) {
        let (out, format, label) = (&mut self.out, self.format, &self.label);
        self.splitter
            .frame(frame, skip, |item, _| Self::item(out, format, label, item));
    }

    fn has_pending(&self) -> bool {
        self.splitter.has_pending()
    }

    fn flush(&mut self) {
        // Half a line would be torn apart by the lines of others.
    }

    fn finish(&mut self) {
        let (out, format, label) = (&mut self.out, self.format, &self.label);
        self.splitter
            .flush_all(&mut |item, _| Self::item(out, format, label, item));
    }

    fn keep_alive(&mut self) {
        // The group's own events keep the connection alive.
    }

    fn buffered(&self) -> usize {
        self.out.buffer.len()
    }

    fn take(&mut self) -> Bytes {
        self.out.buffer.split().freeze()
    }
}
