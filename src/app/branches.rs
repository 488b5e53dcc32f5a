//! Branches and their workspaces: list, describe, prepare, remove.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::AuthorizedApp;
use super::workspace_lock;
use branchyard_git as git;
use branchyard_model::{
    BranchName, CommitId, ErrorKind, NamedRef, Problem, RepoName, Salvage, Warning,
};
use branchyard_workspace::repos::remote;
use branchyard_workspace::repos::{Registration, Repo, Source};
use branchyard_workspace::{
    Description, Going, LIST_PATIENCE, PrepareOptions, Report, Reporter, describe, parallel,
    prepare, remove, sync, unresponsive,
};

/// Some workspaces of a repo, in the order of their names.
#[derive(Debug)]
pub struct BranchPage {
    pub items: Vec<Description>,
    pub unavailable: Vec<Unavailable>,
    /// After which branch to go on, if there are more.
    pub next: Option<BranchName>,
    /// Why the remote adds nothing.
    pub notice: Option<&'static str>,
}

/// How old a list of the remote's branches may be for its further pages.
const LISTING_AGE: Duration = Duration::from_secs(60);

/// A workspace that a list leaves out, because it does not answer or is damaged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UnavailableWorkspace")]
pub struct Unavailable {
    pub branch: BranchName,
    /// The code of the problem that a request for this workspace gets.
    pub code: String,
    /// The same, for people.
    pub reason: String,
}

/// Workspaces of a repo, and with `remote` also the branches that only the remote has: in the order of
/// their names the first `most` that come after `last`, for to describe a workspace is to look at all its
/// files; and the last of these, if there are more. What cannot be described is left out, and named.
pub async fn branches_after(
    app: &AuthorizedApp,
    repo: &RepoName,
    remote: bool,
    last: Option<&BranchName>,
    most: usize,
) -> Result<BranchPage, Problem> {
    let repo = app.repo(repo)?;
    let on_disk: HashSet<_> = app.branches_on_disk(&repo).into_iter().collect();
    let is_later = |branch: &BranchName| last.is_none_or(|last| branch > last);
    let later = on_disk.iter().filter(|branch| is_later(branch));
    let mut heads: BTreeMap<_, _> = later.map(|branch| (branch.clone(), None)).collect();
    let mut notice = None;
    if remote {
        let age = match last {
            Some(_) => LISTING_AGE,
            None => Duration::ZERO,
        };
        let all = remote::all_branches(&repo, age).await?;
        if all.is_empty() {
            notice = Some(match remote::has_tags(&repo).await? {
                true => "the remote has tags and no branch",
                false => "the remote is empty: it has no branch yet",
            });
        }
        let after = last.map_or(Bound::Unbounded, Bound::Excluded);
        let later = all.range::<BranchName, _>((after, Bound::Unbounded));
        let seen = later.filter(|(branch, _)| app.principal().sees(repo.name(), branch));
        // One more than the page has tells that there is another.
        let page = seen.take(most.saturating_add(1));
        heads.extend(page.map(|(branch, commit)| (branch.clone(), Some(commit.clone()))));
    }
    let mut rest = heads.into_iter();
    let mut wanted: Vec<_> = rest.by_ref().take(most).collect();
    // Of thousands of branches of the remote, few have one.
    let there: Vec<_> = wanted
        .iter()
        .map(|(branch, _)| branch)
        .filter(|branch| on_disk.contains(branch))
        .cloned()
        .collect();
    let described = parallel(there.clone(), |branch| {
        let workspace = app.yard().workspaces.get(&repo, &branch);
        async move {
            if !workspace.exists() {
                return Ok(None);
            }
            let described = timeout(LIST_PATIENCE, describe::describe(&workspace, false)).await;
            match described.unwrap_or_else(|_| Err(unresponsive(&branch).into())) {
                // It is being made or removed.
                Err(_) if !workspace.exists() => Ok(None),
                described => described.map(Some),
            }
        }
    });
    let mut described: HashMap<_, _> = there.iter().zip(described.await).collect();
    let (mut found, mut unavailable) = (Vec::new(), Vec::new());
    for (branch, head) in &wanted {
        let described = described.remove(branch).unwrap_or(Ok(Ok(None)));
        let described = described.unwrap_or_else(|error| {
            tracing::error!(repo = %repo.name(), %branch, %error, "a workspace cannot be described");
            Err(git::Error::from(error).into())
        });
        let description = match described {
            Ok(description) => description,
            Err(error) => {
                tracing::warn!(repo = %repo.name(), %branch, %error, "a workspace cannot be described");
                let problem = error.problem();
                unavailable.push(Unavailable {
                    branch: branch.clone(),
                    code: problem.code,
                    reason: problem.detail,
                });
                continue;
            }
        };
        let remote_only =
            |head: &CommitId| Description::remote_only(repo.name(), branch, head.clone());
        found.extend(description.or_else(|| head.as_ref().map(remote_only)));
    }
    let next = rest.next().and(wanted.pop()).map(|(branch, _)| branch);
    Ok(BranchPage {
        items: found,
        unavailable,
        next,
        notice,
    })
}

