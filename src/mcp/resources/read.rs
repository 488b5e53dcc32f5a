//! What a resource holds, as far as it fits into an answer.

use rmcp::model::ResourceContents;
use serde::Serialize;

use super::uri::{Uri, offered};
use crate::app::{AuthorizedApp, inspect, runs};
use crate::mcp::call::Call;
use crate::mcp::window::Window;
use crate::mcp::{fit, reply};
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, RunId, Scope};
use branchyard_workspace::{EntryKind, FileText, ListRequest, Listing, ReadRequest};

/// What the content may take, beside the resource's own name and a line that says what is missing.
const ROOM: usize = reply::CONTENT - 1_500;

pub(in crate::mcp) async fn read(call: &Call, uri: &str) -> Result<ResourceContents, Problem> {
    call.app().require(Scope::RepoRead)?;
    match offered(uri, call.scope())? {
        Uri::Repos => {
            let text = repos(call.app()).await?;
            Ok(ResourceContents::text(text, uri).with_mime_type("application/json"))
        }
        Uri::Log(run) => Ok(ResourceContents::text(log(call, run).await?, uri)),
        Uri::File { repo, branch, path } => file(call, (&repo, &branch), path, uri).await,
    }
}

#[derive(Debug, Serialize)]
struct Repos {
    repos: Vec<Repo>,
    /// There are more repos or workspaces than these: the `list` tool goes through all.
    truncated: bool,
}

#[derive(Debug, Clone, Serialize)]
struct Repo {
    name: RepoName,
    default_branch: Option<String>,
    cloned: bool,
    workspaces: Vec<BranchName>,
}

/// All repos and the branches that have a workspace, as JSON.
pub(super) async fn repos(app: &AuthorizedApp) -> Result<String, Problem> {
    let app = app.clone();
    let looking = tokio::task::spawn_blocking(move || {
        let all: Vec<_> = app
            .repos()
            .iter()
            .map(|repo| Repo {
                name: repo.name().clone(),
                default_branch: repo.default_branch(),
                cloned: repo.is_cloned(),
                workspaces: app.branches_on_disk(repo),
            })
            .collect();
        fitted(&all)
    });
    let text = looking.await.map_err(|error| unwritable(&error))?;
    text.map_err(|error| unwritable(&error))
}

/// As many of the repos and their workspaces as fit, in order.
fn fitted(all: &[Repo]) -> serde_json::Result<String> {
    let count = |repos: &[Repo]| repos.iter().map(|repo| 1 + repo.workspaces.len()).sum();
    let everything: usize = count(all);
    let mut most = everything;
    loop {
        let mut left = most;
        let mut repos = Vec::new();
        for repo in all {
            let Some(for_workspaces) = left.checked_sub(1) else {
                break;
            };
            let mut repo = repo.clone();
            repo.workspaces.truncate(for_workspaces);
            left = for_workspaces - repo.workspaces.len();
            repos.push(repo);
        }
        let truncated = count(&repos) < everything;
        let text = serde_json::to_string(&Repos { repos, truncated })?;
        if fit::length(&text) <= ROOM || most == 0 {
            return Ok(text);
        }
        most /= 2;
    }
}

async fn log(call: &Call, run: RunId) -> Result<String, Problem> {
    let view = runs::view_run(call.app(), run).map_err(|problem| {
        problem.help("resources/list names the latest runs, the `runs` tool finds any")
    })?;
    let window = Window::before_end(&view, 0).await?;
    let tail = window.tail(ROOM);
    if !tail.cut {
        return Ok(tail.text);
    }
    Ok(format!(
        "[the end of the log, from line {} of {} on: the `run_log` tool reads any part of it]\n{}",
        window.first_line(&tail),
        window.total().lines,
        tail.text
    ))
}

async fn file(
    call: &Call,
    (repo, branch): (&RepoName, &BranchName),
    path: String,
    uri: &str,
) -> Result<ResourceContents, Problem> {
    let request = ReadRequest {
        path: path.clone(),
        ..ReadRequest::default()
    };
    let reading = inspect::read_file(call.app(), repo, branch, request);
    let file = match call.in_time(reading).await {
        Err(problem) if problem.code == "is_directory" => {
            let all = ListRequest {
                path,
                recursive: false,
                all: true,
            };
            let listing = inspect::ls(call.app(), repo, branch, all);
            let (_, listing) = call.in_time(listing).await?;
            return Ok(ResourceContents::text(names(&listing), uri));
        }
        file => FileText::from(file?.1),
    };
    let whole = fit::length(&file.text) <= ROOM && !file.truncated;
    if file.encoding == "base64" {
        // The beginning of an image or an archive is of no use to anybody.
        if !whole {
            let (path, size) = (&file.path, file.size);
            let detail = format!("{path} is no text, and its {size} bytes do not fit an answer");
            let problem = Problem::new(ErrorKind::TooLarge, "file_too_large", detail);
            return Err(problem.field("uri"));
        }
        let blob = ResourceContents::blob(file.text, uri);
        return Ok(blob.with_mime_type("application/octet-stream"));
    }
    if whole {
        return Ok(ResourceContents::text(file.text, uri));
    }
    let shown = to_a_line(fit::head(&file.text, ROOM));
    let (next, ending) = match shown.ends_with('\n') {
        true => (shown.lines().count() + 1, ""),
        false => (1, "\n"),
    };
    let text = format!(
        "{shown}{ending}[the file goes on in line {next} of {}: the `read_file` tool reads any lines of it]\n",
        file.total_lines.unwrap_or(0)
    );
    Ok(ResourceContents::text(text, uri))
}

/// The names in a directory, a line each, as the `ls` tool marks them.
fn names(listing: &Listing) -> String {
    let mut text = String::new();
    for entry in &listing.entries {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        text.push_str(name);
        text.push_str(match entry.kind {
            EntryKind::Dir => "/\n",
            EntryKind::Symlink => "@\n",
            EntryKind::File | EntryKind::Other => "\n",
        });
    }
    let shown = fit::head(&text, ROOM);
    if shown.len() == text.len() && !listing.truncated {
        return text;
    }
    let shown = to_a_line(shown);
    format!("{shown}[there are more names: the `ls` tool lists them all]\n")
}

/// Up to the end of its last whole line; all of it where there is none.
fn to_a_line(text: &str) -> &str {
    text.rfind('\n').map_or(text, |end| &text[..=end])
}

fn unwritable(error: &dyn std::error::Error) -> Problem {
    let detail = format!("the repos cannot be listed: {error}");
    Problem::new(ErrorKind::Internal, "list_failed", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_repos_are_shown_as_fit_and_the_rest_is_said_to_be_missing() {
        let repo = |name: String, workspaces: usize| Repo {
            name: RepoName::parse(&name).unwrap(),
            default_branch: None,
            cloned: true,
            workspaces: (0..workspaces)
                .map(|n| BranchName::parse(&format!("feature/number-{n}")).unwrap())
                .collect(),
        };
        let few = [repo("app".to_owned(), 3)];
        assert!(fitted(&few).unwrap().ends_with("\"truncated\":false}"));
        let many: Vec<_> = (0..400).map(|n| repo(format!("repo-{n}"), 1)).collect();
        for all in [&[repo("app".to_owned(), 5_000)][..], &many] {
            let text = fitted(all).unwrap();
            assert!(
                (ROOM / 4..=ROOM).contains(&fit::length(&text)),
                "{}",
                text.len()
            );
            assert!(text.ends_with("\"truncated\":true}"));
        }
    }
}
