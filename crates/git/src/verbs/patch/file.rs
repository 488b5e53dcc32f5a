//! One file that differs.

use git2::{DiffDelta, Patch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::PatchText;
use crate::Error;
use crate::verbs::delta::{self, ChangeKind, Side};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDiff {
    pub path: String,
    /// What it was called before, where it was renamed.
    pub old_path: Option<String>,
    pub status: ChangeKind,
    /// Lines that came; left out of binary files and where only names were asked for.
    pub additions: Option<usize>,
    /// Lines that went.
    pub deletions: Option<usize>,
    /// It is no text, or too large to be taken for one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// The patch holds replacement characters where the file has bytes that are no UTF-8.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
    /// As git writes it.
    pub patch: Option<PatchText>,
    /// How many hunks at the end of the patch are not in this answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hunks_left_out: usize,
    /// Modes and blob ids; with `full` only.
    pub old: Option<Side>,
    pub new: Option<Side>,
}

impl FileDiff {
    /// The file without counts and patch.
    pub(super) fn named(delta: &DiffDelta<'_>, kind: ChangeKind, with_sides: bool) -> Self {
        let (old, new) = (delta.old_file(), delta.new_file());
        let is_moved = matches!(kind, ChangeKind::Renamed | ChangeKind::Copied);
        Self {
            path: delta::path(&new),
            old_path: is_moved.then(|| delta::path(&old)),
            status: kind,
            additions: None,
            deletions: None,
            binary: false,
            lossy: false,
            patch: None,
            hunks_left_out: 0,
            old: Side::of(&old).filter(|_| with_sides),
            new: Side::of(&new).filter(|_| with_sides),
        }
    }

    /// Whether it has lines to compare: a conflict has three sides, and a directory is a repository of
    /// its own.
    pub(super) fn has_lines(&self) -> bool {
        self.status != ChangeKind::Conflicted && !self.path.ends_with('/')
    }

    /// Counts the lines of its patches, where there are any.
    pub(super) fn count(&mut self, patches: &[Patch<'_>]) -> Result<(), Error> {
        let is_binary = |patch: &Patch<'_>| patch.delta().flags().is_binary();
        self.binary = patches.iter().any(is_binary);
        if self.binary || patches.is_empty() {
            return Ok(());
        }
        let (mut came, mut went) = (0, 0);
        for patch in patches {
            let (_, additions, deletions) = patch.line_stats()?;
            (came, went) = (came + additions, went + deletions);
        }
        (self.additions, self.deletions) = (Some(came), Some(went));
        Ok(())
    }

    pub(super) fn show(&mut self, patch: PatchText) {
        self.lossy = patch.is_lossy();
        self.hunks_left_out = patch.left_out();
        self.patch = Some(patch);
    }

    /// Changes the patch, if there is one, and says what it lacks then.
    pub(super) fn change_patch(&mut self, change: impl FnOnce(&mut PatchText)) {
        if let Some(patch) = &mut self.patch {
            change(patch);
            self.hunks_left_out = patch.left_out();
        }
    }

    /// The first hunk that is still to be shown.
    pub(super) fn next_hunk(&self) -> Option<usize> {
        self.patch.as_ref().and_then(PatchText::next_hunk)
    }

    pub(super) fn shows_hunks(&self) -> bool {
        self.patch.as_ref().is_some_and(PatchText::shows_hunks)
    }

    pub(super) fn patch_len(&self) -> usize {
        self.patch.as_ref().map_or(0, |patch| patch.as_str().len())
    }

    /// One line: what became of it, and how many lines came and went.
    pub fn line(&self) -> String {
        let mut line = format!("{} ", self.status.letter());
        if let Some(old) = &self.old_path {
            line += &format!("{old} -> ");
        }
        line += &self.path;
        match (self.additions, self.deletions) {
            (Some(additions), Some(deletions)) => line += &format!(" | +{additions} -{deletions}"),
            _ if self.binary => line += " | binary",
            _ => {}
        }
        line
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's way to ask")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
