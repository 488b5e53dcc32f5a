//! A file as it is in a revision.

use std::path::Path;

use git2::Blob;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Request;
use crate::verbs::Verbosity;
use crate::verbs::room::written;

/// What an answer may hold of a file, whoever asks.
const LARGEST_CONTENT: usize = 1024 * 1024;
/// How many bytes of a file decide whether it is text.
const LOOKED_AT: usize = 8_000;
/// What one byte may take in JSON.
const WIDEST_ESCAPE: usize = 6;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileAt {
    /// Left out where it was named by its id.
    path: Option<String>,
    /// As git writes it, such as 100644; 120000 is a link, whose content is where it leads.
    mode: Option<String>,
    /// Bytes.
    size: usize,
    /// It is no text, and is not shown.
    binary: bool,
    /// The content holds replacement characters where the file has bytes that are no UTF-8.
    lossy: bool,
    /// Lines of the file; not with `minimal`.
    content: Option<String>,
    /// How many lines it has.
    lines: Option<usize>,
    /// There is more than this answer holds.
    truncated: bool,
    /// What `skip` is to be to go on, where there is more.
    next: Option<usize>,
    #[serde(skip)]
    skipped: usize,
    #[serde(skip)]
    is_line_cut: bool,
}

/// By git's own rule; libgit2's for blobs is another.
fn is_binary(content: &[u8]) -> bool {
    content.iter().take(LOOKED_AT).any(|byte| *byte == 0)
}

impl FileAt {
    pub(super) fn of(blob: &Blob<'_>, at: Option<(&Path, i32)>, request: &Request) -> Self {
        let mut file = Self {
            path: at.map(|(path, _)| path.display().to_string()),
            mode: at.map(|(_, mode)| format!("{mode:06o}")),
            size: blob.size(),
            binary: is_binary(blob.content()),
            lossy: false,
            content: None,
            lines: None,
            truncated: false,
            next: None,
            skipped: request.skip,
            is_line_cut: false,
        };
        if file.binary || request.verbosity == Verbosity::Minimal {
            return file;
        }
        let bytes = blob.content();
        let all = || bytes.split_inclusive(|byte| *byte == b'\n');
        file.lines = Some(all().count());
        let wanted = all().skip(request.skip).take(request.limit);
        let wanted: usize = wanted.map(<[u8]>::len).sum();
        let before: usize = all().take(request.skip).map(<[u8]>::len).sum();
        let wanted = &bytes[before..before + wanted];
        file.lossy = std::str::from_utf8(wanted).is_err();
        file.content = Some(String::from_utf8_lossy(wanted).into_owned());
        file.cut(LARGEST_CONTENT);
        file
    }

    pub(super) fn text(&self) -> String {
        let mut text = match &self.content {
            Some(content) => content.clone(),
            None if self.binary => format!("binary, {} bytes\n", self.size),
            None => format!("{} bytes\n", self.size),
        };
        if let Some(next) = self.next {
            text += &format!("\nmore with skip: {next}\n");
        }
        text
    }

    /// Leaves out the last lines. A first one that is too long for the answer is itself cut.
    pub(super) fn cut(&mut self, room: usize) {
        let Some(content) = &mut self.content else {
            return;
        };
        let mut left = room;
        let fitting = content.split_inclusive('\n').take_while(|line| {
            let less = left.checked_sub(written(line));
            left = less.unwrap_or_default();
            less.is_some()
        });
        let mut end: usize = fitting.map(str::len).sum();
        if end == 0 && !content.is_empty() {
            // Whatever is in it, this much fits.
            end = content.floor_char_boundary(room / WIDEST_ESCAPE);
            self.is_line_cut = true;
        }
        content.truncate(end);
        let shown = self.skipped + content.split_inclusive('\n').count();
        self.next = (shown < self.lines.unwrap_or_default()).then_some(shown);
        self.truncated = self.next.is_some() || self.is_line_cut;
    }
}
