//! What a user could miss: the reasons why a workspace may not simply go.

use std::path::Path;

use git2::Repository;

use super::{Error, Workspace};
use crate::git;
use crate::model::About;

/// Enough names to recognise what is meant.
const EXAMPLES: usize = 5;

impl Workspace {
    /// The work in this workspace, one reason each; empty if nothing would be missed. In doubt it is work.
    pub(super) fn pins(&self, repo: &Repository, about: &About) -> Result<Vec<String>, Error> {
        let mut pins = Vec::new();
        let head = git::head(repo)?;
        if let Some(operation) = head.operation {
            pins.push(format!("a {operation} is under way"));
        }
        if about.dirty != Some(false) {
            pins.push("changes to tracked files".to_owned());
        }
        if about.ahead > 0 {
            pins.push(format!(
                "{} commit(s) that the remote does not have",
                about.ahead
            ));
        }
        // Moved elsewhere by hand, the workspace still stands for its branch, which would go with it.
        if head.branch.as_deref() != Some(self.branch.as_str()) {
            let unseen = git::unseen_commits(repo, &self.branch)?;
            if unseen > 0 {
                pins.push(format!(
                    "{unseen} commit(s) on {} that the remote does not have",
                    self.branch
                ));
            }
        }
        if self.worktree.admin().join("modules").is_dir() {
            pins.push("submodules, whose repositories would go with it".to_owned());
        }
        let stashes = self.stashes(repo);
        if stashes > 0 {
            pins.push(format!("{stashes} stash(es) of this branch"));
        }
        for (ignored, kind) in [(false, "untracked"), (true, "ignored")] {
            let entries: Vec<_> = git::untracked_entries(repo, ignored, usize::MAX)?
                .into_iter()
                .filter(|entry| {
                    !self
                        .repo
                        .config
                        .build_output
                        .matches(Path::new(entry.trim_end_matches('/')))
                })
                .collect();
            if !entries.is_empty() {
                pins.push(format!("{kind} files: {}", examples(&entries)));
            }
        }
        Ok(pins)
    }

    /// Stashes are shared by all worktrees; their subject says whose they are.
    fn stashes(&self, repo: &Repository) -> usize {
        let subjects = [
            format!("WIP on {}: ", self.branch),
            format!("On {}: ", self.branch),
        ];
        repo.reflog("refs/stash").map_or(0, |log| {
            log.iter()
                .filter_map(|entry| entry.message().ok().flatten().map(str::to_owned))
                .filter(|message| subjects.iter().any(|subject| message.starts_with(subject)))
                .count()
        })
    }
}

fn examples(entries: &[String]) -> String {
    let shown = entries[..entries.len().min(EXAMPLES)].join(", ");
    match entries.len().checked_sub(EXAMPLES) {
        Some(more) if more > 0 => format!("{shown} and {more} more"),
        _ => shown,
    }
}
