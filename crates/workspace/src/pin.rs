//! Pinning by hand: a workspace that somebody wants kept, whatever is or is not in it.

use std::sync::Arc;

use super::error::{conflict, no_workspace};
use super::{Error, Pin, Workspace};
use crate::standing;
use branchyard_model::Problem;
use branchyard_runtime::yard_events::WorkspaceChange;

/// Who wants this workspace kept.
pub(super) fn pinned(workspace: &Workspace) -> Option<Pin> {
    workspace.record()?.pinned
}

/// Pins the workspace, or with `None` lets it go again.
pub async fn set_pin(workspace: &Arc<Workspace>, pin: Option<Pin>) -> Result<(), Error> {
    // Removal holds the files exclusively: it sees the pin, or there is nothing to pin any more.
    let _files = workspace.share_files().await;
    if !workspace.exists() {
        return Err(no_workspace(workspace.branch())
            .help("PUT …/branches/{branch} or `branchyard prepare` makes one")
            .into());
    }
    workspace
        .blocking(move |this| {
            standing::check_owner(this)?;
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
pub(super) fn refuse_pinned(workspace: &Workspace, pin: &Pin) -> Problem {
    let detail = format!("the workspace of {} is {}", workspace.branch(), pin.says());
    conflict("workspace_pinned", detail)
        .field("branch")
        .help("DELETE …/pin or `branchyard unpin` lets it go")
}
