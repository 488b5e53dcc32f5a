//! Globs by which callers choose among names.

use branchyard_model::{Globs, Problem, Stars};

/// A glob in which `*` goes beyond slashes, as in `git branch --list`.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Globs);

impl Pattern {
    /// The glob that was given in `pattern`.
    pub(super) fn new(text: &str) -> Result<Self, Problem> {
        Globs::one(text, Stars::AcrossSegments)
            .map(Self)
            .map_err(|rule| Problem::bad("pattern", format!("it is no glob: {rule}")))
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        self.0.matches(name)
    }
}
