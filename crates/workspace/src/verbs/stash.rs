//! Stashes of this workspace's branch. The list is shared by all workspaces of the repo, so whatever
//! changes it holds the registry lock.

use std::sync::Arc;

use super::in_gits_words;
use crate::error::conflict;
use crate::in_the_way::in_gits_way;
use crate::salvage::{SalvageScope, tell};
use crate::work::Look;
use crate::{Error, Reporter, Workspace, included, reset, salvage, standing, verbs, work};
use branchyard_config::crash_point;
use branchyard_git::verbs::checkout::{self, Source};
use branchyard_git::verbs::stash::{self, Action, Item, Request, Stashed};
use branchyard_git::verbs::{
    Kept, Named, Verbosity, add, conflicted, operation_under_way, unresolved,
};
use branchyard_git::{self as git, ObjectId, Repository, Stash};
use branchyard_model::SalvageReason;
use branchyard_runtime::disk::Moment;

/// The stashes of this branch, or what is in one. Blocks.
pub fn look_at_stashes(
    workspace: &Workspace,
    repo: &Repository,
    request: &Request,
) -> Result<Stashed, Error> {
    if request.action == Action::Show {
        let found = stash_named(workspace, repo, request, true)?;
        let is_full = request.verbosity == Verbosity::Full;
        return Ok(Stashed {
            stash: Some(Item::of(repo, workspace.branch(), &found)?),
            files: Some(stash::files(repo, found.commit)?),
            patch: is_full
                .then(|| stash::patch(repo, found.commit))
                .transpose()?,
            ..Stashed::of(Action::Show)
        });
    }
    let own = work::stashes(workspace, repo);
    let items = own
        .iter()
        .map(|stash| Item::of(repo, workspace.branch(), stash));
    Ok(Stashed {
        stashes: Some(items.collect::<Result<_, _>>()?),
        ..Stashed::of(Action::List)
    })
}

/// Pushes, pops, applies or drops. the caller holds the files exclusively.
pub async fn change_stashes(
    workspace: &Arc<Workspace>,
    request: Request,
    by: &str,
    report: &Reporter,
) -> Result<Stashed, Error> {
    let _registry = workspace.repo().registry().lock().await;
    match request.action {
        Action::Push => push_stash(workspace, request).await,
        Action::Drop => drop_stash(workspace, request, by, report).await,
        _ => apply_stash(workspace, request).await,
    }
}

async fn push_stash(workspace: &Arc<Workspace>, request: Request) -> Result<Stashed, Error> {
    let (asked, looked_at) = (request.clone(), Moment::now());
    let named = workspace
        .with_repository(move |this, repo| {
            let named = Named::new(verbs::inside(this, "paths", &asked.paths)?);
            check_stashable(this, repo, &named, asked.include_untracked)?;
            if asked.include_untracked {
                included::check_untracked(this, repo)?;
            }
            Ok(named)
        })
        .await?;
    let git = workspace.repo().git();
    let listed = stash::list(git, workspace.worktree(), &named, request.include_untracked).await;
    let changes = listed.map_err(in_gits_words)?;
    let saved = stash::save(
        git,
        workspace.worktree(),
        &changes,
        request.message.as_deref(),
    )
    .await;
    let Some(made) = saved.map_err(in_gits_words)? else {
        let detail = "no tracked file has changes to put aside";
        return Err(conflict("nothing_to_stash", detail)
            .help("`include_untracked: true` takes new files, too")
            .into());
    };
    crash_point("stash-listed");
    let (head, tracked) = (changes.head, changes.tracked.clone());
    workspace
        .blocking(move |this| {
            reset::set_aside(this, changes.tracked.iter().chain(&changes.new), looked_at)
        })
        .await?;
    if !tracked.is_empty() {
        for source in [Source::Staging(head), Source::Index] {
            let put_back = checkout::checkout(git, workspace.path(), source, &tracked).await;
            put_back.map_err(in_gits_words)?;
        }
    }
    workspace
        .with_repository(move |this, repo| {
            let mut listed = git::stashes(repo).into_iter();
            let made = listed.find(|stash| stash.commit == made);
            let made = made.ok_or_else(gone_from_list)?;
            Ok(Stashed {
                stash: Some(Item::of(repo, this.branch(), &made)?),
                still_listed: Some(true),
                files: (request.verbosity > Verbosity::Minimal)
                    .then(|| stash::files(repo, made.commit))
                    .transpose()?,
                ..Stashed::of(Action::Push)
            })
        })
        .await
}

