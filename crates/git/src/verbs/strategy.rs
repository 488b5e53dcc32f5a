//! How sides are merged: what a caller may ask of git there. Whole words from a list, and nothing else.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Git's usual one, with renames.
    Ort,
    /// An older one, without renames.
    Resolve,
    /// Keeps this branch exactly as it is, and only records that the other was merged.
    Ours,
    /// As ort, for a project that lies in a directory of the other.
    Subtree,
}

impl Strategy {
    pub fn arg(self) -> &'static str {
        match self {
            Self::Ort => "--strategy=ort",
            Self::Resolve => "--strategy=resolve",
            Self::Ours => "--strategy=ours",
            Self::Subtree => "--strategy=subtree",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StrategyOption {
    /// Where both sides changed the same lines, take ours.
    Ours,
    /// Where both sides changed the same lines, take theirs.
    Theirs,
    /// Compare by lines that occur once.
    Patience,
    /// Compare by lines that occur seldom.
    Histogram,
    /// Differences in the amount of white space are no changes.
    IgnoreSpaceChange,
    /// White space is no change at all.
    IgnoreAllSpace,
    /// White space at the end of a line is no change.
    IgnoreSpaceAtEol,
    /// A carriage return at the end of a line is no change.
    IgnoreCrAtEol,
    /// Convert line endings on all sides first.
    Renormalize,
    /// Do not look for renames.
    NoRenames,
}

impl StrategyOption {
    pub fn arg(self) -> &'static str {
        match self {
            Self::Ours => "--strategy-option=ours",
            Self::Theirs => "--strategy-option=theirs",
            Self::Patience => "--strategy-option=diff-algorithm=patience",
            Self::Histogram => "--strategy-option=diff-algorithm=histogram",
            Self::IgnoreSpaceChange => "--strategy-option=ignore-space-change",
            Self::IgnoreAllSpace => "--strategy-option=ignore-all-space",
            Self::IgnoreSpaceAtEol => "--strategy-option=ignore-space-at-eol",
            Self::IgnoreCrAtEol => "--strategy-option=ignore-cr-at-eol",
            Self::Renormalize => "--strategy-option=renormalize",
            Self::NoRenames => "--strategy-option=no-renames",
        }
    }
}
