//! Bytes of a text into lines and columns.

use serde_saphyr::Location;

/// Where the lines of a text begin.
#[derive(Debug, Clone)]
pub(crate) struct LineIndex {
    text: String,
    starts: Vec<usize>,
}

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1));
        Self {
            starts: starts.collect(),
            text: text.to_owned(),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte, both from 1; a byte beyond the end is at the end.
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        let at = at.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts[line - 1];
        let before = self.text.as_bytes()[start..at].iter();
        // Every byte that continues no character.
        let column = before.filter(|byte| (**byte & 0xc0) != 0x80).count();
        (line, column + 1)
    }

    /// The byte at which the parser found something.
    pub(super) fn byte_of(&self, place: &Location) -> usize {
        let byte = place
            .span()
            .byte_offset()
            .and_then(|at| usize::try_from(at).ok());
        let byte = byte.filter(|at| self.text.is_char_boundary(*at));
        // Where it does not say, it is counted, which is slow in long lines.
        byte.unwrap_or_else(|| self.byte_at(place.line(), place.column()))
    }

    fn byte_at(&self, line: u64, column: u64) -> usize {
        let line = usize::try_from(line.max(1) - 1).unwrap_or(usize::MAX);
        let column = usize::try_from(column.max(1) - 1).unwrap_or(usize::MAX);
        let Some(start) = self.starts.get(line) else {
            return self.text.len();
        };
        let rest = &self.text[*start..];
        start
            + rest
                .char_indices()
                .nth(column)
                .map_or(rest.len(), |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let lines = LineIndex::new("aé b\n\nc");
        assert_eq!(lines.place(0), (1, 1));
        assert_eq!(lines.place(4), (1, 4));
        assert_eq!(lines.place(6), (2, 1));
        assert_eq!(lines.place(7), (3, 1));
        assert_eq!(lines.place(99), (3, 2));
        assert_eq!(lines.byte_at(1, 4), 4);
        assert_eq!(lines.byte_at(3, 1), 7);
        assert_eq!(lines.byte_at(9, 9), 8);
    }
}
