//! How much fits into an answer. What it takes in JSON counts, escapes included.

use serde::Serialize;

/// The bytes of a text within a JSON string.
pub(super) fn written(text: &str) -> usize {
    let escapes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x8 | 0xc => 1,
        0..=0x1f => 5,
        _ => 0,
    });
    text.len() + escapes.sum::<usize>()
}

/// Takes the bytes of `item` from `room`; whether there were as many.
pub(super) fn take(room: &mut usize, item: &impl Serialize) -> bool {
    // And a comma.
    let bytes = serde_json::to_vec(item).map_or(0, |json| json.len() + 1);
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or_default();
    left.is_some()
}

/// Cuts a list to the items that fit into `room`, and takes them from it; whether all did.
pub(super) fn keep_fitting<T: Serialize>(room: &mut usize, items: &mut Vec<T>) -> bool {
    let all = items.len();
    let fitting = items.iter().take_while(|item| take(room, item)).count();
    items.truncate(fitting);
    fitting == all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_is_that_of_json() {
        for text in ["a\nb\"\\", "\u{1}\t\r\u{8}\u{c}", "ü日"] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(written(text), json.len() - 2);
        }
    }

    #[test]
    fn items_are_kept_while_they_fit() {
        let mut room = 10;
        let mut items = vec!["ab", "cd", "ef"];
        assert!(!keep_fitting(&mut room, &mut items));
        assert_eq!(items, ["ab", "cd"]);
        assert_eq!(room, 0);
    }
}
