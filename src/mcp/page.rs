//! Lists of which an answer shows as much as fits, and says where to go on.

use std::fmt::Write;

use super::cursor;
use super::reply::{CONTENT, Reply, fitted, fitted_items};
use branchyard_model::Problem;

/// What one text is first offered: all of an answer that comes in one form.
const ROOM: usize = CONTENT - 1_000;

/// What an answer shows of a list.
pub(super) struct Page<'a, T> {
    pub(super) shown: &'a [T],
    /// `None` where this is the end.
    pub(super) next_cursor: Option<String>,
    /// What one text may take.
    pub(super) room: usize,
}

impl<T> Page<'_, T> {
    /// Says in the text copy how to go on.
    pub(super) fn tell_rest(&self, text: &mut String) {
        if let Some(cursor) = &self.next_cursor {
            let _ = write!(text, "(cut; more with cursor {cursor:?})");
        }
    }
}

/// The answer with as many of `items` as fit; `next` gives the cursor after so many of them.
pub(super) fn fitted_page<T>(
    items: &[T],
    next: impl Fn(usize) -> Option<String>,
    make: impl Fn(&Page<'_, T>) -> Result<Reply, Problem>,
) -> Result<Reply, Problem> {
    fitted(ROOM, |room| {
        fitted_items(items.len(), |count| {
            make(&Page {
                shown: &items[..count],
                next_cursor: next(count),
                room,
            })
        })
    })
}

/// The same for a list that is whole, from the place that `cursor` names.
pub(super) fn paged<T>(
    items: &[T],
    cursor: Option<&str>,
    make: impl Fn(&Page<'_, T>) -> Result<Reply, Problem>,
) -> Result<Reply, Problem> {
    let first = cursor::read(cursor)?.min(items.len());
    let rest = &items[first..];
    let next = |count| (count < rest.len()).then(|| cursor::write(first + count));
    fitted_page(rest, next, make)
}
