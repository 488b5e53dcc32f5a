//! The text of a file, as much as fits by whole lines.

use base64::Engine;
use schemars::JsonSchema;
use serde::Serialize;

use crate::mcp::page::{Page, fitted_page};
use crate::mcp::reply::{Reply, cut};
use branchyard_model::Problem;

/// What is not text and has more bytes is only told of.
const SMALL: usize = 3_000;

/// Lines of a file.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) bytes: Vec<u8>,
    /// The number of the first of them.
    pub(super) first: usize,
    /// There are lines after these, as far as they were asked for.
    pub(super) more: bool,
}

/// What is shown of them.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Excerpt {
    encoding: Encoding,
    /// The lines; nothing of a binary file.
    text: String,
    /// The bytes of a small binary file.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// The number of the first line in `text`.
    start_line: usize,
    /// The number of the last one; less than start_line if there is none.
    end_line: usize,
    /// Not all that was asked for is here.
    pub(super) truncated: bool,
    /// Where to go on: the number of the next line.
    pub(super) next_cursor: Option<String>,
}

/// `lossy`: what is no UTF-8 was replaced. `binary`: it is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    Lossy,
    Binary,
}

impl Lines {
    /// The answer that `make` makes of as much as fits, and of the words for the text copy.
    pub(super) fn fitted(
        self,
        make: impl Fn(Excerpt, String) -> Result<Reply, Problem>,
    ) -> Result<Reply, Problem> {
        if self.bytes.contains(&0) {
            return self.binary(make);
        }
        let (text, encoding) = match String::from_utf8(self.bytes) {
            Ok(text) => (text, Encoding::Utf8),
            Err(error) => (
                String::from_utf8_lossy(error.as_bytes()).into_owned(),
                Encoding::Lossy,
            ),
        };
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let (first, more) = (self.first, self.more);
        let next = |count: usize| {
            let is_last = count == lines.len() && !more;
            (!is_last).then(|| (first + count).to_string())
        };
        fitted_page(&lines, next, |page| {
            let (shown, is_cut) = joined(page);
            let end_line = (first + page.shown.len()).saturating_sub(1);
            let mut told = shown.clone();
            if is_cut || page.next_cursor.is_some() {
                told.push_str(&format!("\n(lines {first} to {end_line}"));
                told.push_str(if is_cut { ", long ones cut) " } else { ") " });
            }
            page.tell_rest(&mut told);
            let excerpt = Excerpt {
                encoding,
                text: shown,
                base64: None,
                start_line: first,
                end_line,
                truncated: is_cut || page.next_cursor.is_some(),
                next_cursor: page.next_cursor.clone(),
            };
            make(excerpt, told)
        })
    }

    fn binary(
        self,
        make: impl Fn(Excerpt, String) -> Result<Reply, Problem>,
    ) -> Result<Reply, Problem> {
        let is_whole = self.first == 1 && !self.more && self.bytes.len() <= SMALL;
        let engine = base64::engine::general_purpose::STANDARD;
        let excerpt = Excerpt {
            encoding: Encoding::Binary,
            text: String::new(),
            base64: is_whole.then(|| engine.encode(&self.bytes)),
            start_line: self.first,
            end_line: self.first.saturating_sub(1),
            truncated: !is_whole,
            next_cursor: None,
        };
        make(excerpt, "(a binary file)".to_owned())
    }
}

/// The lines as one text, and whether one of them was too long for any answer.
fn joined(page: &Page<'_, &str>) -> (String, bool) {
    let mut text = String::new();
    let mut is_cut = false;
    for line in page.shown {
        let mut line = (*line).to_owned();
        if line.len() > page.room {
            line = cut(&line, page.room);
            line.push('\n');
            is_cut = true;
        }
        text.push_str(&line);
    }
    (text, is_cut)
}
