//! The output of one run among those of others.

use std::ops::ControlFlow;

use bytes::Bytes;

use super::encode::Encoder;
use crate::http::negotiate::Format;
use branchyard_journal::{Frame, LineItem, Sink, Splitter};
use branchyard_model::{Member, RunId};

/// Renders the output of one run among those of others: each event, or line of text, says whose it is.
#[derive(Debug)]
pub struct Output {
    splitter: Splitter,
    format: Format,
    /// What stands before each line, or in each event.
    label: String,
    out: Encoder,
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
        Self::labelled(label, format)
    }

    /// Of a step, called by the name of its job.
    pub fn of_step(run: RunId, (job, name): (&str, &str), format: Format) -> Self {
        let label = match format {
            Format::Text => format!("{name} | "),
            Format::Sse | Format::Ndjson => format!(
                "\"run_id\":\"{run}\",\"job\":{},",
                serde_json::to_string(job).unwrap_or_default()
            ),
        };
        Self::labelled(label, format)
    }

    fn labelled(label: String, format: Format) -> Self {
        Self {
            splitter: Splitter::default(),
            format,
            label,
            out: Encoder::new(format),
        }
    }

    fn item(out: &mut Encoder, format: Format, label: &str, item: LineItem<'_>) -> ControlFlow<()> {
        let LineItem::Output { stream, bytes, eol } = item else {
            return ControlFlow::Continue(());
        };
        if format == Format::Text {
            out.put(label.as_bytes());
            out.put(bytes);
            out.put(b"\n");
        } else {
            // Without an id: the place in a run's journal is no place in the group's.
            if out.is_sse() {
                out.put(b"event: ");
                out.put(stream.as_str().as_bytes());
                out.put(b"\ndata: ");
            }
            out.put(b"{");
            out.put(label.as_bytes());
            out.output(stream, bytes, eol);
            out.end();
        }
        match out.is_full() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Half a line is not flushed: the lines of others would tear it apart. The group's own events keep the connection alive.
impl Sink for Output {
    fn frame(&mut self, frame: &Frame<'_>, skip: usize) -> usize {
        let (out, format, label) = (&mut self.out, self.format, &self.label);
        self.splitter
            .frame(frame, skip, |item, _| Self::item(out, format, label, item))
    }

    fn has_pending(&self) -> bool {
        self.splitter.has_pending()
    }

    fn finish(&mut self) {
        let (out, format, label) = (&mut self.out, self.format, &self.label);
        let _ = self
            .splitter
            .flush_all(&mut |item, _| Self::item(out, format, label, item));
    }

    fn buffered(&self) -> usize {
        self.out.len()
    }

    fn take(&mut self) -> Bytes {
        self.out.take()
    }
}
