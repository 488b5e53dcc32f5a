//! Globs of names: `*` stays within a segment, `**` crosses them.

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

use super::globs::Globs;
use super::value::{self, TextValue, text_value};
use branchyard_model::{self as model, BranchName, RepoName, Stars};

/// A set of names of one kind.
#[derive(Deserialize)]
#[serde(try_from = "Vec<Pattern>", bound = "")]
pub struct NameGlobs<Name>(Globs, PhantomData<fn(&Name)>);

/// A set of branches.
pub type BranchGlobs = NameGlobs<BranchName>;
/// A set of repos.
pub type RepoGlobs = NameGlobs<RepoName>;

const EVERYTHING: &str = "**";

impl<Name> NameGlobs<Name> {
    /// The set of `patterns`, each of which is known to be a glob.
    pub(super) fn of(patterns: &[&str]) -> Self {
        let globs = patterns.iter().flat_map(|text| Pattern::from_text(text));
        let none = Self(Globs::none(), PhantomData);
        Self::try_from(globs.collect::<Vec<_>>()).unwrap_or(none)
    }

    /// Of what callers wrote, or what is wrong with it.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let globs: Result<Vec<Pattern>, _> = patterns.into_iter().map(value::parse).collect();
        Self::try_from(globs?)
    }

    pub fn everything() -> Self {
        Self::of(&[EVERYTHING])
    }

    pub fn is_everything(&self) -> bool {
        self.patterns().iter().any(|glob| glob == EVERYTHING)
    }

    /// The globs as they were written.
    pub fn patterns(&self) -> &[String] {
        self.0.patterns()
    }
}

impl BranchGlobs {
    pub fn matches(&self, branch: &BranchName) -> bool {
        self.0.matches(branch.as_str())
    }
}

impl RepoGlobs {
    pub fn matches(&self, repo: &RepoName) -> bool {
        self.0.matches(repo.as_str())
    }
}

impl<Name> TryFrom<Vec<Pattern>> for NameGlobs<Name> {
    type Error = String;

    fn try_from(globs: Vec<Pattern>) -> Result<Self, String> {
        let globs = globs.into_iter().map(|Pattern(text)| (text.clone(), text));
        Ok(Self(Globs::new(globs.collect())?, PhantomData))
    }
}

impl<Name> Serialize for NameGlobs<Name> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.patterns().serialize(to)
    }
}

impl<Name> JsonSchema for NameGlobs<Name> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Globs".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<String>::json_schema(generator)
    }
}

impl<Name> Clone for NameGlobs<Name> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<Name> PartialEq for NameGlobs<Name> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<Name> Eq for NameGlobs<Name> {}

impl<Name> fmt::Debug for NameGlobs<Name> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.patterns()).finish()
    }
}

struct Pattern(String);

impl TextValue for Pattern {
    const EXPECTED: &'static str = r#"a glob such as "main", "release/*" or "team/**""#;

    fn from_text(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.starts_with('!') {
            return Err("a glob names what is meant, and cannot be negated".to_owned());
        }
        model::Globs::one(text, Stars::WithinSegment)?;
        Ok(Self(text.to_owned()))
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
            assert!(RepoGlobs::parse([text]).is_err(), "{text:?}");
        }
    }

    #[test]
    fn they_are_written_as_they_were_read() {
        let globs: RepoGlobs = serde_json::from_str(r#"["app-*","**"]"#).unwrap();
        assert!(globs.is_everything() && RepoGlobs::everything().is_everything());
        assert!(!BranchGlobs::of(&["*"]).is_everything());
        assert_eq!(serde_json::to_string(&globs).unwrap(), r#"["app-*","**"]"#);
    }
}
