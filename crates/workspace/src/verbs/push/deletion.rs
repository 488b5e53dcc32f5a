//! Deleting a branch on the remote.

use crate::verbs::upstream;
use std::sync::Arc;

use crate::error::conflict;
use crate::verbs::attempts::rejected;
use crate::{Error, Reporter, Workspace, verbs};
use branchyard_git::verbs::branch;
use branchyard_git::verbs::fetch::Request as Fetch;
use branchyard_git::verbs::push::Update;
use branchyard_model::CommitId;

/// The commit that the remote has for a branch that can be deleted there: another one of its branches
/// has all of it. `None` if the remote has none.
pub async fn merged_on_remote(
    workspace: &Arc<Workspace>,
    report: &Reporter,
) -> Result<Option<CommitId>, Error> {
    let everything = Fetch {
        all: true,
        ..Fetch::default()
    };
    verbs::fetch(workspace, &everything).await?;
    let there = upstream::learn(workspace, report).await?;
    let only_there = workspace
        .blocking(|this| {
            Ok(branch::only_there(
                &this.repo().open_store()?,
                this.branch(),
            )?)
        })
        .await?;
    if only_there > 0 {
        let detail = format!(
            "no other branch of the remote has {only_there} commit(s) of {}",
            workspace.branch()
        );
        return Err(conflict("unmerged", detail)
            .field("remote")
            .help("have it merged first; without `remote` it is deleted here alone")
            .into());
    }
    Ok(there)
}

/// Deletes the branch on the remote, if it still has exactly this commit there.
pub async fn delete_on_remote(workspace: &Arc<Workspace>, there: &CommitId) -> Result<(), Error> {
    let update = Update {
        from: None,
        to: workspace.branch().local_ref(),
        lease: Some(there.clone()),
    };
    verbs::push::hand_over(workspace, &[update])
        .await?
        .map_err(|why| rejected(workspace.branch(), &[why], None).into())
}
