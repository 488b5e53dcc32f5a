//! What either side did to a file.

use git2::IndexConflict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What either side did to it. A file that both sides renamed is `both_deleted` at its old path, and
/// `added_by_us` and `added_by_them` at its new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
pub enum ConflictKind {
    BothModified,
    BothAdded,
    BothDeleted,
    AddedByUs,
    AddedByThem,
    DeletedByUs,
    DeletedByThem,
}

impl ConflictKind {
    pub(crate) fn of(conflict: &IndexConflict) -> Self {
        let has = Option::is_some;
        Self::of_stages(
            has(&conflict.ancestor),
            has(&conflict.our),
            has(&conflict.their),
        )
    }

    /// By which of the three there are.
    pub fn of_stages(base: bool, ours: bool, theirs: bool) -> Self {
        match (base, ours, theirs) {
            (true, true, true) => Self::BothModified,
            (false, true, true) => Self::BothAdded,
            (true, true, false) => Self::DeletedByThem,
            (true, false, true) => Self::DeletedByUs,
            (false, true, false) => Self::AddedByUs,
            (false, false, true) => Self::AddedByThem,
            (_, false, false) => Self::BothDeleted,
        }
    }

    /// Git's letters for it.
    pub fn letters(self) -> &'static str {
        match self {
            Self::BothModified => "UU",
            Self::BothAdded => "AA",
            Self::BothDeleted => "DD",
            Self::AddedByUs => "AU",
            Self::AddedByThem => "UA",
            Self::DeletedByUs => "DU",
            Self::DeletedByThem => "UD",
        }
    }

    /// In a few words.
    pub fn says(self) -> &'static str {
        match self {
            Self::BothModified => "both modified",
            Self::BothAdded => "both added",
            Self::BothDeleted => "both deleted",
            Self::AddedByUs => "added by us",
            Self::AddedByThem => "added by them",
            Self::DeletedByUs => "deleted by us",
            Self::DeletedByThem => "deleted by them",
        }
    }
}
