//! A workspace without work follows its remote. What people write meanwhile stays, or is in the quarantine.

use std::path::PathBuf;
use std::sync::Arc;

use super::decide::oid;
use super::error::incomplete;
use super::{Error, Report, Reporter, Workspace};
use branchyard_config::crash_point;
use branchyard_git::{self as git, Moved, Tips};
use branchyard_model::{About, CommitId, ErrorKind, Phase, Problem, SyncMode, Warning};
use branchyard_runtime::disk::{Moment, Room};

/// How many of the files in the way are named.
const NAMED: usize = 5;

/// From the commit at which the workspace was seen to have no work, and not to have any since `looked_at`.
#[derive(Debug)]
pub(super) struct Step {
    pub from: CommitId,
    pub to: CommitId,
    pub looked_at: Moment,
}

impl Workspace {
    /// Moves branch, index and tracked files. Untracked and ignored files stay; if one is in the way, nothing moves.
    /// `None` if there is a commit that was made meanwhile. the caller holds the files exclusively.
    pub(super) async fn follow(
        self: &Arc<Self>,
        mode: &SyncMode,
        step: Step,
        report: &Reporter,
    ) -> Result<Option<About>, Error> {
        let Step {
            from,
            to,
            looked_at,
        } = step;
        self.check_fits(&to).await?;
        let [from, goal] = [oid(&from)?, oid(&to)?];
        let in_the_way = self
            .with_repository(move |this, repo| this.in_the_way_of_a_move(repo, goal))
            .await?;
        if !in_the_way.is_empty() {
            return self.stay(mode, &to, &in_the_way, report).await.map(Some);
        }
        report(Report::Phase(Phase::Checkout, None));
        self.seen(to.clone(), |seen, store, id| seen.begin_move(store, id))
            .await?;
        self.with_repository(move |this, repo| {
            this.set_aside(&git::changed_by_move(repo, goal)?, looked_at)
        })
        .await?;
        crash_point("move-begun");
        let git = self.repo.git();
        let seen = Tips {
            head: Some(from),
            branch: Some(from),
        };
        let moved = self.worktree.move_to(git, &to, seen).await;
        crash_point("move-moved");
        if let Ok(Moved::TipMoved) = moved {
            self.worktree.fill_by_git(git).await?;
            self.abandon_move(&to).await?;
            return Ok(None);
        }
        let about = self.about().await?;
        if moved.is_err() && about.dirty == Some(false) {
            // Nothing was touched, so nothing is half done.
            self.abandon_move(&to).await?;
        }
        match moved? {
            Moved::Done(Some(complaint)) if about.dirty != Some(false) => {
                Err(match Room::shortage_at(self.path()) {
                    Some(shortage) => {
                        let detail = format!("some files of {to} could not be written; {shortage}");
                        Problem::new(ErrorKind::StorageFull, "disk_full", detail).into()
                    }
                    None => incomplete(to.as_str(), &complaint).into(),
                })
            }
            _ => {
                self.seen(to, |seen, store, id| seen.finish_move(store, id))
                    .await?;
                Ok(Some(about))
            }
        }
    }

    async fn stay(
        self: &Arc<Self>,
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
            return Err(self.has_work(target, &work).into());
        }
        let detail = format!(
            "not moved to the remote's {target}: files stand in the way of the new tree: {named}"
        );
        report(Report::Warning(Warning::new("left_alone", detail)));
        self.about().await
    }

    async fn abandon_move(self: &Arc<Self>, target: &CommitId) -> Result<(), Error> {
        self.seen(target.clone(), |seen, store, _| seen.abandon_move(store))
            .await
    }
}
