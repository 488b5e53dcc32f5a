//! A warm start: a new workspace is made from a sibling, so that its first build has only the difference to
//! do. Sources and build output are copied with their times, then what differs is checked out and so is newer
//! than all that was built: `make` and its like see exactly what they would see in the sibling itself.
//!
//! The new workspace is marked as `preparing` until all of it is there. Whatever goes wrong on the way, a plain
//! checkout is made instead.

mod copy;
mod dependencies;
mod elf;
mod lent;
mod naming;
mod output;
mod proof;
mod seed;
mod sources;
mod stale_outputs;
mod tracked;

use std::fs;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::record::BuiltFrom;
use super::{Error, Report, Reporter, Workspace, build_output};
use crate::fill;
use branchyard_config::{WarmStart, crash_point};
use branchyard_git::{self as git, Difference, ObjectId, contents};
use branchyard_model::{CommitId, Phase, Warm};
use branchyard_runtime::disk::if_there;
use copy::Copies;
use seed::Seed;

/// How many files a thread takes at a time: neighbours are mostly in one directory.
const AT_ONCE: usize = 64;

/// What was copied, and what is left to do.
struct Copied {
    warm: Warm,
    /// The commit that the workspace is made for.
    goal: CommitId,
    difference: Difference,
    /// How many paths the sibling has.
    tracked: usize,
    /// What its build output was made of.
    built_from: BuiltFrom,
}

/// Writes all files of HEAD into a worktree that is being prepared, from a sibling where one serves.
pub(super) async fn fill_from_nearest(
    workspace: &Arc<Workspace>,
    report: &Reporter,
) -> Result<(), Error> {
    if workspace.repo().config().warm == WarmStart::Nearest {
        match fill_warm(workspace, report).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "no warm start: checked out instead");
                workspace.blocking(empty).await?;
            }
        }
    }
    fill::fill(workspace, report).await
}

/// Whether what somebody else built may be here: it was made from a sibling, and never cleaned since.
pub fn is_warm(workspace: &Workspace) -> bool {
    workspace
        .record()
        .is_some_and(|record| record.warm.is_some())
}

/// Whether something that was copied or built earlier may be here: a command finds more than its commit.
pub fn is_incremental(workspace: &Workspace) -> bool {
    let record = workspace.record();
    record.is_none_or(|record| record.warm.is_some() || record.built_from != BuiltFrom::nothing())
}

/// Notes that all that was copied or built is gone.
pub(super) fn forget_output(workspace: &Workspace) -> Result<(), Error> {
    let record = workspace.record();
    let is_known = record
        .is_some_and(|record| record.warm.is_none() && record.built_from == BuiltFrom::nothing());
    match is_known {
        true => Ok(()),
        false => workspace.change_record(|record| {
            record.warm = None;
            record.built_from = BuiltFrom::nothing();
        }),
    }
}

/// Notes that a command here is given a secret: what it leaves behind goes to no other branch.
pub fn note_secret(workspace: &Workspace) {
    let known = workspace.record().is_some_and(|record| record.had_secret);
    if known {
        return;
    }
    if let Err(error) = workspace.change_record(|record| record.had_secret = true) {
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "that a secret was given is not written down");
    }
}

/// Whether it was made from a sibling. An error means that something may have been copied.
async fn fill_warm(workspace: &Arc<Workspace>, report: &Reporter) -> Result<bool, Error> {
    // The semaphore is never closed.
    let _place = workspace.yard().checkouts.acquire().await;
    let began = Instant::now();
    let tell = report.clone();
    let copied = workspace
        .blocking(move |this| copy_nearest(this, &tell))
        .await?;
    let Some(mut copied) = copied else {
        return Ok(false);
    };
    crash_point("create-copied");
    if !copied.difference.changes.is_empty() {
        report(Report::Phase(Phase::Checkout, None));
        let git = workspace.repo().git();
        contents::advance(workspace.worktree(), git, &copied.warm.commit, &copied.goal).await?;
    }
    let warm = workspace
        .blocking(move |this| {
            proof::prove(this, &copied)?;
            copied.warm.ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let (warm, built_from) = (copied.warm.clone(), copied.built_from.clone());
            this.change_record(|record| {
                record.warm = Some(warm);
                record.built_from = built_from;
            })?;
            this.worktree().mark_whole()?;
            Ok(copied.warm)
        })
        .await?;
    tracing::info!(repo = %workspace.repo().name(), branch = %workspace.branch(), from = %warm.branch, files = warm.files, bytes = warm.bytes, differing = warm.differing, ms = warm.ms, "warm start");
    report(Report::Warm(warm));
    Ok(true)
}

/// Copies what the first of the nearest siblings has that serves; `None` if there is none.
fn copy_nearest(workspace: &Workspace, report: &Reporter) -> Result<Option<Copied>, Error> {
    // A branch that was here before is where it was, whatever the remote has.
    let goal = git::head(&workspace.worktree().open()?)?.commit;
    for candidate in seed::nearest(workspace, goal)? {
        let branch = candidate.branch.clone();
        match Seed::take(workspace, candidate, goal) {
            Ok(Ok(seed)) => {
                report(Report::Phase(Phase::Warm, None));
                return copy_from(workspace, seed, goal).map(Some);
            }
            Err(error) => {
                tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), sibling = %branch, %error, "a sibling cannot be looked at");
            }
            Ok(Err(why)) => {
                tracing::debug!(repo = %workspace.repo().name(), branch = %workspace.branch(), sibling = %branch, why, "not made from this sibling");
            }
        }
    }
    Ok(None)
}

fn copy_from(workspace: &Workspace, seed: Seed, goal: ObjectId) -> Result<Copied, Error> {
    let admin = workspace.worktree().admin();
    let has_output = !seed.output.is_empty();
    if has_output {
        // What is born until its end is nobody's work here, as it is not there.
        build_output::note_begin(admin).map_err(Error::io("note the begin of a copy"))?;
    }
    let copies = Copies::new(&seed, workspace.path())?;
    let stats = copies.tracked()?;
    let output = copies.output()?;
    if has_output {
        build_output::note_end(admin, jiff::Timestamp::now())
            .map_err(Error::io("note the end of a copy"))?;
    }
    if !seed.is_unattended() {
        return Err(disturbed("somebody began to work there"));
    }
    seed.index
        .write_with(&admin.join("index"), &stats)
        .map_err(Error::io("write the index of a copy"))?;
    let tracked = seed.index.entries().len();
    Ok(Copied {
        warm: Warm {
            branch: seed.lent.workspace().branch().clone(),
            commit: seed.commit.clone(),
            files: tracked as u64 + output.files,
            bytes: seed.tracked.bytes() + output.bytes,
            differing: seed.difference.changes.len() as u64,
            ms: 0,
        },
        goal: git::commit_id(goal)?,
        difference: seed.difference,
        tracked,
        built_from: seed.built_from,
    })
}

/// Takes away what was copied.
fn empty(workspace: &Workspace) -> Result<(), Error> {
    let clear = || {
        for entry in fs::read_dir(workspace.path())? {
            let entry = entry?;
            if entry.file_name() == ".git" {
                continue;
            }
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if_there(match is_dir {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            })?;
        }
        let admin = workspace.worktree().admin();
        for name in ["index", "index.lock", build_output::FILE] {
            if_there(fs::remove_file(admin.join(name)))?;
        }
        Ok(())
    };
    clear().map_err(Error::io("clear what was copied"))
}

/// A copy that cannot be trusted, because its original changed meanwhile.
fn disturbed(why: &str) -> Error {
    Error::io("copy a sibling")(io::Error::other(why.to_owned()))
}
