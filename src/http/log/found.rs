//! What a search found, as text in the manner of `grep -n` and as JSON.

use bytes::{BufMut, Bytes, BytesMut};
use schemars::JsonSchema;
use serde::Serialize;

use branchyard_journal::{Query, Report, SearchLine};

/// What [`GrepJson`] writes, piece by piece.
#[derive(JsonSchema)]
#[schemars(rename = "LogMatches")]
#[expect(dead_code, reason = "it is there to be described")]
pub(super) struct Found {
    items: Vec<FoundLine>,
    /// There are more, beyond the limit.
    truncated: bool,
}

/// A line that matches. None is told twice: one between two matches is after the first or before the second.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LogMatch")]
struct FoundLine {
    /// Counted from 1.
    line: u64,
    text: String,
    /// The lines right before it.
    before: Vec<String>,
    /// The lines right after it.
    after: Vec<String>,
}

/// `12:a match`, `11-a line beside it`, and `--` between groups that are apart.
#[derive(Debug)]
pub(super) struct GrepText {
    buffer: BytesMut,
    /// Only lines with others around them are groups.
    grouped: bool,
    limit: usize,
    last: Option<u64>,
}

impl GrepText {
    pub(super) fn new(query: &Query) -> Self {
        Self {
            buffer: BytesMut::new(),
            grouped: query.context > 0,
            limit: query.limit,
            last: None,
        }
    }

    fn line(&mut self, number: u64, mark: u8, text: &[u8]) {
        if self.grouped && self.last.is_some_and(|last| last + 1 < number) {
            self.buffer.put_slice(b"--\n");
        }
        self.last = Some(number);
        self.buffer.put_slice(number.to_string().as_bytes());
        self.buffer.put_u8(mark);
        self.buffer.put_slice(text);
        self.buffer.put_u8(b'\n');
    }
}

impl Report for GrepText {
    fn matched(&mut self, number: u64, text: &[u8], before: &[SearchLine]) {
        for line in before {
            self.line(line.number, b'-', &line.text);
        }
        self.line(number, b':', text);
    }

    fn after(&mut self, number: u64, text: &[u8]) {
        self.line(number, b'-', text);
    }

    fn end(&mut self, truncated: bool) {
        if truncated {
            let note = format!("-- and more, beyond the limit of {}\n", self.limit);
            self.buffer.put_slice(note.as_bytes());
        }
    }

    fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.buffer).freeze()
    }
}

/// `{"items":[{"line":12,"text":"…","before":[…],"after":[…]}],"truncated":false}`
#[derive(Debug)]
pub(super) struct GrepJson {
    buffer: BytesMut,
    /// The item that the lines after it are still added to.
    open: Option<FoundLine>,
    has_items: bool,
}

impl GrepJson {
    pub(super) fn new() -> Self {
        Self {
            buffer: BytesMut::from(&b"{\"items\":["[..]),
            open: None,
            has_items: false,
        }
    }

    fn close(&mut self) {
        let Some(line) = self.open.take() else {
            return;
        };
        if std::mem::replace(&mut self.has_items, true) {
            self.buffer.put_u8(b',');
        }
        // Numbers and strings always serialise into a growing buffer.
        let _ = serde_json::to_writer((&mut self.buffer).writer(), &line);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Report for GrepJson {
    fn matched(&mut self, number: u64, line: &[u8], before: &[SearchLine]) {
        self.close();
        self.open = Some(FoundLine {
            line: number,
            text: text(line),
            before: before.iter().map(|line| text(&line.text)).collect(),
            after: Vec::new(),
        });
    }

    fn after(&mut self, _: u64, line: &[u8]) {
        if let Some(open) = &mut self.open {
            open.after.push(text(line));
        }
    }

    fn end(&mut self, truncated: bool) {
        self.close();
        let end = format!("],\"truncated\":{truncated}}}\n");
        self.buffer.put_slice(end.as_bytes());
    }

    fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.buffer).freeze()
    }
}
