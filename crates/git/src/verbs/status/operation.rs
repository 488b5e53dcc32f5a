//! A merge, rebase or the like that waits to be finished.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Head, Repository, rebased_branch};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// `merge`, `rebase`, `cherry-pick`, `revert`, `bisect` or `am`.
    pub kind: String,
    /// The branch that is rebased, or the commit that is merged, picked or reverted.
    pub of: Option<String>,
    /// What a rebase puts the commits on.
    pub onto: Option<String>,
    /// How far a rebase is, counted from 1.
    pub step: Option<usize>,
    /// How many steps it has.
    pub total: Option<usize>,
    /// Who began it by a git verb; not known of what a command of a run began.
    pub by: Option<String>,
    /// How long ago, such as `3m 20s`.
    pub age: Option<String>,
}

impl Operation {
    /// What is under way, by what git keeps about it.
    pub fn under_way(repo: &Repository, head: &Head) -> Option<Self> {
        let kind = head.operation?;
        let admin = repo.path();
        let one_of = |files: [&str; 2]| files.iter().find_map(|file| word(&admin.join(file)));
        let number = |files| one_of(files).and_then(|number| number.parse().ok());
        let is_rebase = matches!(kind, "rebase" | "am");
        let rebased = || {
            let branch = rebased_branch(admin)?;
            Some(branch.trim_start_matches("refs/heads/").to_owned())
        };
        let picked = || {
            let file = match kind {
                "merge" => "MERGE_HEAD",
                "cherry-pick" => "CHERRY_PICK_HEAD",
                "revert" => "REVERT_HEAD",
                _ => return None,
            };
            word(&admin.join(file))
        };
        Some(Self {
            kind: kind.to_owned(),
            of: match is_rebase {
                true => rebased(),
                false => picked(),
            },
            onto: one_of(["rebase-merge/onto", "rebase-apply/onto"]),
            step: number(["rebase-merge/msgnum", "rebase-apply/next"]),
            total: number(["rebase-merge/end", "rebase-apply/last"]),
            by: None,
            age: None,
        })
    }
}

/// The first word of a file of git's; nothing where there is none, for not every kind has every file.
fn word(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    text.split_whitespace().next().map(str::to_owned)
}
