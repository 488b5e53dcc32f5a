//! Lines of one file that match, with the lines around them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;

use regex::bytes::Regex;

use super::regular::MAX_LINED;

/// Of a longer line this much is searched, so that no line needs more memory.
const LONGEST_LINE: usize = 64 * 1024;
/// Of a longer line this much is shown.
const LONGEST_SHOWN: usize = 500;
/// What is shown of a long line before the match.
const LEAD: usize = 100;
/// A file with a NUL so early is not text.
const TELLING: usize = 8 * 1024;

/// A line that matches.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// Counted from 1.
    pub(super) number: u64,
    /// The byte at which the match begins, counted from 1.
    pub(super) column: usize,
    pub(super) text: String,
    /// The lines right before it that were not told yet.
    pub(super) before: Vec<String>,
    /// The lines right after it, up to the next hit.
    pub(super) after: Vec<String>,
}

/// How the search of a file ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    /// All lines up to this one were searched.
    Stopped(u64),
    Binary,
}

pub(super) struct Lines<'a> {
    pub(super) pattern: &'a Regex,
    pub(super) context: usize,
    /// Lines up to this one were searched before.
    pub(super) after: u64,
}

impl Lines<'_> {
    /// Gives every hit of `file` to `hit`, which may break the search off, and asks `is_over` now and then.
    pub(super) fn search(
        &self,
        file: File,
        mut hit: impl FnMut(Hit) -> ControlFlow<()>,
        is_over: impl Fn() -> bool,
    ) -> io::Result<End> {
        let mut reader = BufReader::with_capacity(LONGEST_LINE, file.take(MAX_LINED));
        let beginning = reader.fill_buf()?;
        if beginning[..beginning.len().min(TELLING)].contains(&0) {
            return Ok(End::Binary);
        }
        let (mut line, mut number, mut read) = (Vec::new(), 0, 0);
        let mut before = VecDeque::with_capacity(self.context);
        let mut open: Option<Hit> = None;
        loop {
            let more = next_line(&mut reader, &mut line)?;
            read += line.len() + 1;
            let is_new = more && number >= self.after;
            let found = is_new.then(|| self.pattern.find(&line)).flatten();
            // A hit is told once the lines after it are known.
            let is_told = |hit: &Hit| hit.after.len() == self.context;
            if (found.is_some() || open.as_ref().is_some_and(is_told) || !more)
                && let Some(done) = open.take()
                && hit(done).is_break()
            {
                return Ok(End::Stopped(number));
            }
            if !more {
                return Ok(End::Whole);
            }
            number += 1;
            match (found, &mut open) {
                (Some(found), _) => {
                    open = Some(Hit {
                        number,
                        column: found.start() + 1,
                        text: shown(&line, found.start()),
                        before: before.drain(..).collect(),
                        after: Vec::new(),
                    });
                }
                (None, Some(hit)) => hit.after.push(shown(&line, 0)),
                (None, None) if self.context > 0 => {
                    if before.len() == self.context {
                        before.pop_front();
                    }
                    before.push_back(shown(&line, 0));
                }
                (None, None) => {}
            }
            if read >= LONGEST_LINE {
                read = 0;
                if is_over() && open.is_none() {
                    return Ok(End::Stopped(number));
                }
            }
        }
    }
}

/// Reads a line without its ending, as far as it is searched; false at the end.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut begun = false;
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(begun);
        }
        begun = true;
        let newline = memchr::memchr(b'\n', bytes);
        let part = &bytes[..newline.unwrap_or(bytes.len())];
        let room = LONGEST_LINE - line.len();
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = part.len() + usize::from(newline.is_some());
        reader.consume(used);
        if newline.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(true);
        }
    }
}

/// A line as text; of a long one the part around `at`.
fn shown(line: &[u8], at: usize) -> String {
    if line.len() <= LONGEST_SHOWN {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = at.saturating_sub(LEAD).min(line.len() - LONGEST_SHOWN);
    let part = String::from_utf8_lossy(&line[start..start + LONGEST_SHOWN]);
    match start {
        0 => format!("{part}…"),
        _ => format!("…{part}…"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn search(text: &[u8], pattern: &str, context: usize, after: u64) -> (Vec<Hit>, End) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file.rewind().unwrap();
        let pattern = Regex::new(pattern).unwrap();
        let lines = Lines {
            pattern: &pattern,
            context,
            after,
        };
        let mut hits = Vec::new();
        let end = lines.search(
            file,
            |hit| {
                hits.push(hit);
                ControlFlow::Continue(())
            },
            || false,
        );
        (hits, end.unwrap())
    }

    fn told(hits: &[Hit]) -> Vec<(u64, Vec<&str>, Vec<&str>)> {
        hits.iter()
            .map(|hit| {
                let before = hit.before.iter().map(String::as_str).collect();
                let after = hit.after.iter().map(String::as_str).collect();
                (hit.number, before, after)
            })
            .collect()
    }

    #[test]
    fn no_line_is_told_twice() {
        let text = b"a\nb\nX\nc\nX\nd\ne\nf\ng\r\nX";
        let (hits, end) = search(text, "X", 2, 0);
        assert_eq!(
            told(&hits),
            [
                (3, vec!["a", "b"], vec!["c"]),
                (5, vec![], vec!["d", "e"]),
                (10, vec!["f", "g"], vec![]),
            ]
        );
        assert_eq!(end, End::Whole);
        let (hits, _) = search(text, "X", 1, 3);
        assert_eq!(
            told(&hits)[0],
            (5, vec!["c"], vec!["d"]),
            "and it goes on after a line"
        );
        assert_eq!(search(text, "^$", 0, 0).0, []);
    }

    #[test]
    fn a_long_line_is_searched_in_its_beginning_and_shown_around_the_match() {
        let mut line = vec![b'x'; 200_000];
        line[5_000] = b'!';
        line[100_000] = b'?';
        line.extend_from_slice(b"\nnext?\n");
        let (hits, _) = search(&line, "!", 0, 0);
        assert_eq!((hits[0].number, hits[0].column), (1, 5_001));
        assert!(hits[0].text.contains('!') && hits[0].text.len() < 600);
        let (hits, _) = search(&line, r"\?", 0, 0);
        assert_eq!(told(&hits), [(2, vec![], vec![])]);
    }

    #[test]
    fn what_is_not_text_is_left_out() {
        assert_eq!(search(b"X\0X", "X", 0, 0), (vec![], End::Binary));
        let (hits, _) = search(b"f\xfc X\n", "X", 0, 0);
        assert_eq!(hits[0].text, "f\u{fffd} X");
    }
}
