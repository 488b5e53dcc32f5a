//! Where in the file a part of a scalar stands.

use super::lines::LineIndex;

const OPEN: &str = "${{";

/// The byte of the file for an offset in the text of a scalar that is written at `at`. It is exact where the scalar is
/// written as it reads; where it is folded or escaped, it is the expression or the scalar that has it.
pub(crate) fn place_in_text(lines: &LineIndex, at: usize, text: &str, offset: usize) -> usize {
    let source = lines.text().get(at..).unwrap_or_default();
    let offset = (0..=offset.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    let offset = offset.unwrap_or(0);
    // Before the first expression, or in a condition without `${{`: a plain or quoted scalar of one line.
    let number = text[..offset].matches(OPEN).count();
    if number == 0 {
        let quotes = source.len() - source.trim_start_matches(['\'', '"']).len();
        let written = &source[quotes.min(1)..];
        let is_same = written.get(..offset) == text.get(..offset);
        return if is_same {
            at + quotes.min(1) + offset
        } else {
            at
        };
    }
    let in_text = text[..offset].rfind(OPEN).unwrap_or(0);
    let Some((in_source, _)) = source.match_indices(OPEN).nth(number - 1) else {
        return at;
    };
    let length = offset - in_text;
    let is_same = source.get(in_source..in_source + length) == text.get(in_text..offset);
    at + in_source + if is_same { length } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_found_in_the_file() {
        let file = "run: |\n  echo ${{ a }}\n  echo ${{ bad }}\n";
        let text = "echo ${{ a }}\necho ${{ bad }}\n";
        let offset = text.find("bad").unwrap();
        assert_eq!(
            place_in_text(&LineIndex::new(file), 5, text, offset),
            file.find("bad").unwrap()
        );

        let file = "if: 'a == bad'\n";
        assert_eq!(
            place_in_text(&LineIndex::new(file), 4, "a == bad", 5),
            file.find("bad").unwrap()
        );

        let file = "if: >-\n  a ==\n  bad\n";
        assert_eq!(place_in_text(&LineIndex::new(file), 4, "a == bad", 5), 4);
        assert_eq!(place_in_text(&LineIndex::new("x"), 9, "ab", 7), 9);
    }
}
