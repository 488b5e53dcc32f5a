//! How far a journal reaches that another process writes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Cursor;
use super::format::{FRAME_HEADER_LEN, frame_size};

/// Enough for the headers of many short frames in one read, and little more than a header to copy
/// where frames are long.
const WINDOW: usize = 1024;

/// The end of the whole frames of a growing journal. It looks at headers only: checking what a frame
/// says is the readers' part.
#[derive(Debug)]
pub struct Frontier {
    file: File,
    end: u64,
}

impl Frontier {
    /// Follows the journal at `path`, whose frames are known to be whole up to `from`.
    pub fn open(path: &Path, from: u64) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            end: from.max(Cursor::START.frame),
        })
    }

    /// The end of the last frame that is all there. Nothing of an unfinished frame is remembered: its
    /// writer may take it back and write another in its place.
    pub fn advance(&mut self) -> io::Result<u64> {
        let size = self.file.metadata()?.len();
        let end = self.walk(size)?;
        // A frame that was taken back meanwhile may have made the file look longer than it is.
        if end > self.end && self.file.metadata()?.len() >= end {
            self.end = end;
        }
        Ok(self.end)
    }

    fn walk(&self, size: u64) -> io::Result<u64> {
        let mut end = self.end;
        let mut window = [0; WINDOW];
        loop {
            let filled = self.file.read_at(&mut window, end)?;
            let mut at = 0;
            while let Some(header) = window[..filled].get(at..at + FRAME_HEADER_LEN) {
                match frame_size(header) {
                    Some(frame) if end + frame as u64 <= size => {
                        end += frame as u64;
                        at += frame;
                    }
                    _ => return Ok(end),
                }
            }
            if at == 0 {
                return Ok(end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use proptest::prelude::*;

    use super::super::{FrameKind, Stream, Writer};
    use super::*;

    const OUT: FrameKind = FrameKind::Output(Stream::Stdout);

    fn append(path: &Path, bytes: &[u8]) {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(bytes).unwrap();
    }

    #[test]
    fn a_frame_counts_once_its_last_byte_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let (whole, growing) = (dir.path().join("whole"), dir.path().join("growing"));
        let (mut writer, extent) = Writer::create(&whole).unwrap();
        let mut ends = vec![extent.borrow().len];
        for payload in [&b"one\n"[..], b"", &[b'x'; 3000], b"last"] {
            writer.append(OUT, payload).unwrap();
            ends.push(extent.borrow().len);
        }
        let bytes = std::fs::read(&whole).unwrap();
        std::fs::write(&growing, &bytes[..16]).unwrap();
        let mut frontier = Frontier::open(&growing, 0).unwrap();
        for (at, byte) in bytes.iter().enumerate().skip(16) {
            let there = ends.iter().rfind(|end| **end <= at as u64).unwrap();
            assert_eq!(frontier.advance().unwrap(), *there, "{at} bytes");
            append(&growing, &[*byte]);
        }
        assert_eq!(frontier.advance().unwrap(), *ends.last().unwrap());
    }

    #[test]
    fn a_frame_that_was_taken_back_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut writer, extent) = Writer::create(&path).unwrap();
        writer.append(OUT, b"kept").unwrap();
        let kept = extent.borrow().len;
        let mut frontier = Frontier::open(&path, 0).unwrap();
        writer.append(OUT, &[b'x'; 500]).unwrap();
        drop(writer);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(kept + 100).unwrap();
        assert_eq!(frontier.advance().unwrap(), kept, "torn");

        let (mut writer, extent) = Writer::reopen(&path).unwrap();
        assert_eq!(frontier.advance().unwrap(), kept, "cut");
        writer.append(OUT, b"another").unwrap();
        assert_eq!(frontier.advance().unwrap(), extent.borrow().len);
    }

    #[test]
    fn what_can_be_no_header_is_not_passed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut writer, extent) = Writer::create(&path).unwrap();
        writer.append(OUT, b"good").unwrap();
        let good = extent.borrow().len;
        append(&path, &[0xff; 64]);
        let mut frontier = Frontier::open(&path, good).unwrap();
        assert_eq!(frontier.advance().unwrap(), good, "a length beyond all");
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(good).unwrap();
        append(&path, &[0; 64]);
        assert_eq!(frontier.advance().unwrap(), good, "zeroes are no kind");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn it_reaches_every_frame(sizes in proptest::collection::vec(0usize..2500, 0..60)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("journal");
            let (mut writer, extent) = Writer::create(&path).unwrap();
            let mut frontier = Frontier::open(&path, 0).unwrap();
            for (n, size) in sizes.iter().enumerate() {
                writer.append(OUT, &vec![b'x'; *size]).unwrap();
                if n % 7 == 0 {
                    prop_assert_eq!(frontier.advance().unwrap(), extent.borrow().len);
                }
            }
            prop_assert_eq!(frontier.advance().unwrap(), extent.borrow().len);
        }
    }
}
