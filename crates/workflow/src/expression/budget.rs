//! How much expressions may do. A short one can make long texts again and again.

use std::cell::Cell;

use super::value::ExprValue;

/// Bytes of values that one plan, or else one expression, may make.
const MAX_MADE: usize = 16 * 1024 * 1024;
/// What an item without a text counts for.
const ITEM: usize = 16;

/// What is left of the bytes that expressions may make.
#[derive(Debug)]
pub(crate) struct ExprBudget {
    /// None once it was not enough.
    left: Cell<Option<usize>>,
}

impl ExprBudget {
    pub(crate) fn new() -> Self {
        Self {
            left: Cell::new(Some(MAX_MADE)),
        }
    }

    pub(crate) fn spend(&self, bytes: usize) -> Result<(), String> {
        let left = self.left.get().and_then(|left| left.checked_sub(bytes));
        self.left.set(left);
        match left {
            Some(_) => Ok(()),
            None => Err(format!(
                "the expressions here make more than {MAX_MADE} bytes; let them make less"
            )),
        }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left.get().is_none()
    }
}

/// What it costs to make or look through a value.
pub(super) fn cost(value: &ExprValue) -> usize {
    let of_item = |value: &ExprValue| match value {
        ExprValue::Text(text) => text.len() + ITEM,
        _ => ITEM,
    };
    match value {
        ExprValue::List(items) => items.iter().map(of_item).sum::<usize>() + ITEM,
        _ => of_item(value),
    }
}
