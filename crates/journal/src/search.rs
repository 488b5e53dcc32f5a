//! Lines of the output that match a pattern, with the lines around them.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use regex::bytes::Regex;

use super::each_line::LineCutter;
use super::excerpt::{Pieces, step};
use super::{AnsiFilter, MAX_OUTPUT, Output};

/// A line of the output, counted from 1, without its ending.
#[derive(Debug, Default)]
pub struct SearchLine {
    pub number: u64,
    pub text: Vec<u8>,
}

/// Turns what is found into the bytes of one wire format. No line is told twice: one between two
/// matches is after the first or before the second.
pub trait Report: Send + 'static {
    fn matched(&mut self, number: u64, text: &[u8], before: &[SearchLine]);
    fn after(&mut self, number: u64, text: &[u8]);
    /// `truncated`: there is at least one more match than was asked for.
    fn end(&mut self, truncated: bool);
    fn buffered(&self) -> usize;
    fn take(&mut self) -> Bytes;
}

/// A pattern for lines of output.
pub fn pattern(text: &str, ignore_case: bool) -> Result<Regex, String> {
    branchyard_model::regex(text, |builder| {
        builder.case_insensitive(ignore_case);
    })
}

/// What to look for.
#[derive(Debug, Clone)]
pub struct Query {
    pub pattern: Regex,
    /// Lines to tell before and after each match.
    pub context: usize,
    /// Matches to tell.
    pub limit: usize,
}

#[derive(Debug)]
pub struct Search<R> {
    output: Output,
    filter: Option<AnsiFilter>,
    matcher: Matcher<R>,
    lines: LineCutter,
    over: bool,
}

impl<R: Report> Search<R> {
    pub fn new(output: Output, query: Query, report: R) -> Self {
        Self {
            output,
            filter: None,
            matcher: Matcher {
                query,
                report,
                number: 0,
                before: VecDeque::new(),
                after: 0,
                matches: 0,
                truncated: false,
            },
            lines: LineCutter::default(),
            over: false,
        }
    }

    /// Searches from this line on, counted from 1.
    pub fn from_line(mut self, line: u64) -> io::Result<Self> {
        self.output.seek_line(line)?;
        self.matcher.number = line.saturating_sub(1);
        Ok(self)
    }

    /// The first line that was not seen whole.
    pub fn next_line(&self) -> u64 {
        self.matcher.number + u64::from(self.lines.begun().is_none())
    }

    /// What it was told, where that is more than bytes.
    pub fn into_report(self) -> R {
        self.matcher.report
    }

    /// Searches and tells lines without terminal escapes.
    #[must_use]
    pub fn without_ansi(mut self) -> Self {
        self.filter = Some(AnsiFilter::default());
        self
    }
}

impl<R: Report> Pieces for Search<R> {
    fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.over {
            return Ok(None);
        }
        let Self {
            output,
            filter,
            matcher,
            lines,
            over,
        } = self;
        let mut filtered = Vec::new();
        let more = step(output, |bytes| {
            let bytes = match filter {
                Some(filter) => {
                    filtered.clear();
                    filter.pass(bytes, &mut filtered);
                    &filtered
                }
                None => bytes,
            };
            lines.cut(bytes, |line| matcher.line(line));
            (!matcher.truncated).then(|| matcher.report.buffered())
        })?;
        if !more {
            if let Some(last) = lines.begun() {
                matcher.line(last);
            }
            matcher.report.end(matcher.truncated);
            *over = true;
        }
        Ok(Some(matcher.report.take()))
    }
}

#[derive(Debug)]
struct Matcher<R> {
    query: Query,
    report: R,
    number: u64,
    /// The last lines that were not told.
    before: VecDeque<SearchLine>,
    /// How many lines are still to be told after the last match.
    after: usize,
    matches: usize,
    truncated: bool,
}

impl<R: Report> Matcher<R> {
    fn line(&mut self, line: &[u8]) {
        if self.truncated {
            return;
        }
        self.number += 1;
        // Of a longer line this much is searched and shown.
        let line = &line[..line.len().min(MAX_OUTPUT)];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.query.pattern.is_match(line) {
            if self.matches == self.query.limit {
                self.truncated = true;
                return;
            }
            self.matches += 1;
            let before = self.before.make_contiguous();
            self.report.matched(self.number, line, before);
            self.before.clear();
            self.after = self.query.context;
        } else if self.after > 0 {
            self.after -= 1;
            self.report.after(self.number, line);
        } else if self.query.context > 0 {
            self.remember(line);
        }
    }

