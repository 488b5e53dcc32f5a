//! Bringing a workspace up to date, with its lock held. Nobody's work is ever moved: what stands in
//! the way is left alone and said.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::decide::{Plan, Remote};
use super::error::{branch_moves, conflict, incomplete, locked};
use super::reset::ROUNDS;
use super::{Error, Report, Reporter, Workspace};
use crate::repos::remote;
use crate::settle::Stragglers;
use crate::submodules::is_half_moved;
use crate::{
    FilesGuard, create, decide, fits, follow, guard, prepare, recover, reset, settle, standing,
    submodules, warm,
};
use branchyard_git as git;
use branchyard_model::{About, CommitId, Phase, SalvageReason, SyncMode, Warning};
use branchyard_process::Presence;
use branchyard_runtime::disk::Moment;

/// How long somebody else's git may hold the index, and how often that is looked at: there is nothing
/// to be woken by.
const INDEX_PATIENCE: Duration = Duration::from_secs(3);
const INDEX_POLL: Duration = Duration::from_millis(50);

/// What is asked of a workspace before something is done in it.
#[derive(Debug, Clone)]
pub struct PrepareOptions {
    pub sync: SyncMode,
    /// Untracked and ignored files go first.
    pub clean: bool,
    /// What was built in another workspace has no part in this one: it is not made from a sibling, and one that was is
    /// cleaned.
    pub cold: bool,
    /// Go on with what is there when the remote cannot be asked.
    pub stale: bool,
    /// What the remote said earlier than this is too old.
    pub not_before: Instant,
    /// Who asks.
    pub by: String,
}

impl PrepareOptions {
    /// The latest that the remote has, without touching anybody's work.
    pub fn up_to_date(by: &str, not_before: Instant) -> Self {
        Self {
            sync: SyncMode::Auto,
            clean: false,
            cold: false,
            stale: false,
            not_before,
            by: by.to_owned(),
        }
    }
}

/// What a workspace is about, and its files, held while that must stay true.
pub type Prepared = (About, FilesGuard);

/// Brings the workspace up to date, making it first where it is missing. The caller holds the workspace's lock.
/// Dropping the future is safe: what changes files goes on to its end by itself, and holds the files
/// until then.
pub async fn prepare(
    workspace: &Arc<Workspace>,
    options: &PrepareOptions,
    report: &Reporter,
) -> Result<Prepared, Error> {
    let once = || prepare_once(workspace, options, report);
    recover::retried(workspace, report, once).await
}

async fn prepare_once(
    workspace: &Arc<Workspace>,
    options: &PrepareOptions,
    report: &Reporter,
) -> Result<Prepared, Error> {
    if options.sync == SyncMode::None {
        return prepare_offline(workspace, report).await;
    }
    let files_guard =
        prepare::ensure_once(workspace, options.not_before, options.cold, report).await?;
    let options = &PrepareOptions {
        clean: options.clean || options.cold && warm::is_warm(workspace),
        ..options.clone()
    };
    report(Report::Phase(Phase::Sync, None));
    let remote = learn_remote(workspace, options, report).await?;
    let plan = decide::plan(workspace, &options.sync, &remote, options.stale).await?;
    let stays = matches!(plan, Plan::Stay(..));
    let goal = match plan {
        Plan::Stay(about, warning)
            if !options.clean && settle::is_settled(workspace, &about.commit) =>
        {
            report_warning(report, warning);
            return Ok((about, files_guard));
        }
        Plan::Stay(about, _) => Some(about.commit),
        Plan::Move { to, .. } | Plan::Reset(to, _) => Some(to),
        Plan::Unpark => None,
    };
    drop(files_guard);
    let settles = bring_submodules(workspace, (goal, stays), options.stale, report).await?;
    let (this, options, report) = (workspace.clone(), options.clone(), report.clone());
    workspace
        .uninterrupted(async move { rearrange(&this, &options, (&remote, settles), &report).await })
        .await
}

