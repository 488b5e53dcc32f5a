//! Globs by which callers choose among names.

use branchyard_model::{Globs, Problem, Stars};

/// A glob in which `*` goes beyond slashes, as in `git branch --list`.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Option<Globs>);

/// Refuses a listing that could hold nothing, or by what is no glob.
pub(super) fn check_listing(count: usize, pattern: Option<&String>) -> Result<(), Problem> {
    if count == 0 {
        return Err(Problem::unprocessable("limit", "none would be listed"));
    }
    Pattern::new(pattern).map(drop)
}

impl Pattern {
    /// The glob that was given in `pattern`; without one all names match.
    pub(super) fn new(given: Option<&String>) -> Result<Self, Problem> {
        let globs = given.map(|text| Globs::one(text, Stars::AcrossSegments));
        let globs = globs.transpose();
        globs
            .map(Self)
            .map_err(|rule| Problem::bad("pattern", format!("it is no glob: {rule}")))
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|globs| globs.matches(name))
    }
}
