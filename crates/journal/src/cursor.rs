//! A place in a journal: opaque to viewers, who hand back the one they saw last.

use std::fmt;
use std::str::FromStr;

use super::format::{Frame, HEADER_LEN};
use branchyard_model::Problem;

/// The digits of a frame's offset and of a place in its payload, and the dot between.
const LONGEST: usize = 31;

/// The place just past an event: a frame's offset in the file and the bytes of its payload that were
/// already seen. Carrying the frame's offset lets a resume go straight there, whatever the log's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    pub frame: u64,
    pub within: u32,
}

impl Cursor {
    pub const START: Self = Self {
        frame: HEADER_LEN as u64,
        within: 0,
    };

    pub fn parse(text: &str) -> Result<Self, Problem> {
        let (frame, within) = text.split_once('.').unwrap_or((text, "0"));
        match digits(frame).zip(digits(within)) {
            Some((0, 0)) => Ok(Self::START),
            Some((frame, within)) if frame >= Self::START.frame => Ok(Self { frame, within }),
            _ => Err(Self::refused(format_args!("{:?}", shortened(text)))),
        }
    }

    /// The answer to a cursor that this journal never gave out.
    pub fn refused(text: impl fmt::Display) -> Problem {
        Problem::bad("from", format!("{text} is not a cursor of this run"))
            .help("send the id of the last event that you saw of this run, or leave it out to start from the beginning")
    }
}

impl Frame<'_> {
    /// The place after the first `consumed` bytes of the payload.
    pub fn cursor_at(&self, consumed: usize) -> Cursor {
        match u32::try_from(consumed) {
            Ok(within) if consumed < self.payload.len() => Cursor {
                frame: self.start,
                within,
            },
            _ => Cursor {
                frame: self.end(),
                within: 0,
            },
        }
    }
}

/// As much as any cursor has, of what may be anything.
fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST);
    end.map_or(text, |(end, _)| &text[..end])
}

/// Plain decimal digits only: `+1`, `-1` and `9e99` are no cursors.
fn digits<T: FromStr>(text: &str) -> Option<T> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.within {
            0 => write!(f, "{}", self.frame),
            within => write!(f, "{}.{within}", self.frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wild_cursors_are_refused_and_our_own_come_back() {
        for text in [
            "-1",
            "9e99",
            "",
            "1",
            "15",
            "16.",
            ".1",
            "16.-1",
            "99999999999999999999",
            "+16",
            "16.4294967296",
        ] {
            assert!(Cursor::parse(text).is_err(), "{text:?}");
        }
        for cursor in [
            Cursor::START,
            Cursor {
                frame: 1742,
                within: 37,
            },
        ] {
            assert_eq!(Cursor::parse(&cursor.to_string()).expect("ours"), cursor);
        }
        assert_eq!(Cursor::parse("0").expect("start"), Cursor::START);
    }
}