/// Fetches what submodules lack at this commit, before anybody has to wait for it. Returns whether they can follow.
async fn bring_submodules(
    workspace: &Arc<Workspace>,
    (goal, stays): (Option<CommitId>, bool),
    stale: bool,
    report: &Reporter,
) -> Result<bool, Error> {
    let Some(goal) = goal.filter(|goal| !settle::is_settled(workspace, goal)) else {
        return Ok(true);
    };
    let repo = workspace.repo();
    match repo.submodules().bring(repo.store(), &goal).await {
        Ok(_) => Ok(true),
        Err(error) if stale && error.is_remote() && !is_half_moved(workspace)? => {
            let detail = format!("going on with the submodules that are here: {error}");
            report(Report::Warning(Warning::new("stale", detail)));
            Ok(false)
        }
        // The commit was made here, in the submodule and in the workspace.
        Err(error) if stays && error.problem().code == "submodule_commit_missing" => {
            let detail = format!("submodules do not follow: {error}");
            report(Report::Warning(Warning::new("left_alone", detail)));
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

async fn prepare_offline(workspace: &Arc<Workspace>, report: &Reporter) -> Result<Prepared, Error> {
    prepare::find_again(workspace, report).await?;
    let files_guard = workspace.share_files().await;
    if !workspace.exists() {
        let detail = format!(
            "{} has no workspace yet, and `sync: none` may not make one",
            workspace.branch()
        );
        return Err(conflict("no_workspace", detail)
            .field("sync")
            .help("use `sync: auto`, or prepare the branch first")
            .into());
    }
    standing::check_owner(workspace)?;
    guard::guard(workspace, report)?;
    let about = workspace
        .blocking(|this| {
            let repo = this.worktree().open()?;
            standing::check_head(this, &repo, &git::head(&repo)?)?;
            let dirty = submodules::tracked_changes(this, &repo)?;
            if is_half_moved(this)? {
                let why = "submodules were cut off as they followed it";
                let head = git::head(&repo)?.commit;
                return Err(incomplete(&head.to_string(), why).into());
            }
            if let Some(target) = decide::cut_off_move(this, &repo, dirty)? {
                let why = "the last move was cut off, and `sync: none` may not complete it";
                return Err(incomplete(target.as_str(), why).into());
            }
            standing::standing(this, &repo, Some(dirty))
        })
        .await?;
    workspace.note(|_| {})?;
    Ok((about, files_guard))
}

async fn learn_remote(
    workspace: &Arc<Workspace>,
    options: &PrepareOptions,
    report: &Reporter,
) -> Result<Remote, Error> {
    if let SyncMode::Commit(commit) = &options.sync
        && let Some(head) = decide::remote_head_with(workspace, commit.clone()).await?
    {
        return Ok(Remote::Head(head));
    }
    let learned = async {
        let asked =
            remote::ask_lately(workspace.repo(), workspace.branch(), options.not_before).await?;
        prepare::bring(workspace, &asked, report).await?;
        Ok::<_, Error>(asked)
    };
    match learned.await {
        Ok(asked) => {
            workspace.note(|record| record.fetched_at = Some(asked.at))?;
            // The store may have learnt of something newer than the answer by now.
            Ok(standing::remote_tip(workspace)
                .await?
                .map_or(Remote::Absent, Remote::Head))
        }
        Err(error) if options.stale && error.is_remote() => {
            let detail = format!("going on with what is here: {error}");
            report(Report::Warning(Warning::new("stale", detail)));
            Ok(Remote::Unreachable)
        }
        Err(error) => Err(error),
    }
}

/// Moves files. What was decided without the files is decided again with it: a person may have
/// worked here meanwhile.
async fn rearrange(
    workspace: &Arc<Workspace>,
    options: &PrepareOptions,
    (remote, settles): (&Remote, bool),
    report: &Reporter,
) -> Result<Prepared, Error> {
    // Some changes are done beside a command, and may last longer than it did.
    let _only_change = workspace.changes().lock().await;
    let files_guard = workspace.files().lock().await;
    let _place = workspace.yard().checkouts.acquire().await;
    wait_for_index(workspace).await?;
    guard::guard(workspace, report)?;
    let mut cleaned = false;
    let mut rounds = 0..ROUNDS;
    let mut about = loop {
        if rounds.next().is_none() {
            return Err(branch_moves(workspace.branch()).into());
        }
        let looked_at = Moment::now();
        match decide::plan(workspace, &options.sync, remote, options.stale).await? {
            Plan::Unpark => unpark(workspace).await?,
            Plan::Reset(target, reason @ SalvageReason::CutOff) => {
                reset::reset(workspace, &target, reason, false, &options.by, report).await?;
            }
            Plan::Stay(about, warning) => {
                report_warning(report, warning);
                break about;
            }
            Plan::Move { from, to } => {
                let path = [from, to];
                let moved = follow::follow(workspace, &options.sync, path, looked_at, report);
                if let Some(about) = moved.await? {
                    break about;
                }
            }
            Plan::Reset(target, reason) => {
                cleaned = options.clean;
                fits::check_fits(workspace, &target).await?;
                let (clean, by) = (options.clean, &options.by);
                break reset::reset(workspace, &target, reason, clean, by, report).await?;
            }
        }
    };
    about.stale |= matches!(remote, Remote::Unreachable);
    if options.clean && !cleaned {
        reset::clean(workspace, &options.by, report).await?;
    }
    if settles {
        let stragglers = match options.sync {
            SyncMode::Commit(_) | SyncMode::Reset => Stragglers::Refused,
            SyncMode::Auto | SyncMode::None => Stragglers::Told,
        };
        settle::settle(workspace, stragglers, report).await?;
    }
    Ok((about, files_guard.downgrade()))
}

/// A person's own git may be at work here and is given a moment. A lock that nobody is behind goes;
/// the caller holds the files, so it is none of ours.
pub(super) async fn wait_for_index(workspace: &Arc<Workspace>) -> Result<(), Error> {
    let patience = Instant::now() + INDEX_PATIENCE;
    while let Some(held) = workspace.blocking(clear_own_locks).await? {
        if Instant::now() >= patience {
            return Err(locked(&held).into());
        }
        tokio::time::sleep(INDEX_POLL).await;
    }
    Ok(())
}

/// Removes the locks on this workspace and its branch that nobody is behind; one that somebody holds.
fn clear_own_locks(workspace: &Workspace) -> Result<Option<PathBuf>, Error> {
    let admin = workspace.worktree().admin();
    let store = workspace.repo().store().path();
    let own = [
        admin.join("index.lock"),
        admin.join("HEAD.lock"),
        // Git would move the files first, and then find that it cannot move the branch.
        store.join(format!("{}.lock", workspace.branch().local_ref())),
    ];
    if !own.iter().any(|lock| lock.exists()) {
        return Ok(None);
    }
    let presence = Presence::below(workspace.repo().home());
    let mut held = None;
    for lock in git::all_locks(workspace.repo().store())? {
        if !own.iter().any(|own| own == lock.path()) {
            continue;
        }
        match lock.is_held(&presence) {
            true => held = Some(lock.path().to_owned()),
            false => lock.remove(workspace.repo().git())?,
        }
    }
    Ok(held)
}

/// Gives a parked workspace its branch back. The caller holds the files.
async fn unpark(workspace: &Arc<Workspace>) -> Result<(), Error> {
    let _registry = workspace.repo().registry().lock().await;
    workspace
        .blocking(|this| {
            create::make_room(this, true)?;
            let store = this.repo().open_store()?;
            if git::unpark(&store, this.branch(), this.worktree().admin())? {
                return Ok(());
            }
            Err(standing::drifted(this, "another commit").into())
        })
        .await
}

fn report_warning(report: &Reporter, warning: Option<Warning>) {
    if let Some(warning) = warning {
        report(Report::Warning(warning));
    }
}