    fn remember(&mut self, text: &[u8]) {
        let mut line = if self.before.len() == self.query.context {
            self.before.pop_front().unwrap_or_default()
        } else {
            SearchLine::default()
        };
        line.number = self.number;
        line.text.clear();
        line.text.extend_from_slice(text);
        self.before.push_back(line);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::super::{FrameKind, Stream, Writer, length, pack};
    use super::*;

    /// The kind of a line and its number: `m`atched, `b`efore, `a`fter.
    #[derive(Debug, Default)]
    struct Told {
        lines: Vec<(char, u64, Vec<u8>)>,
        truncated: Option<bool>,
    }

    impl Report for Told {
        fn matched(&mut self, number: u64, text: &[u8], before: &[SearchLine]) {
            for line in before {
                self.lines.push(('b', line.number, line.text.clone()));
            }
            self.lines.push(('m', number, text.to_vec()));
        }
        fn after(&mut self, number: u64, text: &[u8]) {
            self.lines.push(('a', number, text.to_vec()));
        }
        fn end(&mut self, truncated: bool) {
            assert_eq!(self.truncated.replace(truncated), None, "ended once");
        }
        fn buffered(&self) -> usize {
            0
        }
        fn take(&mut self) -> Bytes {
            Bytes::new()
        }
    }

    fn search(path: &Path, pattern: &str, context: usize, limit: usize) -> Told {
        let output = Output::open(path, length(path).unwrap()).unwrap();
        let pattern = Regex::new(pattern).unwrap();
        let query = Query {
            pattern,
            context,
            limit,
        };
        let mut search = Search::new(output, query, Told::default());
        while search.piece().unwrap().is_some() {}
        search.matcher.report
    }

    /// The same by looking at all lines at once.
    fn naive(all: &[u8], pattern: &str, context: usize, limit: usize) -> Told {
        let pattern = Regex::new(pattern).unwrap();
        let lines: Vec<_> = all
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .collect();
        let matches: Vec<_> = (0..lines.len())
            .filter(|n| pattern.is_match(lines[*n]))
            .collect();
        let shown = &matches[..matches.len().min(limit)];
        let end = matches.get(limit).copied().unwrap_or(lines.len());
        let mut told = Told {
            truncated: Some(matches.len() > limit),
            ..Told::default()
        };
        for (n, line) in lines.iter().enumerate().take(end) {
            let near = |m: &&usize| m.abs_diff(n) <= context;
            let kind = if shown.contains(&n) {
                'm'
            } else if shown.iter().rev().filter(|m| **m < n).any(|m| near(&m)) {
                'a'
            } else if shown.iter().filter(|m| **m > n).any(|m| near(&m)) {
                'b'
            } else {
                continue;
            };
            told.lines.push((kind, n as u64 + 1, line.to_vec()));
        }
        told
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_finds_what_looking_at_every_line_finds(
            parts in proptest::collection::vec("[abc\n\n\r]{1,40}", 0..30),
            context in 0usize..4,
            limit in 0usize..12,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("journal");
            let (mut writer, _) = Writer::create(&path).unwrap();
            for part in &parts {
                writer.append(FrameKind::Output(Stream::Stdout), part.as_bytes()).unwrap();
                writer.append(FrameKind::Event, b"{\"type\":\"a\"}").unwrap();
            }
            let all = parts.concat().into_bytes();
            for pattern in ["^a", "c$", "ab+c|^$", "nowhere"] {
                let (told, expected) = (search(&path, pattern, context, limit), naive(&all, pattern, context, limit));
                prop_assert_eq!(told.lines, expected.lines, "{}", pattern);
                prop_assert_eq!(told.truncated, expected.truncated);
            }
        }
    }

    #[test]
    fn an_endless_line_is_searched_as_far_as_it_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut writer, _) = Writer::create(&path).unwrap();
        let mut line = vec![b'x'; 5 << 20];
        line[10] = b'!';
        line[4 << 20] = b'?';
        line.extend_from_slice(b"\nnext?\n");
        for part in line.chunks(60_000) {
            writer
                .append(FrameKind::Output(Stream::Stdout), part)
                .unwrap();
        }
        for packed in [false, true] {
            if packed {
                pack(&path).unwrap();
            }
            let told = search(&path, "!", 1, 10);
            assert_eq!(told.lines.len(), 2);
            assert_eq!(told.lines[0].2.len(), MAX_OUTPUT);
            assert_eq!(told.lines[1], ('a', 2, b"next?".to_vec()));
            let told = search(&path, "\\?", 0, 10);
            assert_eq!(told.lines, [('m', 2, b"next?".to_vec())]);
        }
    }
}
