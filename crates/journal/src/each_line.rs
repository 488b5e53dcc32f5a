//! All lines of the output, one after another.

use std::io;

use super::{MAX_OUTPUT, Output};

impl Output {
    /// Gives every line, counted from 1 and without its ending, from where it stands to its end. Of a
    /// longer line only so much is given as fits one event, so that none needs more memory.
    pub fn each_line(&mut self, mut take: impl FnMut(u64, &[u8])) -> io::Result<()> {
        let (mut number, mut begun, mut carried) = (1, false, Vec::new());
        while let Some(payload) = self.more()? {
            let mut at = 0;
            for newline in memchr::memchr_iter(b'\n', payload) {
                let rest = &payload[at..newline];
                if begun {
                    carry(&mut carried, rest);
                    take(number, without_cr(&carried));
                    carried.clear();
                    begun = false;
                } else {
                    take(number, without_cr(rest));
                }
                number += 1;
                at = newline + 1;
            }
            if at < payload.len() {
                begun = true;
                carry(&mut carried, &payload[at..]);
            }
        }
        if begun {
            take(number, without_cr(&carried));
        }
        Ok(())
    }
}

fn carry(carried: &mut Vec<u8>, more: &[u8]) {
    let room = MAX_OUTPUT.saturating_sub(carried.len());
    carried.extend_from_slice(&more[..more.len().min(room)]);
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
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
