//! Files that a merge could not decide about.

use git2::{Index, IndexConflict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::verbs::conflicts::ConflictKind;
use crate::verbs::delta::Side;
use crate::verbs::person::text;

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

/// All conflicts of the index.
pub(super) fn conflicts(index: &Index, with_sides: bool) -> Result<Vec<Conflict>, Error> {
    if !index.has_conflicts() {
        return Ok(Vec::new());
    }
    let conflicts = index.conflicts()?;
    conflicts
        .map(|found| Ok(conflict(&found?, with_sides)))
        .collect()
}

fn conflict(found: &IndexConflict, with_sides: bool) -> Conflict {
    let stages = [&found.ancestor, &found.our, &found.their];
    let path = stages.into_iter().flatten().next();
    let [base, ours, theirs] = stages.map(|stage| {
        let stage = stage.as_ref().filter(|_| with_sides)?;
        Some(Side {
            mode: format!("{:06o}", stage.mode),
            id: Some(stage.id.to_string()),
        })
    });
    Conflict {
        path: path.map(|entry| text(&entry.path)).unwrap_or_default(),
        kind: ConflictKind::of(found),
        base,
        ours,
        theirs,
    }
}
