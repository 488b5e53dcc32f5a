//! What is left of a text without its terminal escapes, and where that stands in it.

use std::ops::Range;

use branchyard_journal::{AnsiFilter, ESC};

/// Escapes of more bytes than this, one after the other, stand in no secret by accident. Something has to end
/// what is held back for a secret that may go on behind them.
const LONGEST_ESCAPES: usize = 256;
/// Stands for those in the visible text. No secret has it, for no variable can hold it.
const BREAK: u8 = 0;

#[derive(Debug, Default)]
pub(super) struct Visible {
    text: Vec<u8>,
    /// Where runs of it begin: in `text`, and in what it was taken from.
    runs: Vec<(usize, usize)>,
    /// Whether a sequence is under way at the end.
    end: AnsiFilter,
}

impl Visible {
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Where the escapes stand after the whole of it.
    pub(super) fn into_end(self) -> AnsiFilter {
        self.end
    }

    /// Of `whole`, which begins where `escapes` is.
    pub(super) fn of(mut escapes: AnsiFilter, whole: &[u8]) -> Self {
        let mut found = Self::default();
        let mut end = 0;
        escapes.each_visible(whole, |run| {
            found.break_after(end, run.start);
            found.runs.push((found.text.len(), run.start));
            found.text.extend_from_slice(&whole[run.clone()]);
            end = run.end;
        });
        found.break_after(end, whole.len());
        found.end = escapes;
        found
    }

    fn break_after(&mut self, end: usize, next: usize) {
        if next - end > LONGEST_ESCAPES {
            self.runs.push((self.text.len(), end));
            self.text.push(BREAK);
        }
    }

    /// Where the byte `at` of the visible text stands; `None` behind its end.
    pub(super) fn place(&self, at: usize) -> Option<usize> {
        if at >= self.text.len() {
            return None;
        }
        let run = self.runs.partition_point(|(visible, _)| *visible <= at);
        let (visible, whole) = self.runs[run.checked_sub(1)?];
        Some(whole + at - visible)
    }

    /// The first visible byte that stands at `place` or after.
    pub(super) fn first_from(&self, place: usize) -> usize {
        let run = self.runs.partition_point(|(_, whole)| *whole <= place);
        let Some((visible, whole)) = run.checked_sub(1).map(|run| self.runs[run]) else {
            return 0;
        };
        let end = self.runs.get(run).map_or(self.text.len(), |next| next.0);
        (visible + place - whole).min(end)
    }
}

/// Where the last sequence within `range` of `text` stands that sets colours; empty where there is none.
pub(super) fn last_colour(text: &[u8], range: Range<usize>) -> Range<usize> {
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
    for at in memchr::memrchr_iter(ESC, &text[range.clone()]) {
        let start = range.start + at;
        let Some(rest) = text[start + 1..range.end].strip_prefix(b"[") else {
            continue;
        };
        let parameters = rest.iter().take_while(|byte| is_parameter(byte)).count();
        if rest.get(parameters) == Some(&b'm') {
            return start..start + 2 + parameters + 1;
        }
    }
    range.start..range.start
}
