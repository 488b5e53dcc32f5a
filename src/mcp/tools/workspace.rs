//! One workspace: describe, prepare, remove, pin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::only_for;
use crate::app::{branches, reaper};
use crate::mcp::call::Call;
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, Problem, RepoName, Salvage, Scope, Warning};
use branchyard_workspace::{Description, Going};

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new::<WorkspaceArgs, Acted, _>(
        &ToolEntry {
            name: "workspace",
            title: "Manage a workspace",
            description: "Describes a branch's workspace, prepares it (made and brought up to date; with from the \
                branch is created), removes it, or pins it so that nothing removes it. A build prepares by \
                itself. Work that a forced removal would lose is saved first: see `salvage`.",
            set: Toolset::Yard,
            right: Scope::RepoRead,
            effect: Effect::DESTROYS.repeatable().reaching_out(),
        },
        workspace,
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WorkspaceArgs {
    repo: RepoName,
    branch: BranchName,
    /// What to do. A removal is refused while there is work in the workspace that could be missed.
    action: WorkspaceAction,
    /// For prepare: a branch or commit at which to create this branch.
    from: Option<String>,
    /// For remove: save the work in it as a salvage, and remove it all the same.
    #[serde(default)]
    force: bool,
    /// For pin: why it is to be kept.
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WorkspaceAction {
    Describe,
    Prepare,
    Remove,
    Pin,
    Unpin,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Acted<'a> {
    repo: &'a RepoName,
    branch: &'a BranchName,
    action: WorkspaceAction,
    /// As it is now; nothing once it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<Description>,
    /// What a removal saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    salvage: Option<Salvage>,
    /// What one should know, though it was done.
    warnings: Vec<Warning>,
}

async fn workspace(call: Call, asked: WorkspaceArgs) -> Result<Reply, Problem> {
    let WorkspaceArgs {
        repo,
        branch,
        action,
        ..
    } = &asked;
    for (field, is_given, actions) in [
        ("from", asked.from.is_some(), "prepare"),
        ("force", asked.force, "remove"),
        ("reason", asked.reason.is_some(), "pin"),
    ] {
        only_for(field, is_given, actions, action)?;
    }
    if *action != WorkspaceAction::Describe {
        call.app().require(Scope::GitWrite)?;
    }
    let mut acted = Acted {
        repo,
        branch,
        action: *action,
        workspace: None,
        salvage: None,
        warnings: Vec::new(),
    };
    let app = &call.app();
    match action {
        WorkspaceAction::Describe => {
            acted.workspace = Some(call.in_time(branches::describe(app, repo, branch)).await?);
        }
        WorkspaceAction::Prepare => {
            let preparing = branches::prepare(app, repo, branch, asked.from.as_deref());
            let (description, warnings) = call.in_time(preparing).await?;
            acted.workspace = Some(description);
            acted.warnings = warnings;
        }
        WorkspaceAction::Remove => {
            let going = match asked.force {
                true => Going::Forced,
                false => Going::Unmissed,
            };
            let removing = branches::remove(app, repo, branch, going);
            acted.salvage = call.in_time(removing).await?;
        }
        WorkspaceAction::Pin => {
            let pinning = reaper::pin(app, repo, branch, asked.reason.clone());
            acted.workspace = Some(call.in_time(pinning).await?);
        }
        WorkspaceAction::Unpin => {
            let unpinning = async {
                reaper::unpin(app, repo, branch).await?;
                branches::describe(app, repo, branch).await
            };
            acted.workspace = Some(call.in_time(unpinning).await?);
        }
    }
    let text = told(&acted);
    call.reply(&acted, text)
}

fn told(acted: &Acted<'_>) -> String {
    let Acted { repo, branch, .. } = acted;
    let mut text = match (&acted.workspace, &acted.salvage) {
        (Some(workspace), _) => standing(workspace),
        (None, Some(salvage)) => format!(
            "the workspace of {branch} in {repo} is removed; its work was saved as salvage {}, which `salvage` with action restore brings back",
            salvage.id
        ),
        (None, None) => format!("the workspace of {branch} in {repo} is removed"),
    };
    for warning in &acted.warnings {
        text.push_str(&format!("\nwarning: {}", warning.message));
    }
    text
}

/// The state of a workspace in a few lines.
pub(super) fn standing(workspace: &Description) -> String {
    let commit = workspace
        .commit
        .as_ref()
        .map_or("no commit", |id| id.as_str());
    let with = if workspace.dirty { "with" } else { "without" };
    let mut text = format!(
        "{} of {} is at {commit}, {with} changes, {} ahead and {} behind",
        workspace.branch, workspace.repo, workspace.ahead, workspace.behind,
    );
    if let Some(pin) = &workspace.pinned {
        text.push_str(&format!("\n{}", pin.says()));
    }
    if let Some(holder) = &workspace.holder {
        text.push_str(&format!("\nin use: {} by {}", holder.what, holder.who));
    }
    if !workspace.pins.is_empty() {
        let pins = workspace.pins.join("; ");
        text.push_str(&format!("\nit stays because of: {pins}"));
    }
    text
}
