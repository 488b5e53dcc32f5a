//! Lists on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_model::Problem;

const MAX_PAGE: usize = 500;

/// One page of a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct Listed<T, N = ()> {
    pub items: Vec<T>,
    /// Where the next page begins; `null` on the last.
    pub next: Option<N>,
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

/// How many items a page has: as many as are asked for, and never more than [`MAX_PAGE`].
pub(super) fn limit(given: Option<usize>, default: usize) -> Result<usize, Problem> {
    match given.unwrap_or(default).min(MAX_PAGE) {
        0 => Err(Problem::unprocessable("limit", "limit must be at least 1")),
        limit => Ok(limit),
    }
}
