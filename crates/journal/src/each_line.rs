//! The output as lines.

use std::io;

use super::{MAX_OUTPUT, Output};

/// Cuts output into lines, wherever its frames end. Of a longer line only so much is kept as fits one event, so that
/// none needs more memory.
#[derive(Debug, Default)]
pub(super) struct LineCutter(Vec<u8>);

impl LineCutter {
    /// Gives out the lines that end in `bytes`, without their newlines.
    pub(super) fn cut(&mut self, bytes: &[u8], mut whole: impl FnMut(&[u8])) {
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', bytes) {
            let rest = &bytes[start..newline];
            if self.0.is_empty() {
                whole(rest);
            } else {
                self.hold(rest);
                whole(&self.0);
                self.0.clear();
            }
            start = newline + 1;
        }
        self.hold(&bytes[start..]);
    }

    /// The line that has begun and not ended.
    pub(super) fn begun(&self) -> Option<&[u8]> {
        (!self.0.is_empty()).then_some(&self.0)
    }

    fn hold(&mut self, more: &[u8]) {
        let room = MAX_OUTPUT.saturating_sub(self.0.len());
        self.0.extend_from_slice(&more[..more.len().min(room)]);
    }
}

/// Reads lines on from where the output that was there before ended.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    /// Of the last line that was given out.
    number: u64,
    cutter: LineCutter,
}

impl LineReader {
    /// Gives the lines that have ended, counted from 1 and without their endings.
    pub(super) fn read(
        &mut self,
        output: &mut Output,
        mut take: impl FnMut(u64, &[u8]),
    ) -> io::Result<()> {
        let Self { number, cutter } = self;
        while let Some(payload) = output.more()? {
            cutter.cut(payload, |line| {
                *number += 1;
                take(*number, line.strip_suffix(b"\r").unwrap_or(line));
            });
        }
        Ok(())
    }
}

impl Output {
    /// Gives every line, counted from 1 and without its ending, from where it stands to its end.
    pub fn each_line(&mut self, mut take: impl FnMut(u64, &[u8])) -> io::Result<()> {
        let mut lines = LineReader::default();
        lines.read(self, &mut take)?;
        if let Some(last) = lines.cutter.begun() {
            take(lines.number + 1, last.strip_suffix(b"\r").unwrap_or(last));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FrameKind, Stream, Writer};
    use super::*;

    #[test]
    fn lines_are_whole_wherever_frames_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut writer, extent) = Writer::create(&path).unwrap();
        for part in ["a\nb", "c\r\n\n", "d", "e\nlast"] {
            let kind = FrameKind::Output(Stream::Stdout);
            writer.append(kind, part.as_bytes()).unwrap();
        }
        let mut output = Output::open(&path, extent.borrow().len).unwrap();
        let mut seen = Vec::new();
        output
            .each_line(|number, line| {
                seen.push((number, String::from_utf8_lossy(line).into_owned()));
            })
            .unwrap();
        let lines: Vec<_> = seen.iter().map(|(n, text)| (*n, text.as_str())).collect();
        assert_eq!(
            lines,
            [(1, "a"), (2, "bc"), (3, ""), (4, "de"), (5, "last")]
        );
    }
}
