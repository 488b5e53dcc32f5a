//! Prompts: what a person picks for an agent to do, filled with what the yard knows about it.

mod arguments;
mod fix_build;
mod test_first;
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
const TEST_FIRST: &str = "test_first";

/// Each tells what the tools of a set tell, and has the agent call them.
const PROMPTS: [(&str, Toolset); 3] = [
    (FIX_BUILD, Toolset::Build),
    (WRAP_UP, Toolset::Build),
    (TEST_FIRST, Toolset::Code),
];

fn is_offered(scope: &ToolScope, name: &str) -> bool {
    let set = PROMPTS.iter().find(|(prompt, _)| *prompt == name);
    set.is_some_and(|(_, set)| scope.has(*set))
}

/// All of them, as this client sees them: what its configuration fixed may be left out.
pub(super) fn all(scope: &ToolScope) -> Vec<Prompt> {
    let repo = PromptArgument::new("repo").with_description("The repository's name.");
    let branch = PromptArgument::new("branch").with_description("The branch.");
    let place = vec![
        repo.clone().with_required(scope.repo().is_none()),
        branch.clone().with_required(scope.branch().is_none()),
    ];
    let run = PromptArgument::new("run_id")
        .with_description("The failed run; else the latest one that failed in the repo or branch.");
    let mut prompts = vec![
        Prompt::new(
            FIX_BUILD,
            Some("Find and mend what made a build fail: what it complained about, and how to go on."),
            Some(vec![
                run.with_required(false),
                repo.with_required(false),
                branch.with_required(false),
            ]),
        )
        .with_title("Fix a failed build"),
        Prompt::new(
            WRAP_UP,
            Some("Review, build, commit and push what was done on a branch: what is the case, what is left."),
            Some(place.clone()),
        )
        .with_title("Wrap up a branch"),
        Prompt::new(
            TEST_FIRST,
            Some("Write a failing test, then the code that it is for: fail, read stderr, install or rewrite, run again."),
            Some(place),
        )
        .with_title("Write the test first"),
    ];
    prompts.retain(|prompt| is_offered(scope, &prompt.name));
    prompts
}

pub(super) async fn get(
    call: &Call,
    name: &str,
    arguments: JsonObject,
) -> Result<GetPromptResult, Problem> {
    call.app().require(Scope::RepoRead)?;
    let arguments = Arguments::new(arguments, call.scope().clone());
    let text = match name {
        FIX_BUILD if is_offered(call.scope(), name) => fix_build::text(call, arguments).await?,
        WRAP_UP if is_offered(call.scope(), name) => wrap_up::text(call, arguments).await?,
        TEST_FIRST if is_offered(call.scope(), name) => test_first::text(call, arguments)?,
        _ => {
            let detail = format!("there is no prompt {name:?}");
            let known = PROMPTS.map(|(name, set)| format!("{name} (toolset {})", set.as_str()));
            let help = format!("the prompts are {}", known.join(", "));
            return Err(Problem::bad("name", detail).help(help));
        }
    };
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]))
}
