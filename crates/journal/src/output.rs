//! The output of a run as one run of bytes, events left out, to be entered at any byte or line.

use std::io;
use std::path::Path;

use super::index::{Mark, marks, newlines};
use super::reader::damaged;
use super::{Cursor, FrameKind, Reader, Stream};

#[derive(Debug)]
pub struct Output {
    reader: Reader,
    marks: Vec<Mark>,
    /// How far the journal is looked at; it may have grown since.
    end: u64,
}

/// How much output there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    pub bytes: u64,
    /// A last one without an ending counts.
    pub lines: u64,
}

impl Output {
    /// The output of the journal at this path, up to `end`.
    pub fn open(journal: &Path, end: u64) -> io::Result<Self> {
        let reader = Reader::open(journal)?;
        Ok(Self {
            marks: marks(journal, reader.salt(), end),
            reader,
            end,
        })
    }

    /// Looks also at what came since, up to `end`.
    pub(super) fn grow(&mut self, end: u64) {
        self.end = self.end.max(end);
    }

    pub fn totals(&mut self) -> io::Result<Totals> {
        let mut here = self.enter(|_| true);
        let mut unended = 0;
        while let Some(payload) = self.more()? {
            here = here.past(payload);
            if let Some(last) = payload.last() {
                unended = u64::from(*last != b'\n');
            }
        }
        Ok(Totals {
            bytes: here.bytes,
            lines: here.newlines + unended,
        })
    }

    /// Goes to a byte, counted from 0; to the end if there are not so many.
    pub fn seek_byte(&mut self, byte: u64) -> io::Result<()> {
        let mut here = self.enter(|mark| mark.bytes <= byte);
        while let Some((start, payload)) = self.next_frame()? {
            if here.bytes + payload.len() as u64 > byte {
                let within = byte - here.bytes;
                return self.go_to(start, within);
            }
            here = here.past(payload);
        }
        Ok(())
    }

    /// Goes to the beginning of a line, counted from 1; to the end if there are not so many. The byte at
    /// which that is.
    pub fn seek_line(&mut self, line: u64) -> io::Result<u64> {
        // The line begins after so many newlines.
        let before = line.saturating_sub(1);
        let mut here = self.enter(|mark| mark.newlines < before);
        if before == 0 {
            return Ok(0);
        }
        while let Some((start, payload)) = self.next_frame()? {
            let missing = before - here.newlines;
            if newlines(payload) >= missing {
                let last = usize::try_from(missing - 1).map_err(io::Error::other)?;
                let newline = memchr::memchr_iter(b'\n', payload).nth(last);
                let within = newline.map_or(0, |at| at as u64 + 1);
                self.go_to(start, within)?;
                return Ok(here.bytes + within);
            }
            here = here.past(payload);
        }
        Ok(here.bytes)
    }

    /// More of the output, as much as one frame has of it; `None` at the end.
    pub fn more(&mut self) -> io::Result<Option<&[u8]>> {
        Ok(self.next_frame()?.map(|(_, payload)| payload))
    }

    /// The same, and where it was printed.
    pub fn more_of_stream(&mut self) -> io::Result<Option<(Stream, &[u8])>> {
        while self.reader.position() < self.end {
            let passed = self.reader.advance(self.end)?.ok_or_else(damaged)?;
            if let FrameKind::Output(stream) = passed.kind {
                return Ok(Some((stream, self.reader.payload(&passed))));
            }
        }
        Ok(None)
    }

    /// Gives back the memory that reading takes, until it goes on.
    pub fn release(&mut self) {
        self.reader.release();
    }

    /// Goes to the last mark that is `before` what is looked for; marks are in order.
    fn enter(&mut self, before: impl Fn(&Mark) -> bool) -> Mark {
        let past = self.marks.partition_point(before);
        let mark = self.marks[past.saturating_sub(1)];
        self.reader.go_to(Cursor {
            frame: mark.frame,
            within: 0,
        });
        mark
    }

    fn go_to(&mut self, frame: u64, within: u64) -> io::Result<()> {
        let within = u32::try_from(within).map_err(io::Error::other)?;
        self.reader.go_to(Cursor { frame, within });
        Ok(())
    }

