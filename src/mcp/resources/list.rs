//! Which resources there are.

use rmcp::model::{Resource, ResourceTemplate};

use super::uri::{FILE_TEMPLATE, FILES, LOG_TEMPLATE, LOGS, REPOS, Uri};
use crate::app::runs;
use crate::mcp::call::Call;
use crate::mcp::fit;
use crate::mcp::scope::ToolScope;
use branchyard_db::run_index::Filter;
use branchyard_model::{Problem, RunRecord, Scope};

/// So many logs are listed; all others are found by their run's id.
const LATEST: usize = 20;
/// Of a longer command this much is shown.
const LONGEST_COMMAND: usize = 120;

/// The yard itself, and the logs of the latest runs, as far as the client is given the tools for them; only
/// of where it works, if its configuration says that.
pub(in crate::mcp) async fn all(call: &Call) -> Result<Vec<Resource>, Problem> {
    call.app().require(Scope::RepoRead)?;
    let filter = Filter {
        repo: call.scope().repo().cloned(),
        branch: call.scope().branch().cloned(),
        ..Filter::default()
    };
    let runs = match call.scope().has(LOGS) {
        true => runs::runs_by(call.app(), filter, LATEST).await?.0,
        false => Vec::new(),
    };
    let repos = Resource::new(REPOS, "repos")
        .with_title("Repositories and workspaces")
        .with_description("The repositories of the yard, and the branches that have a workspace.")
        .with_mime_type("application/json");
    let repos = call.scope().has(FILES).then_some(repos);
    Ok(repos.into_iter().chain(runs.iter().map(run_log)).collect())
}

fn run_log(run: &RunRecord) -> Resource {
    let (spec, id) = (&run.spec, run.run_id);
    let command = spec.argv.join(" ");
    let description = format!(
        "{} on {}/{}: {}",
        fit::head(&command, LONGEST_COMMAND),
        spec.repo,
        spec.branch,
        run.state.as_str()
    );
    Resource::new(Uri::Log(id).to_string(), format!("log-{id}"))
        .with_title(format!("Log of run {}", id.short()))
        .with_description(description)
        .with_mime_type("text/plain")
}

pub(in crate::mcp) fn templates(scope: &ToolScope) -> Vec<ResourceTemplate> {
    let log = ResourceTemplate::new(LOG_TEMPLATE, "run_log")
        .with_title("Log of a run")
        .with_description(
            "What a run printed, live or ended; of a long log the end. The `runs` tool finds ids.",
        )
        .with_mime_type("text/plain");
    let file = ResourceTemplate::new(FILE_TEMPLATE, "workspace_file")
        .with_title("File of a workspace")
        .with_description(
            "A file of a branch's workspace, or the names in a directory. A slash in the branch is %2F.",
        );
    let all = [(LOGS, log), (FILES, file)].into_iter();
    all.filter(|(set, _)| scope.has(*set))
        .map(|(_, template)| template)
        .collect()
}