/// The names of all branches that are known without asking the remote, sorted. Blocks.
pub fn known_branches(app: &AuthorizedApp, repo: &RepoName) -> Result<Vec<BranchName>, Problem> {
    let repo = app.repo(repo)?;
    let mut known = app.branches_on_disk(&repo);
    if repo.is_cloned() {
        let of_remote = git::remote_branches(&repo.open_store()?)?;
        known.extend(
            of_remote
                .into_iter()
                .filter(|name| NamedRef::of(name).is_none()),
        );
    }
    known.retain(|branch| app.principal().sees(repo.name(), branch));
    known.sort();
    known.dedup();
    Ok(known)
}

pub async fn describe(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
) -> Result<Description, Problem> {
    let workspace = app.workspace(repo, branch)?;
    if !workspace.exists() {
        let detail = format!("{branch} has no workspace");
        return Err(Problem::new(ErrorKind::NotFound, "no_workspace", detail)
            .field("branch")
            .help("PUT the same address or `branchyard prepare` makes one"));
    }
    Ok(describe::describe(&workspace, true).await?)
}

/// Makes the workspace ready and up to date; with `from` creates the branch there first.
pub async fn prepare(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    from: Option<&str>,
) -> Result<(Description, Vec<Warning>), Problem> {
    let workspace = app.workspace(repo, branch)?;
    app.yard().margin.check()?;
    if from.is_some() {
        app.check_unprotected(workspace.repo(), branch, "created")
            .await?;
    }
    let (asked_at, by) = (Instant::now(), app.principal().name());
    let _lock = workspace.queue().lock("prepare", by).await;
    let (report, warnings) = collecting();
    let description = match from {
        Some(start) => {
            let created = prepare::create_branch(&workspace, start, &report).await;
            created.map_err(|error| app.judge(error))?;
            describe::describe(&workspace, true).await?
        }
        None => {
            let options = PrepareOptions::up_to_date(by, asked_at);
            let prepared = sync::prepare(&workspace, &options, &report).await;
            let prepared = prepared.map_err(|error| app.judge(error))?;
            describe::describe_prepared(&workspace, prepared).await?
        }
    };
    Ok((description, warnings.so_far()))
}

/// Removes a workspace; its files are deleted in the background. With work in it, it stays, unless
/// that is to be saved and it is to go by force.
pub async fn remove(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    going: Going,
) -> Result<Option<Salvage>, Problem> {
    let workspace = app.workspace(repo, branch)?;
    app.check_unprotected(workspace.repo(), branch, "removed")
        .await?;
    let _lock = workspace_lock::lock_unless_run(app, &workspace, "remove").await?;
    // What makes room must not need any.
    app.yard().margin.make_do();
    remove::remove(&workspace, going, app.principal().name())
        .await
        .map_err(|error| app.judge(error))
}

/// Takes a repo on, under a name that is among those to be seen.
pub async fn register(
    app: &AuthorizedApp,
    registration: &Registration,
) -> Result<Arc<Repo>, Problem> {
    app.check_repo(&registration.name)?;
    app.yard().margin.check()?;
    let registered = app.yard().repos.register(registration).await;
    registered.map_err(|error| app.judge(error))
}

/// Forgets a repo. Refused while anything of it could be missed.
pub async fn remove_repo(app: &AuthorizedApp, name: &RepoName) -> Result<(), Problem> {
    let repo = app.whole_repo(name)?;
    if *repo.source() == Source::Config {
        let detail = format!("{name} is declared in the daemon's configuration");
        return Err(Problem::new(ErrorKind::Conflict, "repo_configured", detail)
            .help("remove it there and restart the daemon"));
    }
    let _registry = repo.registry().lock().await;
    app.yard().margin.make_do();
    let left = remove::left_of(&app.yard().workspaces, &repo)?;
    if !left.is_empty() {
        let detail = format!("{name} still has {}", left.join(", "));
        let help =
            "push what is to be kept and remove the workspaces: `branchyard branches` lists them";
        return Err(Problem::new(ErrorKind::Conflict, "repo_in_use", detail).help(help));
    }
    app.yard().repos.unregister(name)?;
    Ok(remove::discard(&app.yard().workspaces, &repo)?)
}

/// Warnings on the way to an answer that lists them.
pub(super) struct Warnings(mpsc::UnboundedReceiver<Warning>);

impl Warnings {
    pub(super) fn so_far(mut self) -> Vec<Warning> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }
}

/// A reporter that keeps the warnings.
pub(super) fn collecting() -> (Reporter, Warnings) {
    let (tell, told) = mpsc::unbounded_channel();
    let report: Reporter = Arc::new(move |report| {
        if let Report::Warning(warning) = report {
            // Nobody listens any more once the answer is given.
            let _ = tell.send(warning);
        }
    });
    (report, Warnings(told))
}
