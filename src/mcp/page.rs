//! Lists of which an answer shows as much as fits, and says where to go on.

use schemars::JsonSchema;
use serde::Serialize;

use super::call::Call;
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

/// An answer with one page of a list, and what it says of the rest.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Paged<A> {
    #[serde(flatten)]
    answer: A,
    /// There are more items than these.
    truncated: bool,
    /// Where to go on, where this was cut.
    next_cursor: Option<String>,
}

impl<A> Paged<A> {
    /// An answer that goes on at the cursor, or leaves nothing out.
    pub(super) fn new(answer: A, next_cursor: Option<String>) -> Self {
        Self {
            answer,
            truncated: next_cursor.is_some(),
            next_cursor,
        }
    }
}

impl<T> Page<'_, T> {
    /// The answer with this page, in both forms; `is_cut` where there is more that no cursor leads to.
    pub(super) fn reply(
        &self,
        call: &Call,
        answer: &impl Serialize,
        mut text: String,
        is_cut: bool,
    ) -> Result<Reply, Problem> {
        if let Some(cursor) = &self.next_cursor {
            text.push_str(&format!("(cut; more with cursor {cursor:?})"));
        }
        let mut paged = Paged::new(answer, self.next_cursor.clone());
        paged.truncated |= is_cut;
        call.reply(&paged, text)
    }
}

/// The answer with as many of `items` as fit; `next` gives the cursor after so many of them.
pub(super) fn fitted_page<'a, T>(
    items: &'a [T],
    next: impl Fn(usize) -> Option<String>,
    make: impl Fn(&Page<'a, T>) -> Result<Reply, Problem>,
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
pub(super) fn paged<'a, T>(
    items: &'a [T],
    cursor: Option<&str>,
    make: impl Fn(&Page<'a, T>) -> Result<Reply, Problem>,
) -> Result<Reply, Problem> {
    let first = cursor::read(cursor)?.min(items.len());
    let rest = &items[first..];
    let next = |count: usize| (count < rest.len()).then(|| (first + count).to_string());
    fitted_page(rest, next, make)
}
