//! What an argument of a prompt or of a resource's name may be, by what is typed of it.

use rmcp::model::{CompleteRequestParams, CompletionInfo, Reference};

use super::call::Call;
use super::{fit, prompts, reply, resources};
use crate::app::{branches, runs};
use branchyard_db::run_index::Filter;
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, Scope};

pub(super) async fn complete(
    call: &Call,
    request: &CompleteRequestParams,
) -> Result<CompletionInfo, Problem> {
    call.app().require(Scope::RepoRead)?;
    check(call, &request.r#ref)?;
    let known = match &*request.argument.name {
        "repo" => repos(call),
        "branch" => branches(call, request).await?,
        "run_id" | "id" => runs(call, request).await?,
        // Such as a path, which is for `ls`.
        _ => Vec::new(),
    };
    let mut values: Vec<_> = known
        .into_iter()
        .filter(|value| value.starts_with(&request.argument.value))
        .collect();
    let found = values.len();
    values.truncate(fitting(&values).min(CompletionInfo::MAX_VALUES));
    let has_more = values.len() < found;
    CompletionInfo::with_pagination(values, u32::try_from(found).ok(), has_more)
        .map_err(|error| Problem::new(ErrorKind::Internal, "too_many_completions", error))
}

/// How many of them fit into an answer.
fn fitting(values: &[String]) -> usize {
    let mut room = reply::CONTENT;
    let fits = |value: &&String| {
        // With its quotes and a comma.
        let left = room.checked_sub(fit::length(value) + 3);
        room = left.unwrap_or(room);
        left.is_some()
    };
    values.iter().take_while(fits).count()
}

/// It must be a prompt or a template of ours.
fn check(call: &Call, subject: &Reference) -> Result<(), Problem> {
    let is_known = match subject {
        Reference::Prompt(asked) => prompts::all(call.scope())
            .iter()
            .any(|prompt| prompt.name == asked.name),
        Reference::Resource(asked) => resources::templates(call.scope())
            .iter()
            .any(|template| template.uri_template == asked.uri),
        _ => false,
    };
    is_known.then_some(()).ok_or_else(|| {
        Problem::bad("ref", "there is no such prompt or resource template")
            .help("prompts/list and resources/templates/list tell what there is")
    })
}

fn repos(call: &Call) -> Vec<String> {
    let repos = call.app().repos();
    repos.iter().map(|repo| repo.name().to_string()).collect()
}

/// Of the repo that was chosen before, or that the client's configuration names.
async fn branches(call: &Call, request: &CompleteRequestParams) -> Result<Vec<String>, Problem> {
    let Some(repo) = chosen_repo(call, request) else {
        return Ok(Vec::new());
    };
    let app = call.app().clone();
    let looking = tokio::task::spawn_blocking(move || branches::known_branches(&app, &repo));
    let known = looking.await.map_err(|error| {
        let detail = error.to_string();
        Problem::new(ErrorKind::Internal, "branches_unreadable", detail)
    })?;
    match known {
        // Whoever is still typing is not to be told off.
        Err(problem) if problem.kind == ErrorKind::NotFound => Ok(Vec::new()),
        known => Ok(known?.iter().map(ToString::to_string).collect()),
    }
}

/// The latest runs, of the repo and branch that were chosen before.
async fn runs(call: &Call, request: &CompleteRequestParams) -> Result<Vec<String>, Problem> {
    let branch = chosen(request, "branch").and_then(|branch| BranchName::parse(branch).ok());
    let filter = Filter {
        repo: chosen_repo(call, request),
        branch: branch.or_else(|| call.scope().branch().cloned()),
        ..Filter::default()
    };
    let (runs, _) = runs::runs_by(call.app(), filter, CompletionInfo::MAX_VALUES + 1).await?;
    Ok(runs.iter().map(|run| run.run_id.to_string()).collect())
}

fn chosen_repo(call: &Call, request: &CompleteRequestParams) -> Option<RepoName> {
    let repo = chosen(request, "repo").and_then(|repo| RepoName::parse(repo).ok());
    repo.or_else(|| call.scope().repo().cloned())
}

fn chosen<'a>(request: &'a CompleteRequestParams, name: &str) -> Option<&'a str> {
    let context = request.context.as_ref()?;
    context.get_argument(name).map(String::as_str)
}
