//! How a branch is doing, for its badge: told to everyone, where the operator says so.

use super::App;
use branchyard_db::run_index::Filter;
use branchyard_model::{
    BranchName, EndState, ErrorKind, PipelineRecord, PipelineState, Problem, RepoName, RunKind,
    RunState,
};
use branchyard_pipelines::{PipelineFilter, newest_of_files};

/// How the newest builds of a branch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Passing,
    Failing,
    Running,
    Cancelled,
    /// Nothing was built there.
    Unknown,
}

/// The worst of the newest pipelines of each workflow file, or of `file` alone. Where there are none, the newest make run
/// counts. The branch is the default branch if none is named.
pub async fn standing(
    app: &App,
    repo: &RepoName,
    branch: Option<BranchName>,
    file: Option<String>,
) -> Result<Standing, Problem> {
    let repo = app.0.repos.get(repo).ok();
    let Some(repo) = repo.filter(|repo| repo.config().badge) else {
        // It does not tell whether there is such a repo.
        let detail = "no repository of this name shows a badge";
        return Err(Problem::new(ErrorKind::NotFound, "no_badge", detail)
            .field("repo")
            .help("the operator sets `badge = true` in [repos.NAME]"));
    };
    let default = || BranchName::parse(&repo.default_branch()?).ok();
    let Some(branch) = branch.or_else(default) else {
        return Ok(Standing::Unknown);
    };
    let (pipelines, runs, name) = (
        app.0.pipelines.clone(),
        app.0.runs.clone(),
        repo.name().clone(),
    );
    super::pipelines::blocking(move || {
        let filter = PipelineFilter {
            branch: Some(branch.clone()),
            file: file.clone(),
            ..PipelineFilter::default()
        };
        if let Some(standing) = of_pipelines(&newest_of_files(&pipelines, &name, &filter)) {
            return Ok(standing);
        }
        let filter = Filter {
            repo: Some(name),
            branch: Some(branch),
            kind: Some(RunKind::Make),
            ..Filter::default()
        };
        let newest = match file {
            Some(_) => None,
            None => runs.list(&filter, 1, |_, _| true)?.0.pop(),
        };
        Ok(newest.map_or(Standing::Unknown, |run| of_run(run.state)))
    })
    .await
}

/// None if there is no pipeline.
fn of_pipelines(newest: &[PipelineRecord]) -> Option<Standing> {
    let of_each = newest.iter().map(|record| match record.state {
        PipelineState::Succeeded => Standing::Passing,
        PipelineState::Failed | PipelineState::Rejected => Standing::Failing,
        PipelineState::Queued | PipelineState::Running => Standing::Running,
        PipelineState::Cancelled => Standing::Cancelled,
    });
    let of_each: Vec<_> = of_each.collect();
    let worst_first = [
        Standing::Failing,
        Standing::Running,
        Standing::Cancelled,
        Standing::Passing,
    ];
    worst_first
        .into_iter()
        .find(|standing| of_each.contains(standing))
}

fn of_run(state: RunState) -> Standing {
    match state {
        RunState::Ended(EndState::Succeeded) => Standing::Passing,
        RunState::Ended(EndState::Cancelled) => Standing::Cancelled,
        RunState::Ended(_) => Standing::Failing,
        RunState::Queued | RunState::Preparing | RunState::Running => Standing::Running,
    }
}
