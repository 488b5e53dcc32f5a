//! What is wrong with an expression, and where in its text.

use std::ops::Range;

/// What is wrong with a part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprFault {
    /// Bytes of the text that the expression stands in.
    pub span: Range<usize>,
    pub message: String,
}

impl ExprFault {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
        }
    }

    /// The same fault in a text in which the expression begins later.
    pub(crate) fn after(mut self, offset: usize) -> Self {
        self.span = self.span.start + offset..self.span.end + offset;
        self
    }
}

impl std::fmt::Display for ExprFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ExprFault {}
