//! Which repositories there are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::{needed, only_for};
use crate::app::{RepoSummary, branches, repos};
use crate::mcp::call::Call;
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, Problem, RepoName, Scope};
use branchyard_workspace::repos::Registration;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new::<AdminArgs, Acted, _>(
        &ToolEntry {
            name: "repos",
            title: "Register and remove repositories",
            description: "Registers a repository by name and URL, to be cloned at its first use, or removes one \
                with its clone. A removal is refused while workspaces or work of it are left, and for what \
                the daemon's configuration declares. `list` names what there is.",
            set: Toolset::Admin,
            right: Scope::Admin,
            effect: Effect::DESTROYS,
        },
        repos,
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AdminArgs {
    /// What to do.
    action: AdminAction,
    /// The repository's name, in tools and on disk.
    name: RepoName,
    /// For register: where it is cloned from.
    url: Option<String>,
    /// For register: shown in lists; the remote's own if left out.
    default_branch: Option<BranchName>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AdminAction {
    Register,
    Remove,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Acted {
    action: AdminAction,
    name: RepoName,
    /// The repository that was registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    repo: Option<RepoSummary>,
}

async fn repos(call: Call, asked: AdminArgs) -> Result<Reply, Problem> {
    let (name, action) = (asked.name, asked.action);
    for (field, is_given) in [
        ("url", asked.url.is_some()),
        ("default_branch", asked.default_branch.is_some()),
    ] {
        only_for(field, is_given, "register", action)?;
    }
    let (repo, text) = match action {
        AdminAction::Register => {
            let url = needed("url", asked.url, "register")?;
            let registration = Registration {
                default_branch: asked.default_branch,
                ..Registration::new(name.clone(), url)
            };
            let registering = branches::register(call.app(), &registration);
            let repo = call.in_time(registering).await?;
            let text = format!("{name} is registered, and cloned at its first use");
            (Some(repos::repo_summary(call.app(), &repo)), text)
        }
        AdminAction::Remove => {
            let removing = branches::remove_repo(call.app(), &name);
            call.in_time(removing).await?;
            (None, format!("{name} is removed"))
        }
    };
    call.reply(&Acted { action, name, repo }, text)
}
