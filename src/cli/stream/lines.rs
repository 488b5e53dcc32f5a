//! Bytes cut into lines, wherever the chunks were cut.

use crate::cli::exit::Failure;

/// An event is at most 64 KiB of output, at most six times that as JSON.
const MAX_LINE: usize = 4 << 20;

/// Gathers chunks and gives out whole lines.
#[derive(Debug)]
pub(crate) struct Lines {
    /// How long a line may be.
    most: usize,
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no newline is.
    searched: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::of_at_most(MAX_LINE)
    }
}

impl Lines {
    pub(crate) fn of_at_most(most: usize) -> Self {
        Self {
            most,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
        }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(chunk);
    }

    /// The next whole line, without its newline.
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>, Failure> {
        match memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            Some(found) => {
                let line = self.start..self.searched + found;
                self.start = line.end + 1;
                self.searched = self.start;
                Ok(Some(&self.buffer[line]))
            }
            None if self.buffer.len() - self.start > self.most => {
                Err(Failure::daemon("the daemon sent a line that never ends"))
            }
            None => {
                self.searched = self.buffer.len();
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_whole_wherever_the_chunks_are_cut(
            lines in proptest::collection::vec("[^\n]{0,40}", 0..20),
            cuts in proptest::collection::vec(1..30_usize, 1..40),
        ) {
            let mut text: Vec<u8> = Vec::new();
            for line in &lines {
                text.extend_from_slice(line.as_bytes());
                text.push(b'\n');
            }
            let mut seen = Vec::new();
            let mut reader = Lines::default();
            let mut rest = text.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, after) = rest.split_at((*cut).min(rest.len()));
                rest = after;
                reader.push(chunk);
                while let Some(line) = reader.line().unwrap() {
                    seen.push(String::from_utf8(line.to_vec()).unwrap());
                }
            }
            prop_assert_eq!(seen, lines);
        }
    }

    #[test]
    fn half_a_line_is_held_back_but_not_without_end() {
        let mut lines = Lines::default();
        lines.push(b"{\"type\":");
        assert_eq!(lines.line().unwrap(), None);
        lines.push(b"1}\n\n{");
        assert_eq!(lines.line().unwrap(), Some(&b"{\"type\":1}"[..]));
        assert_eq!(lines.line().unwrap(), Some(&b""[..]));
        assert_eq!(lines.line().unwrap(), None);
        lines.push(&vec![b'x'; MAX_LINE]);
        assert!(lines.line().is_err());
    }
}
