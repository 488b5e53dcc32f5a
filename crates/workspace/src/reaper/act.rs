//! Doing what was planned, one workspace at a time. Whoever asks for a workspace meanwhile wins, or waits
//! for a moment and gets a fresh one: what is not free at once is left for another time, and nothing is
//! deleted in place.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::files_lock::ExclusiveFiles;
use crate::{
    Error, Going, Workspace, WorkspaceLock, Workspaces, guard, pin, remove, silent, sizes, work,
};

use super::Reaper;
use super::report::Outcome;
use crate::record::Record;
use crate::repos::{Repo, Source};
use crate::scratch::is_scratch;
use crate::work::Look;
use branchyard_process::is_in_use;

pub(super) const IN_USE: &str = "a process has its working directory or an open file there";

const REGISTRY_PATIENCE: Duration = Duration::from_secs(1);

const BUSY: &str = "somebody came to use it";

/// What a store of ours may hold; anything else in it was put there by somebody for something.
const OF_A_STORE: [&str; 17] = [
    "HEAD",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "config",
    "config.worktree",
    "branchyard.json",
    "description",
    "packed-refs",
    "shallow",
    "branches",
    "modules",
    "hooks",
    "info",
    "logs",
    "objects",
    "refs",
    "worktrees",
];

/// Everything that keeps others out of a workspace.
type Alone = (WorkspaceLock, ExclusiveFiles);

/// Takes the workspace's locks if all of them are free and nobody used it since it was judged by `found`.
fn try_be_alone(workspace: &Workspace, found: &Record) -> Result<Alone, String> {
    let lock = workspace.queue().try_lock("reap", "daemon").ok_or(BUSY)?;
    let files = workspace.files().try_lock().ok_or(BUSY)?;
    if !workspace.exists() {
        return Err("it is gone already".to_owned());
    }
    if let Some(run) = workspace.helpers().first() {
        return Err(format!("run {run} is at work there, in the background"));
    }
    let record = workspace.record();
    if record.is_none_or(|record| record.last_used != found.last_used) {
        return Err(BUSY.to_owned());
    }
    Ok((lock, files))
}

fn check_unused(workspace: &Workspace) -> Result<(), String> {
    match (pin::pinned(workspace), is_in_use(workspace.path())) {
        (Some(pin), _) => Err(pin.says()),
        (None, true) => Err(IN_USE.to_owned()),
        (None, false) => Ok(()),
    }
}

/// Removes the workspace if it is free and nothing in it would be missed.
pub(super) async fn reap(workspace: &Arc<Workspace>, found: &Record) -> Outcome {
    let (this, found, bytes) = (workspace.clone(), found.clone(), found.size());
    let done = workspace.uninterrupted(async move {
        let alone = match try_be_alone(&this, &found) {
            Ok(alone) => alone,
            Err(why) => return Ok(Outcome::Kept { why }),
        };
        // Readers wait meanwhile, so this does not wait for long.
        let registry = tokio::time::timeout(REGISTRY_PATIENCE, this.repo().registry().lock()).await;
        let Ok(_registry) = registry else {
            let why = "other workspaces of the repository are being made".to_owned();
            return Ok(Outcome::Kept { why });
        };
        let gone = this
            .blocking(move |this| {
                guard::guard(this, &silent())?;
                // Scanner once more for pins, work and processes.
                remove::take_away(this, Going::Unmissed, "daemon")?;
                Ok(Outcome::Done { bytes })
            })
            .await;
        drop(alone);
        gone
    });
    Outcome::of(done.await)
}

/// Drops the build output that git ignores, if the workspace is free.
pub(super) async fn reap_build_output(workspace: &Arc<Workspace>, found: &Record) -> Outcome {
    let (this, found) = (workspace.clone(), found.clone());
    let done = workspace.uninterrupted(async move {
        let alone = match try_be_alone(&this, &found) {
            Ok(alone) => alone,
            Err(why) => return Ok(Outcome::Kept { why }),
        };
        let dropped = this
            .blocking(|this| match check_unused(this) {
                Ok(()) => drop_build_output(this),
                Err(why) => Ok(Outcome::Kept { why }),
            })
            .await;
        drop(alone);
        dropped
    });
    Outcome::of(done.await)
}

