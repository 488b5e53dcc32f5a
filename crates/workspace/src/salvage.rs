//! Saving work before something discards it, and looking at what was saved.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::error::conflict;
use super::work::{Belongings, Look, WorkEntry};
use super::{Error, Report, Reporter, Workspace, Workspaces};
use crate::blocking::blocking;
use crate::included::IncludedFiles;
use crate::repos::{Repo, Repos};
use crate::{removal, work};
use branchyard_git::{self as git, Contents, Manifest, Repository, Saved, UntrackedKind};
use branchyard_model::{
    BranchName, ErrorKind, Problem, Salvage, SalvageId, SalvageReason, SalvagedFile, Warning,
};
use branchyard_runtime::yard_events::{SalvageChange, SalvageEvent, YardChange};

/// What is about to be discarded, and so must be saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SalvageScope {
    /// Tracked files, index and commits; what lies beside them stays.
    Tracked,
    /// Everything. What a build made and git does not ignore is saved with it: a person might have
    /// meant to add it.
    All,
}

/// All that is somebody's here, and why. The caller holds the files.
pub(super) fn at_stake(
    workspace: &Workspace,
    repo: &Repository,
) -> Result<(Vec<String>, Belongings), Error> {
    let belongings = work::belongings(workspace, repo, Look::Whole)?;
    Ok((work::pins(workspace, repo, &belongings)?, belongings))
}

/// Saves all that `pins` tells of, and with [`SalvageScope::All`] the build output that git shows.
pub(super) fn save(
    workspace: &Workspace,
    repo: &Repository,
    belongings: &Belongings,
    scope: SalvageScope,
    reason: SalvageReason,
    by: &str,
) -> Result<Salvage, Error> {
    let mut work = work::pins(workspace, repo, belongings)?;
    if scope == SalvageScope::All {
        work.extend(belongings.shown_output());
    }
    salvage(workspace, work, belongings, scope, reason, by)
}

/// Saves `work`, which is about to be discarded by `reason`. the caller holds the files exclusively.
pub(super) fn salvage(
    workspace: &Workspace,
    work: Vec<String>,
    belongings: &Belongings,
    scope: SalvageScope,
    reason: SalvageReason,
    by: &str,
) -> Result<Salvage, Error> {
    let repo = workspace.worktree().open()?;
    let paths = |found: &[WorkEntry]| found.iter().map(|found| found.path.clone()).collect();
    let mut contents = Contents {
        files: paths(&belongings.files),
        empty: belongings.empty.clone(),
        repositories: paths(&belongings.repositories),
        submodules: git::other_submodules(workspace.worktree())?,
        stashes: work::stashes(workspace, &repo),
    };
    for submodule in &belongings.submodules {
        // One that is in another is saved with that.
        let mut saved = contents.repositories.iter();
        let is_there = workspace.path().join(&submodule.path).is_dir();
        if is_there && !saved.any(|outer| submodule.path.starts_with(outer)) {
            contents.repositories.push(submodule.path.clone());
        }
        contents.submodules.extend(submodule.registration.clone());
    }
    if scope == SalvageScope::All {
        for output in belongings.output.iter().filter(|output| !output.ignored) {
            files_of(workspace, &output.item, &mut contents)?;
        }
    }
    let archived = contents.repositories.clone();
    contents
        .files
        .retain(|path| !archived.iter().any(|outer| path.starts_with(outer)));
    // What the operator supplied is not written anywhere else, changed or not.
    let included = IncludedFiles::of(workspace)?;
    let not_saved: Vec<_> = contents
        .files
        .extract_if(.., |path| included.covers(path))
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    let salvage = Salvage {
        id: SalvageId::new(),
        repo: workspace.repo().name().clone(),
        branch: workspace.branch().clone(),
        at: Timestamp::now(),
        reason,
        by: by.to_owned(),
        commit: None,
        work,
        not_saved,
    };
    let saved = git::save(
        workspace.worktree(),
        salvage,
        workspace.yard().ticks.now(),
        &contents,
        &workspace.yard().archives,
    )?;
    let salvage = saved.salvage();
    tracing::info!(repo = %salvage.repo, branch = %salvage.branch, salvage = %salvage.id, ?reason, by, work = salvage.summary(), "work was saved");
    let label = serde_json::to_value(reason).unwrap_or_default();
    let label = label.as_str().unwrap_or_default().to_owned();
    metrics::counter!("branchyard_salvages_total", "reason" => label).increment(1);
    tell_news(workspace.repo(), salvage, SalvageChange::Saved);
    Ok(salvage.clone())
}

