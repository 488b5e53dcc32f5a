//! How much of a text fits into an answer. What it takes on the wire counts, escapes included.

/// The bytes of a character within a JSON string.
fn on_the_wire(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    }
}

/// The bytes of a text within a JSON string.
pub(super) fn length(text: &str) -> usize {
    text.chars().map(on_the_wire).sum()
}

/// As much of the beginning as fits into `room` bytes.
pub(super) fn head(text: &str, room: usize) -> &str {
    let mut left = room;
    let end = text.char_indices().find(|(_, c)| {
        let fits = left.checked_sub(on_the_wire(*c));
        left = fits.unwrap_or(left);
        fits.is_none()
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(text: &str) -> usize {
        serde_json::to_string(text).unwrap().len() - 2
    }

    proptest! {
        #[test]
        fn what_is_kept_fits_and_no_more_would(text in "[a\u{e9}\u{1b}\n\"\\\\\u{1f600}\u{7f}]{0,30}", room in 0usize..80) {
            prop_assert_eq!(length(&text), escaped(&text));
            let head = head(&text, room);
            prop_assert!(text.starts_with(head) && escaped(head) <= room);
            if let Some(next) = text[head.len()..].chars().next() {
                prop_assert!(escaped(head) + on_the_wire(next) > room);
            }
        }
    }
}