fn drop_build_output(workspace: &Workspace) -> Result<Outcome, Error> {
    guard::guard(workspace, &silent())?;
    let output = work::belongings(workspace, &workspace.worktree().open()?, Look::Whole)?.output;
    let mut dropped = 0;
    for output in output.iter().filter(|output| output.ignored) {
        let path = workspace.path().join(&output.item.path);
        if holds_a_repository(&path) {
            continue;
        }
        let name = format!("{}-output", workspace.branch().dir());
        workspace
            .yard()
            .trash
            .take(&path, &name)
            .map_err(Error::io("move build output to the trash"))?;
        dropped += 1;
    }
    if dropped == 0 {
        let why = "there is no build output that may go".to_owned();
        return Ok(Outcome::Kept { why });
    }
    let before = workspace.record().map_or(0, |record| record.size());
    let after = sizes::measure_now(workspace)?;
    Ok(Outcome::Done {
        bytes: before.saturating_sub(after.total()),
    })
}

/// Whether somebody's repository lies in there, or may do so: then it is more than build output.
fn holds_a_repository(path: &Path) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        return false;
    }
    let Ok(entries) = fs::read_dir(path) else {
        return true;
    };
    entries.flatten().any(|entry| {
        entry.file_name() == ".git"
            || (entry.file_type().is_ok_and(|kind| kind.is_dir())
                && holds_a_repository(&entry.path()))
    })
}

/// Discards a store that nobody uses and nothing keeps. The next request clones it anew.
pub(super) async fn discard_store(reaper: &Reaper, repo: &Arc<Repo>, bytes: u64) -> Outcome {
    let kept = |why: &str| Outcome::Kept {
        why: why.to_owned(),
    };
    let (Ok(_registry), Ok(_network)) = (repo.registry().try_lock(), repo.network().try_lock())
    else {
        return kept(BUSY);
    };
    let (workspaces, of) = (reaper.workspaces.clone(), repo.clone());
    let discard = move || {
        if let Some(why) = kept_store(&workspaces, &of) {
            return Ok(Outcome::Kept { why });
        }
        if is_in_use(of.home()) {
            return Ok(kept(IN_USE));
        }
        match workspaces.while_nobody_uses(of.name(), || remove::discard(&workspaces, &of)) {
            Some(discarded) => discarded.map(|()| Outcome::Done { bytes }),
            None => Ok(kept(BUSY)),
        }
    };
    let outcome = match tokio::task::spawn_blocking(discard).await {
        Ok(done) => Outcome::of(done),
        Err(error) => kept(&error.to_string()),
    };
    if matches!(outcome, Outcome::Done { .. }) {
        reaper.workspaces.yard().ticks.forget_store(repo.name());
    }
    outcome
}

/// Why a store has to stay, its last use apart. Blocks.
pub(super) fn kept_store(workspaces: &Workspaces, repo: &Repo) -> Option<String> {
    if !repo.config().prewarm.is_empty() {
        return Some("the configuration wants branches of it prewarmed".to_owned());
    }
    if *repo.source() == Source::Found {
        return Some("nothing but the store itself says where it was cloned from".to_owned());
    }
    match remove::left_of(workspaces, repo) {
        Ok(left) if left.is_empty() => {}
        Ok(left) => return Some(format!("it has {}", left.join(", "))),
        Err(error) => return Some(format!("it cannot be looked at: {error}")),
    }
    let entries = match fs::read_dir(repo.store().path()) {
        Ok(entries) => entries,
        Err(error) => return Some(format!("it cannot be looked at: {error}")),
    };
    let names = |entries: fs::ReadDir| {
        let names = entries.flatten().map(|entry| entry.file_name());
        names.map(|name| name.to_string_lossy().into_owned())
    };
    // A workspace whose directory is gone may have left an index, a rebase or a commit behind.
    let registered = fs::read_dir(repo.store().path().join("worktrees"));
    let strange: Vec<String> = names(entries)
        .filter(|name| !OF_A_STORE.contains(&name.as_str()))
        .chain(registered.into_iter().flat_map(names))
        .filter(|name| !is_scratch(name))
        .collect();
    (!strange.is_empty()).then(|| format!("there is {} in it", strange.join(", ")))
}
