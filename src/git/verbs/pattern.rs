//! Globs by which callers choose among names.

use globset::{GlobBuilder, GlobMatcher};

use crate::model::Problem;

/// Longer than any name.
const LONGEST: usize = 300;

/// A glob in which `*` goes beyond slashes, as in `git branch --list`.
#[derive(Debug, Clone)]
pub(super) struct Pattern(GlobMatcher);

impl Pattern {
    /// The glob that was given in `pattern`.
    pub(super) fn new(text: &str) -> Result<Self, Problem> {
        if text.len() > LONGEST {
            return Err(Problem::bad("pattern", "the pattern is too long"));
        }
        let glob = GlobBuilder::new(text).literal_separator(false).build();
        let glob =
            glob.map_err(|error| Problem::bad("pattern", format!("it is no glob: {error}")))?;
        Ok(Self(glob.compile_matcher()))
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}
