//! A window on what a run printed, as text for an agent: no terminal escapes, no overwritten progress
//! bars, cut between lines where it can be, and exact about which bytes it showed.

use std::io;

use super::fit;
use branchyard_journal::{AnsiFilter, Output, Stream, Totals};
use branchyard_model::Problem;
use branchyard_runs::View;

/// As much is read for one answer; an answer holds less.
const READ: u64 = 64 * 1024;

/// Bytes of the output, from a place in it.
#[derive(Debug)]
pub(super) struct Window {
    start: u64,
    raw: Vec<u8>,
    /// More was asked for than is in it.
    cut: bool,
    /// How much output there was when it was read.
    total: Totals,
}

/// What is shown of a window, and the bytes of the output that it stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShownLines {
    pub(super) text: String,
    pub(super) from: u64,
    pub(super) to: u64,
    /// More was asked for than is shown.
    pub(super) cut: bool,
}

impl Window {
    /// What follows on byte `from`.
    pub(super) async fn after(view: &View, from: u64) -> Result<Self, Problem> {
        view.with_output(move |mut output| {
            let total = output.totals()?;
            let start = from.min(total.bytes);
            Self::read(output, start, total)
        })
        .await
    }

    /// The end of what was printed, but nothing before byte `from`.
    pub(super) async fn before_end(view: &View, from: u64) -> Result<Self, Problem> {
        view.with_output(move |mut output| {
            let total = output.totals()?;
            let start = from.max(total.bytes.saturating_sub(READ)).min(total.bytes);
            let mut window = Self::read(output, start, total)?;
            window.cut = start > from;
            if window.cut
                && let Some(newline) = memchr::memchr(b'\n', &window.raw)
            {
                // The line that was begun before it.
                window.raw.drain(..=newline);
                window.start += newline as u64 + 1;
            }
            Ok(window)
        })
        .await
    }

    /// The last `count` lines, as far as they can be read at once.
    pub(super) async fn last_lines(view: &View, count: u64) -> Result<Self, Problem> {
        let from = view
            .with_output(move |mut output| {
                let lines = output.totals()?.lines;
                output.seek_line(lines.saturating_sub(count) + 1)
            })
            .await?;
        Self::before_end(view, from).await
    }

    /// The lines from `first` on, counted from 1, at most `count`.
    pub(super) async fn lines(view: &View, first: u64, count: u64) -> Result<Self, Problem> {
        view.with_output(move |mut output| {
            let total = output.totals()?;
            let start = output.seek_line(first)?;
            let mut raw = Vec::new();
            let mut left = count;
            while left > 0 && (raw.len() as u64) < READ {
                let Some(bytes) = output.more()? else { break };
                let end = memchr::memchr_iter(b'\n', bytes)
                    .nth(usize::try_from(left - 1).unwrap_or(usize::MAX));
                let wanted = end.map_or(bytes, |end| &bytes[..=end]);
                left -= memchr::memchr_iter(b'\n', wanted).count() as u64;
                raw.extend_from_slice(wanted);
            }
            let cut = left > 0 && output.more()?.is_some();
            Ok(Self {
                start,
                raw,
                cut,
                total,
            })
        })
        .await
    }

    /// The end of what was printed on one stream, after byte `from` of both.
    pub(super) async fn of_stream(view: &View, stream: Stream, from: u64) -> Result<Self, Problem> {
        view.with_output(move |mut output| {
            let total = output.totals()?;
            output.seek_byte(from)?;
            let (mut raw, mut cut) = (Vec::new(), false);
            while let Some((of, bytes)) = output.more_of_stream()? {
                if of != stream {
                    continue;
                }
                raw.extend_from_slice(bytes);
                if raw.len() as u64 > 2 * READ {
                    raw.drain(..raw.len() - usize::try_from(READ).map_err(io::Error::other)?);
                    cut = true;
                }
            }
            Ok(Self {
                start: 0,
                raw,
                cut,
                total,
            })
        })
        .await
    }

    /// A text in place of the output that it was made of, all of it or not.
    pub(super) async fn instead(view: &View, text: String, cut: bool) -> Result<Self, Problem> {
        Ok(Self {
            start: 0,
            raw: text.into_bytes(),
            cut,
            total: view.with_output(|mut output| output.totals()).await?,
        })
    }

