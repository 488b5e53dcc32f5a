//! Pinning by hand: a workspace that somebody wants kept, whatever is or is not in it.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{conflict, no_workspace};
use super::record::Record;
use super::{Error, Workspace};
use branchyard_model::Problem;
use branchyard_runtime::yard_events::WorkspaceChange;

/// Who wants a workspace kept, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pin {
    pub by: String,
    pub reason: Option<String>,
    pub at: Timestamp,
}

impl Pin {
    /// As a reason to stay.
    pub fn says(&self) -> String {
        match &self.reason {
            Some(reason) => format!("pinned by {}: {reason}", self.by),
            None => format!("pinned by {}", self.by),
        }
    }
}

impl Workspace {
    /// Who wants this workspace kept.
    pub(super) fn pinned(&self) -> Option<Pin> {
        Record::load(self.worktree.admin())?.pinned
    }

    /// Pins the workspace, or with `None` lets it go again.
    pub async fn set_pin(self: &Arc<Self>, pin: Option<Pin>) -> Result<(), Error> {
        // Removal holds the files exclusively: it sees the pin, or there is nothing to pin any more.
        let _files = self.share_files().await;
        if !self.exists() {
            return Err(no_workspace(&self.branch)
                .help("PUT …/branches/{branch} or `branchyard prepare` makes one")
                .into());
        }
        self.blocking(move |this| {
            this.check_owner()?;
            let change = match pin {
                Some(_) => WorkspaceChange::Pinned,
                None => WorkspaceChange::Unpinned,
            };
            this.change_record(|record| record.pinned = pin)?;
            this.tell(change);
            Ok(())
        })
        .await
    }

    /// The answer to a removal of what was pinned by hand.
    pub(super) fn refuse_pinned(&self, pin: &Pin) -> Problem {
        let detail = format!("the workspace of {} is {}", self.branch, pin.says());
        conflict("workspace_pinned", detail)
            .field("branch")
            .help("DELETE …/pin or `branchyard unpin` lets it go")
    }
}