fn files_of(
    workspace: &Workspace,
    item: &git::UntrackedEntry,
    contents: &mut Contents,
) -> Result<(), Error> {
    match item.kind {
        UntrackedKind::File => contents.files.push(item.path.clone()),
        UntrackedKind::Repository => contents.repositories.push(item.path.clone()),
        UntrackedKind::Directory => {
            for inner in git::untracked_in(workspace.path(), &item.path)? {
                files_of(workspace, &inner, contents)?;
            }
        }
    }
    Ok(())
}

/// Tells the caller that work was saved, if any was, and how to restore it.
pub(super) fn tell(report: &Reporter, saved: Option<&Salvage>) {
    if let Some(salvage) = saved {
        let (work, id) = (salvage.summary(), salvage.id);
        let detail = format!(
            "saved before it was discarded: {work}; `branchyard salvage restore {id}` brings it back"
        );
        report(Report::Warning(Warning::new("salvaged", detail)));
    }
}

/// Tells those who watch the yard what became of a salvage.
pub(super) fn tell_news(repo: &Repo, salvage: &Salvage, change: SalvageChange) {
    repo.news().publish(YardChange::Salvage(SalvageEvent {
        repo: salvage.repo.clone(),
        branch: salvage.branch.clone(),
        salvage: salvage.id,
        change,
    }));
}

