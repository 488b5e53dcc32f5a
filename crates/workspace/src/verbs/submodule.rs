//! Moving the submodules of a workspace, and telling how they stand.

use std::sync::Arc;

use super::inside;
use crate::settle::{self, Stragglers};
use crate::{Error, Report, Reporter, Workspace, submodules};
use branchyard_git as git;
use branchyard_git::SubmoduleState;
use branchyard_git::verbs::submodule::{Request, SubmoduleAction, SubmodulesMoved};
use branchyard_model::{CommitId, Warning};

/// Does what was asked for, and tells how they stand then. The caller holds the workspace and its files.
pub async fn move_submodules(
    workspace: &Arc<Workspace>,
    request: Request,
    report: &Reporter,
) -> Result<SubmodulesMoved, Error> {
    let commit = request.commit.as_deref().map(CommitId::parse).transpose()?;
    let staged = match request.action {
        SubmoduleAction::Sync => {
            workspace.blocking(submodules::forget).await?;
            settle::settle(workspace, Stragglers::Told, report).await?;
            None
        }
        SubmoduleAction::Set => {
            let asked = Vec::from_iter(request.path);
            let inside = workspace.blocking(move |this| inside(this, "path", &asked));
            let path = inside.await?.pop().unwrap_or_default();
            Some(settle::set(workspace, &path, commit, report).await?)
        }
    };
    Ok(SubmodulesMoved {
        staged,
        submodules: states(workspace).await?,
    })
}

async fn states(workspace: &Arc<Workspace>) -> Result<Vec<SubmoduleState>, Error> {
    workspace
        .blocking(|this| Ok(git::submodule_states(this.worktree())?))
        .await
}

/// Those that are not as recorded. Blocks.
pub(super) fn changed(workspace: &Workspace) -> Result<Vec<SubmoduleState>, Error> {
    let mut states = git::submodule_states(workspace.worktree())?;
    states.retain(|state| !state.is_as_recorded());
    Ok(states)
}

/// Tells of those that a commit leaves as they are.
pub(super) async fn tell_left_out(
    workspace: &Arc<Workspace>,
    report: &Reporter,
) -> Result<(), Error> {
    let states = states(workspace).await?.into_iter();
    let left = states
        .filter(|it| it.present.is_some() && (it.work.is_some() || it.present != it.recorded));
    let left: Vec<_> = left.map(|state| state.to_string()).collect();
    if !left.is_empty() {
        let detail = format!(
            "what is done in submodules is not part of it: {}; git_submodule records another commit of one",
            left.join("; ")
        );
        report(Report::Warning(Warning::new("submodules_left_out", detail)));
    }
    Ok(())
}
