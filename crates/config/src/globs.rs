//! A list of globs as the operator or a caller wrote it, and what of it matches.

use std::path::Path;

use branchyard_model::{self as model, Stars};

/// Two are equal if they were written the same way.
#[derive(Debug, Clone)]
pub(super) struct Globs {
    patterns: Vec<String>,
    set: model::Globs,
}

impl Globs {
    /// Of globs: how each was written, and what that means.
    pub(super) fn new(globs: Vec<(String, String)>) -> Result<Self, String> {
        let meant = globs.iter().map(|(_, meant)| meant.as_str());
        let set = model::Globs::all(meant, Stars::WithinSegment)?;
        let patterns = globs.into_iter().map(|(written, _)| written).collect();
        Ok(Self { patterns, set })
    }

    pub(super) fn none() -> Self {
        Self {
            patterns: Vec::new(),
            set: model::Globs::none(),
        }
    }

    pub(super) fn matches(&self, path: impl AsRef<Path>) -> bool {
        self.set.matches(path)
    }

    pub(super) fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}
impl Eq for Globs {}