    fn read(mut output: Output, start: u64, total: Totals) -> io::Result<Self> {
        output.seek_byte(start)?;
        let wanted = usize::try_from((total.bytes - start).min(READ)).unwrap_or(usize::MAX);
        let mut raw = Vec::with_capacity(wanted);
        while raw.len() < wanted {
            let Some(bytes) = output.more()? else { break };
            raw.extend_from_slice(&bytes[..bytes.len().min(wanted - raw.len())]);
        }
        let cut = start + (raw.len() as u64) < total.bytes;
        Ok(Self {
            start,
            raw,
            cut,
            total,
        })
    }

    pub(super) fn total(&self) -> Totals {
        self.total
    }

    /// As much from the beginning as fits into `room` bytes of an answer.
    pub(super) fn head(&self, room: usize) -> ShownLines {
        let lines = self.raw.split_inclusive(|byte| *byte == b'\n');
        let (lines, mut used) = fitting(lines, room);
        let mut text = lines.concat();
        if used == 0 && !self.raw.is_empty() {
            // Not even one line fits: a piece of it does.
            (used, text) = pieces(room, self.raw.len(), |most| {
                let end = boundary_before(&self.raw, most);
                (end, readable(&self.raw[..end]))
            });
        }
        self.shown(text, 0, used)
    }

    /// As much of the end as fits into `room` bytes of an answer.
    pub(super) fn tail(&self, room: usize) -> ShownLines {
        let lines = self.raw.split_inclusive(|byte| *byte == b'\n').rev();
        let (mut lines, used) = fitting(lines, room);
        let len = self.raw.len();
        if used == 0 && len > 0 {
            let (start, text) = pieces(room, len, |most| {
                let start = boundary_after(&self.raw, len - most);
                (start, readable(&self.raw[start..]))
            });
            return self.shown(text, start, len);
        }
        lines.reverse();
        self.shown(lines.concat(), len - used, len)
    }

    /// The number of the line that the end of the output begins with, or in.
    pub(super) fn first_line(&self, end: &ShownLines) -> u64 {
        let lines = end.text.split_inclusive('\n').count() as u64;
        (self.total.lines + 1).saturating_sub(lines)
    }

    fn shown(&self, text: String, from: usize, to: usize) -> ShownLines {
        ShownLines {
            text,
            from: self.start + from as u64,
            to: self.start + to as u64,
            cut: self.cut || from > 0 || to < self.raw.len(),
        }
    }
}

/// The first of the lines that fit into `room` bytes of an answer, and how many bytes of the output they stand for.
fn fitting<'a>(lines: impl Iterator<Item = &'a [u8]>, room: usize) -> (Vec<String>, usize) {
    let (mut shown, mut used, mut left) = (Vec::new(), 0, room);
    for line in lines {
        let text = readable(line);
        let Some(rest) = left.checked_sub(fit::length(&text)) else {
            break;
        };
        left = rest;
        used += line.len();
        shown.push(text);
    }
    (shown, used)
}

/// Bytes of a line as a terminal would have left them, in UTF-8.
pub(super) fn readable(line: &[u8]) -> String {
    let mut plain = Vec::with_capacity(line.len());
    AnsiFilter::default().pass(line, &mut plain);
    let (body, ending) = match plain.strip_suffix(b"\n") {
        Some(body) => (body.strip_suffix(b"\r").unwrap_or(body), "\n"),
        None => (&plain[..], ""),
    };
    // What was written over is not what anybody saw.
    let seen = body
        .rsplit(|byte| *byte == b'\r')
        .find(|part| !part.is_empty())
        .unwrap_or_default();
    format!("{}{ending}", String::from_utf8_lossy(seen))
}

/// The longest piece of at most `room` bytes, and half of that until it fits with its escapes.
fn pieces(room: usize, len: usize, cut: impl Fn(usize) -> (usize, String)) -> (usize, String) {
    let mut most = room.min(len);
    loop {
        let (place, text) = cut(most);
        if most <= 1 || fit::length(&text) <= room {
            return (place, text);
        }
        most /= 2;
    }
}

/// The last place at or before `at` where no character is cut; 1 at least, so that reading goes on.
fn boundary_before(bytes: &[u8], at: usize) -> usize {
    let mut place = at;
    while place > 0 && at - place < 4 && bytes.get(place).is_some_and(is_within) {
        place -= 1;
    }
    place.max(1)
}

fn boundary_after(bytes: &[u8], at: usize) -> usize {
    let mut place = at;
    while place < bytes.len() && place - at < 4 && is_within(&bytes[place]) {
        place += 1;
    }
    place
}

/// A byte that cannot begin a character.
fn is_within(byte: &u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests;