/// Brings to an end what a crash cut off: removals, and salvage that was being made. To be called
/// before anyone is served.
pub fn converge(workspaces: &Workspaces, repos: &Repos) -> Result<(), Error> {
    for repo in repos.list() {
        for branch in workspaces.on_disk(&repo).iter() {
            // One that cannot be settled keeps nobody from using the others.
            match removal::converge(&workspaces.look_at(&repo, branch)) {
                Ok(false) => {}
                Ok(true) => {
                    tracing::info!(repo = %repo.name(), %branch, "a removal that was cut off is settled");
                }
                Err(error) => {
                    tracing::warn!(repo = %repo.name(), %branch, %error, "a removal that was cut off cannot be settled");
                }
            }
        }
    }
    let is_named = |id| -> Result<bool, Error> {
        // Any of them may be the one whose salvage the archive belongs to.
        for repo in repos.list() {
            if repo.store().path().exists() && Saved::is_named(&repo.open_store()?, id)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    Ok(git::settle_archives(&workspaces.yard().archives, is_named)?)
}

/// All salvages of a repo, the newest first.
pub async fn salvages(repo: &Arc<Repo>) -> Result<Vec<Manifest>, Error> {
    let repo = repo.clone();
    blocking(move || {
        if !repo.is_cloned() {
            return Ok(Vec::new());
        }
        let mut found = git::salvages(&repo.open_store()?)?;
        found.sort_by_key(|manifest| std::cmp::Reverse(manifest.salvage().id));
        Ok(found)
    })
    .await
}

/// The branch that a salvage was saved from, if the repo has it.
pub async fn branch_of_salvage(
    repo: &Arc<Repo>,
    id: SalvageId,
) -> Result<Option<BranchName>, Error> {
    in_store(repo, id, |_, saved| {
        Ok(saved.manifest.salvage().branch.clone())
    })
    .await
}

/// How many seconds of the daemon's own time a salvage has left.
pub fn salvage_expires_in(workspaces: &Workspaces, manifest: &Manifest, ttl: Duration) -> u64 {
    let ticks = workspaces.yard().ticks.since(Some(manifest.tick()));
    // Neither a clock that was set nor a damaged count of ticks makes it old: it must be by both.
    let wall = Timestamp::now().duration_since(manifest.salvage().at);
    let age = ticks.min(u64::try_from(wall.as_secs()).unwrap_or(0));
    ttl.as_secs().saturating_sub(age)
}

/// Lets go of salvages that were kept for `ttl`. Returns how many those were.
pub async fn expire_salvage(
    workspaces: &Workspaces,
    repo: &Arc<Repo>,
    ttl: Duration,
) -> Result<usize, Error> {
    let mut gone = 0;
    for manifest in salvages(repo).await? {
        if salvage_expires_in(workspaces, &manifest, ttl) > 0 {
            continue;
        }
        let salvage = manifest.salvage();
        drop_salvage(workspaces, repo, salvage.id).await?;
        tracing::info!(salvage = %salvage.id, repo = %salvage.repo, branch = %salvage.branch, at = %salvage.at, "a salvage expired");
        gone += 1;
    }
    Ok(gone)
}

/// One salvage with the files that it holds.
pub async fn read(
    workspaces: &Workspaces,
    repo: &Arc<Repo>,
    id: SalvageId,
) -> Result<Option<(Manifest, Vec<SalvagedFile>)>, Error> {
    let archives = workspaces.yard().archives.clone();
    in_store(repo, id, move |store, saved| {
        let files = git::salvaged_files(store, &saved, &archives)?;
        Ok((saved.manifest, files))
    })
    .await
}

/// The bytes of one file of a salvage.
pub async fn salvaged_file(
    repo: &Arc<Repo>,
    id: SalvageId,
    path: PathBuf,
) -> Result<Option<Vec<u8>>, Error> {
    let found = in_store(repo, id, move |store, saved| {
        Ok(git::salvaged_file(store, &saved, &path)?)
    });
    Ok(found.await?.flatten())
}

/// Lets go of a salvage for good. Returns whether this repo had it.
pub async fn drop_salvage(
    workspaces: &Workspaces,
    repo: &Arc<Repo>,
    id: SalvageId,
) -> Result<bool, Error> {
    let (archives, repo) = (workspaces.yard().archives.clone(), repo.clone());
    blocking(move || {
        if !repo.is_cloned() {
            return Ok(false);
        }
        let store = repo.open_store()?;
        // One that cannot be read can be let go of all the same.
        let is_here = Saved::is_named(&store, id)?;
        if is_here {
            let known = Saved::find(&store, id).ok().flatten();
            git::forget_salvage(&store, id, &archives)?;
            if let Some(saved) = known {
                tell_news(&repo, saved.manifest.salvage(), SalvageChange::Dropped);
            }
        }
        Ok(is_here)
    })
    .await
}

async fn in_store<T: Send + 'static>(
    repo: &Arc<Repo>,
    id: SalvageId,
    work: impl FnOnce(&Repository, Saved) -> Result<T, Error> + Send + 'static,
) -> Result<Option<T>, Error> {
    let repo = repo.clone();
    blocking(move || {
        if !repo.is_cloned() {
            return Ok(None);
        }
        let store = repo.open_store()?;
        let saved = find(&store, id)?;
        saved.map(|saved| work(&store, saved)).transpose()
    })
    .await
}

/// The salvage of this id, if the store has one. One that is there and cannot be read is damage that
/// somebody has to be told of.
pub(super) fn find(store: &Repository, id: SalvageId) -> Result<Option<Saved>, Error> {
    Saved::find(store, id).map_err(|error| {
        tracing::error!(salvage = %id, %error, "a salvage cannot be read");
        conflict("salvage_damaged", format!("salvage {id} cannot be read: {error}"))
            .field("salvage_id")
            .help("nothing of it was removed; `branchyard doctor --fix` brings back what the store can still read")
            .into()
    })
}

/// A workspace that stays as it is because of the work in it.
pub(super) fn has_work(workspace: &Workspace, work: &[String]) -> Problem {
    let (branch, work) = (workspace.branch(), work.join("; "));
    let detail = format!("the workspace of {branch} has work in it: {work}");
    conflict("workspace_has_work", detail).field("branch")
}

/// There is no salvage of this id.
pub fn no_salvage(id: SalvageId) -> Problem {
    Problem::new(
        ErrorKind::NotFound,
        "salvage_not_found",
        format!("there is no salvage {id}"),
    )
    .field("salvage_id")
    .help("GET /api/salvage or `branchyard salvage list` lists them; they are kept for `reaper.salvage_ttl`")
}