    /// The next output frame's offset, and its payload from the reader's place on.
    fn next_frame(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        while self.reader.position() < self.end {
            let passed = self.reader.advance(self.end)?.ok_or_else(damaged)?;
            if passed.kind != FrameKind::Event {
                return Ok(Some((passed.start, self.reader.payload(&passed))));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::super::{Writer, pack};
    use super::*;

    /// A journal of frames that vary in length from none to a whole read, with events between them.
    fn journal(dir: &Path, parts: &[Vec<u8>]) -> (Vec<u8>, u64) {
        let (mut writer, extent) = Writer::create(&dir.join("journal")).unwrap();
        for (n, part) in parts.iter().enumerate() {
            if n % 3 == 0 {
                writer.append(FrameKind::Event, b"{\"a\":\"\n\"}").unwrap();
            }
            writer
                .append(FrameKind::Output(Stream::Stdout), part)
                .unwrap();
        }
        (parts.concat(), extent.borrow().len)
    }

    fn rest(output: &mut Output) -> Vec<u8> {
        let mut rest = Vec::new();
        while let Some(bytes) = output.more().unwrap() {
            rest.extend_from_slice(bytes);
            // Memory given back at any time changes nothing.
            output.release();
        }
        rest
    }

    /// Where a line begins, by looking at every byte.
    fn line_start(all: &[u8], line: usize) -> usize {
        let newlines = all.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        match line {
            0 | 1 => 0,
            _ => newlines
                .map(|(at, _)| at + 1)
                .nth(line - 2)
                .unwrap_or(all.len()),
        }
    }

    fn line_count(all: &[u8]) -> u64 {
        all.split_inclusive(|byte| *byte == b'\n').count() as u64
    }

    fn check(path: &Path, end: u64, all: &[u8], places: &[usize]) {
        let mut output = Output::open(path, end).unwrap();
        assert!(rest(&mut output) == all);
        let totals = Totals {
            bytes: all.len() as u64,
            lines: line_count(all),
        };
        assert_eq!(output.totals().unwrap(), totals);
        for place in places {
            let byte = place % (all.len() + 2);
            output.seek_byte(byte as u64).unwrap();
            let expected = all.get(byte..).unwrap_or_default();
            assert!(rest(&mut output) == expected, "byte {byte}");
            let line = place % (usize::try_from(totals.lines).unwrap() + 3);
            output.seek_line(line as u64).unwrap();
            assert!(
                rest(&mut output) == all[line_start(all, line)..],
                "line {line}"
            );
        }
    }

    fn parts() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let part = prop_oneof![
            "[a\n\r]{0,40}".prop_map(String::into_bytes),
            (0usize..60_000, 1usize..3000).prop_map(|(n, every)| (0..n)
                .map(|at| if at % every == 0 { b'\n' } else { b'x' })
                .collect()),
        ];
        proptest::collection::vec(part, 0..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn every_byte_and_line_is_found(parts in parts(), places in proptest::collection::vec(any::<usize>(), 1..4)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("journal");
            let (all, end) = journal(dir.path(), &parts);
            check(&path, end, &all, &places);

            // The index is an aid: broken in any way, all stays the same.
            let index = dir.path().join("index");
            let good = fs::read(&index).unwrap();
            let at = places[0] % good.len();
            let mut flipped = good.clone();
            flipped[at] ^= 1;
            for broken in [&good[..at], &flipped, b""] {
                fs::write(&index, broken).unwrap();
                check(&path, end, &all, &places);
            }
            fs::remove_file(&index).unwrap();
            check(&path, end, &all, &places);

            // A writer that goes on makes it anew.
            drop(Writer::reopen(&path).unwrap());
            prop_assert_eq!(fs::read(&index).unwrap(), good);

            pack(&path).unwrap();
            prop_assert_eq!(path.exists(), end < 16 * 1024);
            check(&path, end, &all, &places);
        }
    }

    #[test]
    fn a_place_far_behind_is_reached_without_reading_what_is_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let parts = vec![b"a line of output\n".repeat(1000); 200];
        let (all, end) = journal(dir.path(), &parts);
        // What is not read cannot be found damaged.
        let mut bytes = fs::read(&path).unwrap();
        let half = bytes.len() / 2;
        bytes[100..half].fill(0);
        fs::write(&path, bytes).unwrap();
        let mut output = Output::open(&path, end).unwrap();
        output.seek_line(199_999).unwrap();
        assert_eq!(rest(&mut output), b"a line of output\n".repeat(2));
        output.seek_byte(all.len() as u64 - 3).unwrap();
        assert_eq!(rest(&mut output), b"ut\n");
        assert_eq!(output.totals().unwrap().lines, 200_000);
        assert!(output.seek_byte(0).is_err(), "and what is read, is");
    }

    #[test]
    fn a_mark_beyond_the_end_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let parts = vec![b"0123456789\n".repeat(1000); 100];
        let (all, _) = journal(dir.path(), &parts[..40]);
        let end = fs::metadata(&path).unwrap().len();
        fs::remove_file(&path).unwrap();
        journal(dir.path(), &parts);
        check(&path, end, &all, &[0, all.len() - 1, all.len()]);
    }
}
