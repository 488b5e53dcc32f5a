//! How much of an answer fits.

use serde::Serialize;

/// What an item takes in JSON.
pub(super) fn size(item: &impl Serialize) -> usize {
    // What cannot be written takes no room; writing the answer will say so.
    serde_json::to_vec(item).map_or(0, |json| json.len())
}

/// How many of the first items fit into `room` bytes of JSON.
pub(super) fn fitting(items: &[impl Serialize], room: usize) -> usize {
    let mut left = room;
    let fits = |item: &&_| {
        let rest = left.checked_sub(size(*item) + ",".len());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    items.iter().take_while(fits).count()
}

/// Cuts a text to about `room` bytes; whether anything was lost.
pub(super) fn shorten(text: &mut String, room: usize) -> bool {
    let end = text.floor_char_boundary(room);
    let is_cut = end < text.len();
    text.truncate(end);
    is_cut
}

/// Cuts a list; whether anything was lost.
pub(super) fn keep<T>(items: &mut Vec<T>, most: usize) -> bool {
    let is_cut = items.len() > most;
    items.truncate(most);
    is_cut
}

/// The date without the time of an RFC 3339 one.
pub(super) fn day(date: &str) -> &str {
    date.split('T').next().unwrap_or(date)
}

/// As many digits of an id as people read.
pub(super) fn brief(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
