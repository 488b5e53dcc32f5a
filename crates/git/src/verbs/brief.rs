//! A commit in a few words.

use git2::Commit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longer than a subject should be.
const LONGEST_SUBJECT: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    pub id: String,
    pub subject: String,
}

impl Brief {
    pub(crate) fn of(commit: &Commit<'_>) -> Self {
        let subject = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default());
        let mut shown: String = subject.chars().take(LONGEST_SUBJECT).collect();
        if shown.len() < subject.len() {
            shown.push('…');
        }
        Self {
            id: commit.id().to_string(),
            subject: shown,
        }
    }

    pub(super) fn line(&self) -> String {
        format!("  {} {}", self.id, self.subject)
    }
}
