//! Globs of branch names: `*` stays within a segment, `**` crosses them.

use globset::{Glob, GlobBuilder};
use serde::Deserialize;

use super::globs::Globs;
use super::value::{TextValue, text_value};
use crate::model::BranchName;

/// A set of branches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<Pattern>")]
pub struct BranchGlobs(Globs);

impl BranchGlobs {
    /// The set of `patterns`, each of which is known to be a glob.
    pub(super) fn of(patterns: &[&str]) -> Self {
        let globs = patterns.iter().flat_map(|text| Pattern::from_text(text));
        Self::try_from(globs.collect::<Vec<_>>()).unwrap_or(Self(Globs::none()))
    }

    pub fn matches(&self, branch: &BranchName) -> bool {
        self.0.matches(branch.as_str())
    }

    /// The globs as they were written.
    pub fn patterns(&self) -> &[String] {
        self.0.patterns()
    }
}

impl TryFrom<Vec<Pattern>> for BranchGlobs {
    type Error = globset::Error;

    fn try_from(globs: Vec<Pattern>) -> Result<Self, globset::Error> {
        let globs = globs.into_iter().map(|Pattern { text, glob }| (text, glob));
        Globs::new(globs).map(Self)
    }
}

struct Pattern {
    text: String,
    glob: Glob,
}

impl TextValue for Pattern {
    const EXPECTED: &'static str = r#"a glob such as "main", "release/*" or "team/**""#;

    fn from_text(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.starts_with('!') {
            return Err("a glob names branches, and cannot be negated".to_owned());
        }
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map_err(|error| error.kind().to_string())?;
        let text = text.to_owned();
        Ok(Self { text, glob })
    }
}
text_value!(Pattern);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_segment_unless_there_are_two() {
        let globs = BranchGlobs::of(&["main", "release/*", "team/**"]);
        for (name, expected) in [
            ("main", true),
            ("maintenance", false),
            ("release/1", true),
            ("release/1/fix", false),
            ("team/a/b", true),
            ("teams", false),
        ] {
            let branch = BranchName::parse(name).unwrap();
            assert_eq!(globs.matches(&branch), expected, "{name}");
        }
    }

    #[test]
    fn what_is_no_glob_is_refused() {
        for text in ["", "!main", "[a"] {
            assert!(Pattern::from_text(text).is_err(), "{text:?}");
        }
    }
}
