//! Files that a merge could not decide about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verbs::conflicts::ConflictKind;
use crate::verbs::delta::Side;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    pub path: String,
    /// In a rebase, "us" is what is rebased onto.
    pub kind: ConflictKind,
    /// What both began with; with `full` only, as the other two.
    pub base: Option<Side>,
    pub ours: Option<Side>,
    pub theirs: Option<Side>,
}
