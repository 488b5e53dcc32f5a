//! What stands before the text of each line of a frame: the same, but for the digits of the cursor.

use std::io::Write;

use branchyard_journal::Stream;

const DIGITS: &[u8; 10] = b"0123456789";

/// Made once for a frame.
#[derive(Debug)]
pub(super) struct Head {
    bytes: [u8; Self::SIZE],
    len: usize,
    /// Where the digits of the place in the frame begin and end.
    digits: (usize, usize),
    /// The first place that needs one digit more.
    too_far: usize,
    after_digits: &'static [u8],
}

impl Head {
    /// Room for both formats with numbers of any length: what is before them, 20 digits, a dot, 20
    /// digits, and what is after them.
    pub(super) const SIZE: usize = 96;
    /// What stands last: between an event's type and its text.
    pub(super) const BEFORE_TEXT: &'static [u8] = b"\",\"line\":\"";

    pub(super) fn new(sse: bool, frame: u64, stream: Stream) -> Self {
        let after_digits: &[u8] = match (sse, stream) {
            (true, Stream::Stdout) => b"\nevent: stdout\ndata: {\"type\":\"stdout\",\"line\":\"",
            (true, Stream::Stderr) => b"\nevent: stderr\ndata: {\"type\":\"stderr\",\"line\":\"",
            (false, Stream::Stdout) => b"\",\"type\":\"stdout\",\"line\":\"",
            (false, Stream::Stderr) => b"\",\"type\":\"stderr\",\"line\":\"",
        };
        let mut bytes = [0; Self::SIZE];
        let mut rest = bytes.as_mut_slice();
        // It has room for any number.
        let _ = match sse {
            true => write!(rest, "id: {frame}."),
            false => write!(rest, "{{\"id\":\"{frame}."),
        };
        let len = Self::SIZE - rest.len();
        Self {
            bytes,
            len,
            digits: (len, len),
            too_far: 0,
            after_digits,
        }
    }

    /// The head of a line after which the frame is seen up to `within`; and how much of it counts. Called
    /// for one line after another.
    pub(super) fn at(&mut self, within: usize) -> (&[u8; Self::SIZE], usize) {
        if within >= self.too_far {
            self.widen(within);
        }
        let mut rest = within;
        for digit in self.bytes[self.digits.0..self.digits.1].iter_mut().rev() {
            *digit = DIGITS[rest % 10];
            rest /= 10;
        }
        (&self.bytes, self.len)
    }

    fn widen(&mut self, within: usize) {
        let digits = within.checked_ilog10().unwrap_or(0) + 1;
        self.too_far = 10usize.saturating_pow(digits);
        self.digits.1 = self.digits.0 + digits as usize;
        self.len = self.digits.1 + self.after_digits.len();
        self.bytes[self.digits.1..self.len].copy_from_slice(self.after_digits);
    }
}
