//! Lists on the wire.

use schemars::JsonSchema;
use serde::Serialize;

/// One page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub(super) struct Listed<T, N = ()> {
    items: Vec<T>,
    /// Where the next page begins; `null` on the last.
    next: Option<N>,
}

impl<T> Listed<T> {
    /// A list that has one page.
    pub(super) fn all(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

impl<T, N> Listed<T, N> {
    pub(super) fn page(items: Vec<T>, next: Option<N>) -> Self {
        Self { items, next }
    }
}
