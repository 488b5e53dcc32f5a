//! A workspace without work follows its remote. What people write meanwhile stays, or is in the quarantine.

use std::path::PathBuf;
use std::sync::Arc;

use super::error::incomplete;
use super::{Error, Report, Reporter, Workspace};
use crate::{decide, fits, in_the_way, reset, settle, standing};
use branchyard_config::crash_point;
use branchyard_git::{self as git, Moved, Tips, contents, object_id};
use branchyard_model::{About, CommitId, ErrorKind, Phase, Problem, SyncMode, Warning};
use branchyard_runtime::disk::{Moment, Room};

/// How many of the files in the way are named.
const NAMED: usize = 5;

/// Moves branch, index and tracked files from the commit at which the workspace was seen to have no work, and not to have
/// any since `looked_at`. Untracked and ignored files stay; if one is in the way, nothing moves.
/// `None` if there is a commit that was made meanwhile. the caller holds the files exclusively.
pub(super) async fn follow(
    workspace: &Arc<Workspace>,
    mode: &SyncMode,
    [from, to]: [CommitId; 2],
    looked_at: Moment,
    report: &Reporter,
) -> Result<Option<About>, Error> {
    fits::check_fits(workspace, &to).await?;
    let [from, goal] = [object_id(&from)?, object_id(&to)?];
    let (in_the_way, gone) = workspace
        .with_repository(move |this, repo| {
            let gone = settle::make_way(this, repo, goal)?;
            let in_the_way = in_the_way::in_the_way_of_a_move(this, repo, goal, &gone)?;
            Ok((in_the_way, gone))
        })
        .await?;
    if !in_the_way.is_empty() {
        let stays = stay(workspace, mode, &to, &in_the_way, report).await;
        return stays.map(Some);
    }
    report(Report::Phase(Phase::Checkout, None));
    standing::begin_move(workspace, &to).await?;
    workspace
        .with_repository(move |this, repo| {
            settle::discard_in_the_way(this, &gone, looked_at)?;
            reset::set_aside(this, &git::changed_by_move(repo, goal)?, looked_at)
        })
        .await?;
    crash_point("move-begun");
    let git = workspace.repo().git();
    let seen = Tips {
        head: Some(from),
        branch: Some(from),
    };
    let moved = contents::move_to(workspace.worktree(), git, &to, seen).await;
    crash_point("move-moved");
    if let Ok(Moved::TipMoved) = moved {
        contents::fill_missing(workspace.worktree(), git).await?;
        standing::abandon_move(workspace).await?;
        return Ok(None);
    }
    let about = standing::about(workspace).await?;
    if moved.is_err() && about.dirty == Some(false) {
        // Nothing was touched, so nothing is half done.
        standing::abandon_move(workspace).await?;
    }
    match moved? {
        Moved::Done(Some(complaint)) if about.dirty != Some(false) => {
            Err(match Room::shortage_at(workspace.path()) {
                Some(shortage) => {
                    let detail = format!("some files of {to} could not be written; {shortage}");
                    Problem::new(ErrorKind::StorageFull, "disk_full", detail).into()
                }
                None => incomplete(to.as_str(), &complaint).into(),
            })
        }
        _ => {
            standing::finish_move(workspace, &to).await?;
            Ok(Some(about))
        }
    }
}

async fn stay(
    workspace: &Arc<Workspace>,
    mode: &SyncMode,
    target: &CommitId,
    in_the_way: &[PathBuf],
    report: &Reporter,
) -> Result<About, Error> {
    let named = in_the_way.iter().take(NAMED);
    let mut named: Vec<_> = named.map(|path| path.display().to_string()).collect();
    if in_the_way.len() > NAMED {
        named.push(format!("{} more", in_the_way.len() - NAMED));
    }
    let named = named.join(", ");
    if matches!(mode, SyncMode::Commit(_)) {
        let work = format!("files in the way of the new tree ({named})");
        return Err(decide::has_work(workspace, target, &work).into());
    }
    let detail = format!(
        "not moved to the remote's {target}: files stand in the way of the new tree: {named}"
    );
    report(Report::Warning(Warning::new("left_alone", detail)));
    standing::about(workspace).await
}