/// Refuses what git would stash only in part, or lose.
fn check_stashable(
    workspace: &Workspace,
    repo: &Repository,
    named: &Named,
    new_ones: bool,
) -> Result<(), Error> {
    let head = git::head(repo)?;
    if let Some(operation) = head.operation {
        return Err(operation_under_way(operation).into());
    }
    // Without a branch nobody could tell whose stash it is.
    if head.branch.as_deref() != Some(workspace.branch().as_str()) {
        return Err(standing::drifted(workspace, "a detached commit").into());
    }
    let open = conflicted(repo)?;
    if !open.is_empty() {
        return Err(unresolved(&open).into());
    }
    let belongings = work::belongings(workspace, repo, Look::Whole)?;
    let untracked = in_gits_way(repo, head.commit, &belongings)?;
    if !untracked.is_empty() {
        let names: Vec<_> = untracked
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        return Err(stash::stands_in_the_way(&names).into());
    }
    stash::check_paths(repo, named, new_ones)?;
    let overlooked = stash::overlooked(repo, named)?;
    if !overlooked.is_empty() {
        return Err(stash::would_be_lost(&overlooked).into());
    }
    if new_ones {
        let embedded = add::embedded(repo, workspace.path(), named, false)?;
        if !embedded.is_empty() {
            return Err(add::embedded_repositories(&embedded).into());
        }
    }
    Ok(())
}

async fn apply_stash(workspace: &Arc<Workspace>, request: Request) -> Result<Stashed, Error> {
    let asked = request.clone();
    let (found, item) = workspace
        .with_repository(move |this, repo| {
            let may_be_dropped = asked.action == Action::Apply;
            let found = stash_named(this, repo, &asked, may_be_dropped)?;
            let open = conflicted(repo)?;
            if !open.is_empty() {
                return Err(unresolved(&open).into());
            }
            stash::check_changes(repo, found.commit)?;
            let untracked = stash::in_the_way(repo, found.commit)?;
            if !untracked.is_empty() {
                return Err(stash::stands_in_the_way(&untracked).into());
            }
            let item = Item::of(repo, this.branch(), &found)?;
            Ok((found, item))
        })
        .await?;
    let (git, dir) = (workspace.repo().git(), workspace.path());
    let refusal = stash::apply(git, dir, found.commit, request.index).await?;
    let conflicts = workspace
        .with_repository(|_, repo| Ok(conflicted(repo)?))
        .await?;
    if let Some(words) = refusal.filter(|_| conflicts.is_empty()) {
        let detail = format!("the stash does not fit on what is here: {words}");
        return Err(conflict("local_changes", detail)
            .help(
                "commit what is here or put it aside first; without `index: true` less has to fit",
            )
            .into());
    }
    if request.action == Action::Pop && conflicts.is_empty() {
        drop_listed(workspace, found.commit).await?;
    }
    let id = found.commit;
    workspace
        .with_repository(move |this, repo| {
            Ok(Stashed {
                stash: Some(item),
                still_listed: Some(
                    work::stashes(this, repo)
                        .iter()
                        .any(|stash| stash.commit == id),
                ),
                files: (request.verbosity > Verbosity::Minimal)
                    .then(|| stash::files(repo, id))
                    .transpose()?,
                conflicts: Some(conflicts),
                ..Stashed::of(request.action)
            })
        })
        .await
}

async fn drop_stash(
    workspace: &Arc<Workspace>,
    request: Request,
    by: &str,
    report: &Reporter,
) -> Result<Stashed, Error> {
    let by = by.to_owned();
    let (found, item, saved) = workspace
        .with_repository(move |this, repo| {
            let found = stash_named(this, repo, &request, false)?;
            let item = Item::of(repo, this.branch(), &found)?;
            let work = vec![format!("the stash {}: {}", found.commit, found.message)];
            let belongings = work::belongings(this, repo, Look::Whole)?;
            let reason = SalvageReason::Stash;
            let saved =
                salvage::salvage(this, work, &belongings, SalvageScope::Tracked, reason, &by)?;
            Ok((found, item, saved))
        })
        .await?;
    tell(report, Some(&saved));
    drop_listed(workspace, found.commit).await?;
    Ok(Stashed {
        stash: Some(item),
        still_listed: Some(false),
        kept: Some(Kept::from(&saved)),
        ..Stashed::of(Action::Drop)
    })
}

async fn drop_listed(workspace: &Arc<Workspace>, stash: ObjectId) -> Result<(), Error> {
    let removed = workspace.with_repository(move |_, repo| Ok(stash::remove(repo, stash)?));
    removed.await
}

/// The stash of this branch that was asked for; none of another's.
fn stash_named(
    workspace: &Workspace,
    repo: &Repository,
    request: &Request,
    may_be_dropped: bool,
) -> Result<Stash, Error> {
    let mut own = work::stashes(workspace, repo).into_iter();
    let found = match request.stash.as_deref() {
        None => own.next(),
        Some(wanted) => own
            .find(|stash| stash.commit.to_string() == wanted)
            .or_else(|| {
                let id = ObjectId::parse(wanted).filter(|_| may_be_dropped)?;
                stash::dropped(repo, workspace.branch(), id)
            }),
    };
    let missing = || stash::no_such_stash(request.stash.as_deref(), workspace.branch());
    Ok(found.ok_or_else(missing)?)
}

/// A command of a person's own took it back in the same moment.
fn gone_from_list() -> Error {
    conflict(
        "stash_not_found",
        "the stash was made, and dropped again by another command",
    )
    .help("action list shows what there is")
    .into()
}
