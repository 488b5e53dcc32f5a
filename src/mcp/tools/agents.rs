//! A workspace to begin with: git_clone and git_init.

use crate::app::{Begun, CloneRequest, InitRequest, agents};
use crate::mcp::call::Call;
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{Problem, Scope};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new::<CloneRequest, Begun, _>(
            &ToolEntry {
                name: "git_clone",
                title: "Begin a task on a branch of its own",
                description: "Gives an agent's task a branch and workspace of its own, agent-{agent_id}-{task_id}, made \
                    from base. The same call again finds the same workspace. Work there with the other tools, \
                    by the repo and branch that it answers; git_push publishes it.",
                set: Toolset::GitWrite,
                right: Scope::GitWrite,
                effect: Effect::WRITES.repeatable().reaching_out(),
            },
            clone,
        ),
        Tool::new::<InitRequest, Begun, _>(
            &ToolEntry {
                name: "git_init",
                title: "Make a new repository",
                description: "Makes an empty repository that the yard itself keeps, and a workspace of its first branch. \
                    For one that exists elsewhere use git_clone. Needs the right admin, and an operator who allows \
                    local repositories.",
                set: Toolset::Admin,
                right: Scope::Admin,
                effect: Effect::WRITES,
            },
            init,
        ),
    ]
}

async fn clone(call: Call, mut request: CloneRequest) -> Result<Reply, Problem> {
    if request.url.is_none() && request.repo.is_none() {
        request.repo = call.scope().repo().cloned();
    }
    let begun = call
        .in_time(agents::git_clone(call.app(), &request))
        .await?;
    reply(&call, &begun)
}

async fn init(call: Call, request: InitRequest) -> Result<Reply, Problem> {
    let begun = call.in_time(agents::git_init(call.app(), &request)).await?;
    reply(&call, &begun)
}

fn reply(call: &Call, begun: &Begun) -> Result<Reply, Problem> {
    let Begun {
        repo,
        branch,
        commit,
        ..
    } = begun;
    let how = match (begun.created, &begun.base) {
        (true, Some(base)) => format!("made from {base}"),
        (true, None) => "made".to_owned(),
        (false, _) => "found as it is".to_owned(),
    };
    let place = begun.workspace.display();
    let text = format!("{branch} of {repo}, {how}, is at {commit}\nits files are in {place}");
    call.reply(begun, text)
}
