//! A patch as text that can be shortened by whole hunks, and applied as it is.

use std::borrow::Cow;

use git2::{DiffLineType, Patch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::verbs::room::written;

// The patch of one file. With a doc comment it would be a type of its own in schemas, in place of a string.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PatchText {
    text: String,
    /// Where the lines before the first hunk end.
    #[serde(skip)]
    header_end: usize,
    /// Where each hunk ends.
    #[serde(skip)]
    hunk_ends: Vec<usize>,
    /// How many hunks were passed over.
    #[serde(skip)]
    passed: usize,
    /// How many of the hunks there are, shown or not.
    #[serde(skip)]
    total: usize,
    /// Some bytes were no text, and are not in it as they were.
    #[serde(skip)]
    is_lossy: bool,
}

impl PatchText {
    /// Of several, each comes after the one before.
    pub(crate) fn of(patches: Vec<Patch<'_>>) -> Result<Self, Error> {
        let all = patches
            .into_iter()
            .map(|mut patch| Self::of_one(&mut patch));
        let all = all.reduce(|text, more| Ok(text?.followed_by(&more?)));
        all.unwrap_or_else(|| Ok(Self::default()))
    }

    fn of_one(patch: &mut Patch<'_>) -> Result<Self, Error> {
        let mut parts = vec![Vec::new()];
        patch.print(&mut |_, _, line| {
            if line.origin_value() == DiffLineType::HunkHeader {
                parts.push(Vec::new());
            }
            if let Some(part) = parts.last_mut() {
                match line.origin_value() {
                    DiffLineType::FileHeader => part.extend(with_tabs(line.content())),
                    DiffLineType::Addition => part.push(b'+'),
                    DiffLineType::Deletion => part.push(b'-'),
                    DiffLineType::Context => part.push(b' '),
                    _ => {}
                }
                if line.origin_value() != DiffLineType::FileHeader {
                    part.extend(line.content());
                }
            }
            true
        })?;
        Ok(Self::joined(&parts))
    }

    /// The first part is the header.
    fn joined(parts: &[Vec<u8>]) -> Self {
        let mut joined = Self::default();
        for part in parts {
            let part = String::from_utf8_lossy(part);
            joined.is_lossy |= matches!(part, Cow::Owned(_));
            joined.text.push_str(&part);
            joined.hunk_ends.push(joined.text.len());
        }
        if !joined.hunk_ends.is_empty() {
            joined.header_end = joined.hunk_ends.remove(0);
        }
        joined.total = joined.hunk_ends.len();
        joined
    }

    /// Two patches in a row. The second one's header belongs to its first hunk then.
    fn followed_by(mut self, other: &Self) -> Self {
        let offset = self.text.len();
        self.text.push_str(&other.text);
        self.hunk_ends
            .extend(other.hunk_ends.iter().map(|end| offset + end));
        self.total += other.total;
        self.is_lossy |= other.is_lossy;
        self
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_lossy(&self) -> bool {
        self.is_lossy
    }

    pub fn shows_hunks(&self) -> bool {
        !self.hunk_ends.is_empty()
    }

    /// How many hunks, after those that were passed over, are not in the text.
    pub fn left_out(&self) -> usize {
        self.total - self.passed - self.hunk_ends.len()
    }

    /// The number of the first hunk that was not shown, where there is one. One that is too long for an
    /// answer of its own is passed over.
    pub fn next_hunk(&self) -> Option<usize> {
        let next = self.passed + self.hunk_ends.len().max(1);
        (self.left_out() > 0 && next < self.total).then_some(next)
    }

    /// Takes the first hunks out.
    pub fn pass_over(&mut self, hunks: usize) {
        let hunks = hunks.min(self.hunk_ends.len());
        let Some(end) = self.hunk_ends[..hunks].last().copied() else {
            return;
        };
        self.text.replace_range(self.header_end..end, "");
        self.hunk_ends.drain(..hunks);
        for hunk_end in &mut self.hunk_ends {
            *hunk_end -= end - self.header_end;
        }
        self.passed += hunks;
    }

    /// Takes out the last hunks, so that the rest fits into `room` bytes of JSON.
    pub fn shorten(&mut self, room: usize) {
        let mut left = room.saturating_sub(written(&self.text[..self.header_end]));
        let mut end = self.header_end;
        let mut kept = 0;
        for hunk_end in &self.hunk_ends {
            let Some(less) = left.checked_sub(written(&self.text[end..*hunk_end])) else {
                break;
            };
            (left, end, kept) = (less, *hunk_end, kept + 1);
        }
        if kept < self.hunk_ends.len() {
            self.text.truncate(end);
            self.hunk_ends.truncate(kept);
        }
    }
}

/// As git does: a tab after a name with spaces tells where it ends.
fn with_tabs(header: &[u8]) -> Vec<u8> {
    let mut with_tabs = Vec::new();
    for line in header.split_inclusive(|byte| *byte == b'\n') {
        let is_name = line.starts_with(b"--- ") || line.starts_with(b"+++ ");
        match line.strip_suffix(b"\n") {
            Some(name) if is_name && name[4..].contains(&b' ') => {
                with_tabs.extend(name);
                with_tabs.extend(b"\t\n");
            }
            _ => with_tabs.extend(line),
        }
    }
    with_tabs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch() -> PatchText {
        let parts = ["head\n", "@@1\n+a\n", "@@2\n+b\n", "@@3\n+c\n"];
        PatchText::joined(&parts.map(|part| part.as_bytes().to_vec()))
    }

    #[test]
    fn hunks_go_whole_from_either_end() {
        let mut text = patch();
        assert_eq!((text.next_hunk(), text.left_out()), (None, 0));
        text.pass_over(1);
        assert_eq!(text.as_str(), "head\n@@2\n+b\n@@3\n+c\n");
        assert_eq!((text.next_hunk(), text.left_out()), (None, 0));
        text.shorten("head\n@@2\n+b\n".len() + 4);
        assert_eq!(text.as_str(), "head\n@@2\n+b\n");
        assert_eq!((text.next_hunk(), text.left_out()), (Some(2), 1));
    }

    #[test]
    fn a_hunk_that_never_fits_is_passed_over() {
        let mut text = patch();
        text.shorten(3);
        assert_eq!(text.as_str(), "head\n");
        assert_eq!(text.next_hunk(), Some(1));
        text = patch();
        text.pass_over(2);
        text.shorten(3);
        assert_eq!(text.next_hunk(), None);
        assert_eq!(text.left_out(), 1);
    }
}
