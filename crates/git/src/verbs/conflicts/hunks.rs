//! Where in a working file the sides disagree: what stands between its conflict markers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verbs::person::text as shown;

/// What the hunks of all files may hold together, and a side of one of them.
pub(super) const ALL_TEXT: usize = 256 * 1024;
const SIDE: usize = 4 * 1024;
/// As many of one file are told.
const MOST: usize = 100;
/// Of a marker, unless an attribute says otherwise.
const WIDTH: usize = 7;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hunk {
    /// Lines of the working file, counted from 1, the markers included.
    pub start_line: usize,
    pub end_line: usize,
    pub ours: String,
    /// What both sides began with, where the markers tell.
    pub base: Option<String>,
    pub theirs: String,
}

impl Hunk {
    /// As it stands in the file, and where that is.
    pub fn text(&self) -> String {
        let (first, last) = (self.start_line, self.end_line);
        let mut text = format!("lines {first} to {last}\n<<<<<<< ours\n{}", self.ours);
        if let Some(base) = &self.base {
            text.push_str(&format!("||||||| base\n{base}"));
        }
        text.push_str(&format!("=======\n{}>>>>>>> theirs", self.theirs));
        text
    }
}

/// The hunks of a file, and whether anything of them was left out. `room` is what they may hold, and
/// shrinks by what they do.
pub(super) fn in_file(text: &[u8], width: Option<usize>, room: &mut usize) -> (Vec<Hunk>, bool) {
    let (mut found, mut cut) = (Vec::new(), false);
    for mut hunk in parsed(text, width.unwrap_or(WIDTH)) {
        if found.len() == MOST || *room == 0 {
            return (found, true);
        }
        let Hunk {
            ours, base, theirs, ..
        } = &mut hunk;
        for side in [ours].into_iter().chain(base).chain([theirs]) {
            cut |= shorten(side, SIDE.min(*room));
            *room -= side.len();
        }
        found.push(hunk);
    }
    (found, cut)
}

/// Whether a text still has a whole conflict between markers, or a part of one that no honest text has.
pub fn has_markers(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        [b'<', b'|', b'>']
            .iter()
            .any(|sign| is_marker(line, *sign, WIDTH) && line.len() > WIDTH)
    })
}

fn parsed(text: &[u8], width: usize) -> Vec<Hunk> {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Within {
        Nothing,
        Ours,
        Base,
        Theirs,
    }
    let mut found = Vec::new();
    let (mut within, mut start) = (Within::Nothing, 0);
    let (mut ours, mut base, mut theirs) = (Vec::new(), None, Vec::new());
    for (at, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match within {
            _ if is_marker(line, b'<', width) => {
                (within, start) = (Within::Ours, at + 1);
                (ours, base, theirs) = (Vec::new(), None, Vec::new());
            }
            Within::Ours if is_marker(line, b'|', width) => {
                (within, base) = (Within::Base, Some(Vec::new()));
            }
            Within::Ours | Within::Base if is_marker(line, b'=', width) => within = Within::Theirs,
            Within::Theirs if is_marker(line, b'>', width) => {
                within = Within::Nothing;
                found.push(Hunk {
                    start_line: start,
                    end_line: at + 1,
                    ours: shown(&ours),
                    base: base.take().as_deref().map(shown),
                    theirs: shown(&theirs),
                });
            }
            Within::Nothing => {}
            Within::Ours => ours.extend_from_slice(line),
            Within::Base => base.get_or_insert_default().extend_from_slice(line),
            Within::Theirs => theirs.extend_from_slice(line),
        }
    }
    found
}

/// The sign as often as markers are wide, and then nothing or a label.
fn is_marker(line: &[u8], sign: u8, width: usize) -> bool {
    line.len() >= width
        && line[..width].iter().all(|byte| *byte == sign)
        && line.get(width).is_none_or(|next| b" \r\n".contains(next))
}

fn shorten(text: &mut String, most: usize) -> bool {
    if text.len() <= most {
        return false;
    }
    text.truncate(text.floor_char_boundary(most));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_styles_of_markers_are_read_with_their_lines() {
        let text = "a\n<<<<<<< ours\nb\n||||||| base\nc\n=======\nd\n>>>>>>> theirs\ne\n\
                    <<<<<<< ours\n=======\nf\n>>>>>>> theirs\n";
        let mut room = ALL_TEXT;
        let (hunks, cut) = in_file(text.as_bytes(), None, &mut room);
        assert!(!cut);
        let hunk = |start_line, end_line, ours: &str, base: Option<&str>, theirs: &str| Hunk {
            start_line,
            end_line,
            ours: ours.to_owned(),
            base: base.map(str::to_owned),
            theirs: theirs.to_owned(),
        };
        let expected = [
            hunk(2, 8, "b\n", Some("c\n"), "d\n"),
            hunk(10, 13, "", None, "f\n"),
        ];
        assert_eq!(hunks, expected);
    }

    #[test]
    fn what_only_looks_like_a_marker_is_text() {
        let text = "<<<<<<<< eight\n=======\n>>>>>>>x\n";
        assert!(parsed(text.as_bytes(), WIDTH).is_empty());
        assert!(!has_markers(b"Title\n=======\n<<<<<<<\n"));
        assert!(has_markers(b"x\n<<<<<<< HEAD\ny"));
        assert!(has_markers(b">>>>>>> theirs\n"));
    }

    #[test]
    fn long_sides_are_cut_and_it_is_said() {
        let long = "x".repeat(SIDE + 1);
        let text = format!("<<<<<<< a\n{long}\n=======\ny\n>>>>>>> b\n");
        let mut room = ALL_TEXT;
        let (hunks, cut) = in_file(text.as_bytes(), None, &mut room);
        assert!(cut);
        assert_eq!((hunks[0].ours.len(), &*hunks[0].theirs), (SIDE, "y\n"));
    }
}
