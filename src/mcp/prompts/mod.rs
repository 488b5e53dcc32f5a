//! Prompts: what a person picks for an agent to do, filled with what the yard knows about it.

mod arguments;
mod fix_build;
mod wording;
mod wrap_up;

use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

use super::call::Call;
use super::scope::ToolScope;
use arguments::Arguments;
use branchyard_config::Toolset;
use branchyard_model::{Problem, Scope};

const FIX_BUILD: &str = "fix_build";
const WRAP_UP: &str = "wrap_up";

/// They tell what the tools of this set tell, and have the agent call them.
const SET: Toolset = Toolset::Build;

/// All of them, as this client sees them: what its configuration fixed may be left out.
pub(super) fn all(scope: &ToolScope) -> Vec<Prompt> {
    if !scope.has(SET) {
        return Vec::new();
    }
    let repo = PromptArgument::new("repo").with_description("The repository's name.");
    let branch = PromptArgument::new("branch").with_description("The branch.");
    let run = PromptArgument::new("run_id")
        .with_description("The failed run; else the latest one that failed in the repo or branch.");
    vec![
        Prompt::new(
            FIX_BUILD,
            Some("Find and mend what made a build fail: what it complained about, and how to go on."),
            Some(vec![
                run.with_required(false),
                repo.clone().with_required(false),
                branch.clone().with_required(false),
            ]),
        )
        .with_title("Fix a failed build"),
        Prompt::new(
            WRAP_UP,
            Some("Review, build, commit and push what was done on a branch: what is the case, what is left."),
            Some(vec![
                repo.with_required(scope.repo().is_none()),
                branch.with_required(scope.branch().is_none()),
            ]),
        )
        .with_title("Wrap up a branch"),
    ]
}

pub(super) async fn get(
    call: &Call,
    name: &str,
    arguments: JsonObject,
) -> Result<GetPromptResult, Problem> {
    call.app().require(Scope::RepoRead)?;
    let arguments = Arguments::new(arguments, call.scope().clone());
    let text = match name {
        FIX_BUILD if call.scope().has(SET) => fix_build::text(call, arguments).await?,
        WRAP_UP if call.scope().has(SET) => wrap_up::text(call, arguments).await?,
        _ => {
            let detail = format!("there is no prompt {name:?}");
            let help = format!("the prompts are {FIX_BUILD} and {WRAP_UP}, of the toolset build");
            return Err(Problem::bad("name", detail).help(help));
        }
    };
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]))
}
