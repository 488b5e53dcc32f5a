//! A list of globs, and what of it matches.

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Two are equal if they were written the same way.
#[derive(Debug, Clone)]
pub(super) struct Globs {
    patterns: Vec<String>,
    set: GlobSet,
}

impl Globs {
    /// Of globs and how each was written.
    pub(super) fn new(
        globs: impl IntoIterator<Item = (String, Glob)>,
    ) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        let mut patterns = Vec::new();
        for (text, glob) in globs {
            set.add(glob);
            patterns.push(text);
        }
        let set = set.build()?;
        Ok(Self { patterns, set })
    }

    pub(super) fn none() -> Self {
        Self {
            patterns: Vec::new(),
            set: GlobSet::empty(),
        }
    }

    pub(super) fn matches(&self, path: impl AsRef<std::path::Path>) -> bool {
        self.set.is_match(path)
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
