//! Git verbs in a workspace: looks, which share its files beside whatever runs there, and changes,
//! each of which has the workspace to itself.

mod attempts;
mod begun;
mod branch;
mod checkout;
mod clean;
mod commit;
mod deliver;
mod fetch;
mod history;
mod look;
mod operation;
mod pull;
mod push;
mod reset;
mod resolve;
mod stash;
mod submodule;
mod tag;
mod upstream;
mod worktree;

pub use branch::{delete_branch, rename_to};
pub use checkout::check_out;
pub use clean::{clean_up, would_clean};
pub use commit::{commit, stage};
pub use deliver::deliver;
pub use fetch::fetch;
pub use history::{blame, bring_for, log, merge_preview};
pub use look::{diff, status};
pub use operation::{GoOn, go_on};
pub use pull::pull;
pub use push::{delete_on_remote, merged_on_remote, push, upload_before_push};
pub use reset::reset_head;
pub use resolve::resolve;
pub use stash::{change_stashes, look_at_stashes};
pub use submodule::move_submodules;
pub use tag::{change_tag, look_at_tags, verify_tag};
pub use worktree::worktrees;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use branchyard_git::Repository;

use crate::file_copy::or_dot;
use crate::files::beneath;
use crate::files_lock::ExclusiveFiles;

use super::error::conflict;
use super::{Error, Report, Reporter, Workspace, WorkspaceLock};
use crate::{FilesGuard, built_from, guard, prepare, standing, sync, unfilled};
use branchyard_git as git;
use branchyard_model::{About, Warning};

/// What a change means for those who read the workspace's files meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Neither files nor index nor HEAD change: only refs do that are no branch.
    Untouched,
    /// They stay as they are: reads go on.
    Stay,
    /// Single files are replaced at once: reads and builds go on, and see one or the other.
    Edited,
    /// They may change by our hand: reads wait, and never see half of it.
    Move,
    /// The work itself locks the files when it comes to that, for it also waits for others.
    Later,
}

/// The files, as they are held during a change.
enum Held {
    Later,
    Shared(#[expect(dead_code, reason = "held")] FilesGuard),
    Alone(#[expect(dead_code, reason = "held")] ExclusiveFiles),
}

/// Looks at the repository of a workspace that exists; the caller shares the files.
pub async fn look<T: Send + 'static>(
    workspace: &Arc<Workspace>,
    look: impl FnOnce(&Workspace, &Repository) -> Result<T, Error> + Send + 'static,
) -> Result<(About, T), Error> {
    workspace
        .looking(move |this| {
            let repo = this.worktree().open()?;
            let answer = look(this, &repo)?;
            // A look at the whole tree is not for every read.
            Ok((standing::standing(this, &repo, None)?, answer))
        })
        .await
}

/// Changes the workspace on behalf of `by`. It is made first where there is none. Once it has begun it comes to its
/// end, whatever becomes of the caller; the lock is released then. Without a lock it is done beside a command that runs
/// there, and so must not move files.
pub async fn change<T, Doing>(
    workspace: &Arc<Workspace>,
    lock: Option<WorkspaceLock>,
    (files, by): (Files, String),
    report: &Reporter,
    work: impl FnOnce(Arc<Workspace>, Reporter) -> Doing + Send + 'static,
) -> Result<(About, T), Error>
where
    T: Send + 'static,
    Doing: Future<Output = Result<T, Error>> + Send,
{
    drop(prepare::ensure(workspace, Instant::now(), report).await?);
    let (this, report) = (workspace.clone(), report.clone());
    workspace
        .uninterrupted(async move {
            let is_beside = lock.is_none();
            let _lock = lock;
            let _only_change = this.changes().lock().await;
            let _files = hold(&this, files).await;
            guard::guard(&this, &report)?;
            // A git that was killed leaves locks behind, and one that lives is soon done.
            sync::wait_for_index(&this).await?;
            let before = this.blocking(move |this| {
                let repo = this.worktree().open()?;
                standing::check_head(this, &repo, &git::head(&repo)?)?;
                if matches!(files, Files::Edited | Files::Move | Files::Later) {
                    built_from::note_files_changed(this)?;
                }
                // What cannot be told is the work's own to find.
                Ok(begun::under_way(&repo).unwrap_or_default())
            });
            let before = before.await?;
            let done = work(this.clone(), report.clone()).await;
            if done.is_ok() && matches!(files, Files::Edited | Files::Move | Files::Later) {
                fill_lfs(&this, files, &report).await;
            }
            let told = this.blocking(move |this| {
                // Beside a command that runs here it may have been that.
                if !is_beside {
                    begun::note(this, before.as_deref(), &by);
                }
                done.map_err(|error| begun::named(this, error))
            });
            let answer = told.await?;
            this.note(|_| {})?;
            Ok((standing::about(&this).await?, answer))
        })
        .await
}

/// Fills LFS files of which git wrote pointers. What was done is done, whatever becomes of that.
async fn fill_lfs(workspace: &Arc<Workspace>, files: Files, report: &Reporter) {
    let _shared = match files {
        Files::Later => Some(workspace.share_files().await),
        _ => None,
    };
    if let Err(error) = unfilled::fill(workspace, report).await {
        let warning = Warning::new("lfs_pointers", error.problem().detail);
        report(Report::Warning(warning));
    }
}

async fn hold(workspace: &Workspace, files: Files) -> Held {
    match files {
        Files::Later => Held::Later,
        Files::Untouched | Files::Stay | Files::Edited => {
            Held::Shared(workspace.share_files().await)
        }
        Files::Move => Held::Alone(workspace.files().lock().await),
    }
}

/// Looks at the repository of this workspace, and changes nothing.
async fn look_at_repository<T: Send + 'static>(
    workspace: &Arc<Workspace>,
    look: impl FnOnce(&Workspace, &Repository) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    workspace
        .looking(move |this| look(this, &this.worktree().open()?))
        .await
}

/// The paths that a caller named in `field`, each relative to the workspace and inside it, and not
/// behind a link that leads out of it. There need be nothing at them. Blocks.
pub fn inside(workspace: &Workspace, field: &str, paths: &[String]) -> Result<Vec<PathBuf>, Error> {
    let at_fault = |problem: branchyard_model::Problem| problem.field(field);
    let root = beneath::open_root(workspace)?;
    let mut inside = Vec::new();
    for path in paths {
        let path = beneath::relative(workspace, path).map_err(at_fault)?;
        beneath::check_parent(&root, &path).map_err(at_fault)?;
        inside.push(or_dot(&path).to_owned());
    }
    Ok(inside)
}

/// What git itself refused is nothing that went wrong inside: the caller is told its words.
pub(crate) fn in_gits_words(error: git::Error) -> Error {
    match error {
        git::Error::Refused { verb, stderr, .. } => {
            let detail = format!("git {verb} refused: {stderr}");
            conflict("git_refused", detail).into()
        }
        other => other.into(),
    }
}
