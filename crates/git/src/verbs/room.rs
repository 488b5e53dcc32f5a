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

/// Cuts a list to the first items that fit into `room`, but for one: the next page has to begin behind it. Returns how
/// many went.
pub(super) fn keep_fitting<T: Serialize>(items: &mut Vec<T>, room: usize) -> usize {
    let (all, mut left) = (items.len(), room);
    let fitting = items.iter().take_while(|item| take(&mut left, item));
    let fitting = fitting.count().max(1);
    items.truncate(fitting);
    all - items.len()
}

/// Cuts a page, if there is one, of a list that has `total` items, and says where the next one begins. Returns whether
/// there is one.
pub(super) fn cut_page<T: Serialize>(
    page: Option<&mut Vec<T>>,
    total: Option<usize>,
    next: &mut Option<usize>,
    room: usize,
) -> bool {
    let Some(page) = page else {
        return false;
    };
    let gone = keep_fitting(page, room);
    if gone > 0 {
        *next = next.or(total).map(|end| end.saturating_sub(gone));
    }
    true
}

/// The page of a list that begins at `skip`, how long the list is, and where the next page begins, if there is one.
pub(super) fn page_of<T>(all: Vec<T>, skip: usize, count: usize) -> (Vec<T>, usize, Option<usize>) {
    let total = all.len();
    let page: Vec<_> = all.into_iter().skip(skip).take(count).collect();
    let end = skip.saturating_add(page.len());
    (page, total, (end < total).then_some(end))
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
    fn items_are_kept_while_they_fit_and_one_in_any_case() {
        let mut items = vec!["ab", "cd", "ef"];
        assert_eq!(keep_fitting(&mut items, 10), 1);
        assert_eq!(items, ["ab", "cd"]);
        assert_eq!((keep_fitting(&mut items, 0), items), (1, vec!["ab"]));
        assert_eq!(keep_fitting(&mut Vec::<u8>::new(), 0), 0);
    }
}
