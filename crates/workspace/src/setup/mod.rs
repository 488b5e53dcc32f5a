//! The set-up of a workspace: what its commands make is kept, and copied into every workspace with the same key.
//!
//! What a set-up made is as much to be trusted as the files that it ran among. So a protected branch takes only what was
//! made in the workspace of a protected branch, when that was exactly a commit which the remote has on this branch. Other
//! branches take what any of them made. What was made where a secret was in use, or among files that changed meanwhile,
//! stays where it is.

mod inputs;
mod kept;
mod outputs;

use std::sync::Arc;

use jiff::Timestamp;

use crate::record::{MadeAt, SetUp};
use crate::repos::Repo;
use crate::work::Look;
use crate::{Error, Workspace, build_output, built_from, fits, standing, taint, work};
use branchyard_config::{BRANCH_FILE, Setup};
use branchyard_git as git;
use branchyard_model::BranchName;
use branchyard_runtime::disk::Moment;
pub(crate) use inputs::digest;
pub use inputs::{declared, declared_at, digest_at};
pub(crate) use kept::{Keeping, KeptSetup, KeptSetups};
pub(crate) use outputs::Outputs;
use outputs::in_the_way;

/// What a set-up is known by.
#[derive(Debug, Clone)]
pub struct Key {
    /// All that decides what it makes.
    pub all: String,
    /// What of that is in the workspace: see [`digest_inputs`].
    pub inputs: String,
}

/// Where what a set-up is about to make may be used; not outside of its workspace, where that is not known.
#[derive(Debug)]
pub struct Origin(Option<MadeAt>);

/// The set-up that the branch's own file declares, where it has one.
pub async fn of_branch(workspace: &Arc<Workspace>) -> Result<Option<String>, Error> {
    workspace
        .looking(|this| inputs::branch_file(this, BRANCH_FILE))
        .await
}

/// A digest of what the inputs of a set-up are in this workspace.
pub async fn digest_inputs(workspace: &Arc<Workspace>, setup: &Setup) -> Result<String, Error> {
    let setup = setup.clone();
    workspace
        .looking(move |this| digest_now(this, &setup))
        .await
}

fn digest_now(workspace: &Workspace, setup: &Setup) -> Result<String, Error> {
    let index = workspace.worktree().admin().join("index");
    digest(workspace.path(), &index, setup)
}

/// Whether the outputs that belong to `key` were put here, may be here, and are still there; for a `cold` run, whether
/// they were made here.
pub async fn is_done(
    workspace: &Arc<Workspace>,
    setup: &Setup,
    key: &Key,
    cold: bool,
) -> Result<bool, Error> {
    let (setup, key) = (setup.clone(), key.all.clone());
    workspace
        .looking(move |this| {
            let Some(done) = this.record().and_then(|record| record.setup) else {
                return Ok(false);
            };
            Ok(done.key == key
                && !(cold && done.copied)
                && outputs(this, &setup).missing().is_none()
                && may_stay(this, &done)?)
        })
        .await
}

/// What came to a branch before it was protected does not stay.
fn may_stay(workspace: &Workspace, done: &SetUp) -> Result<bool, Error> {
    let is_protected = workspace.repo().protects(workspace.branch());
    match &done.made_at {
        Some(made_at) => may_take(
            (workspace.repo(), workspace.branch()),
            is_protected,
            made_at,
        ),
        None => Ok(done.was_protected || !is_protected),
    }
}

/// Copies the outputs of `key` into the workspace, where they are kept and this branch may have them; false if not. The
/// caller holds the workspace's lock, and not its files.
pub async fn take(workspace: &Arc<Workspace>, setup: &Setup, key: &Key) -> Result<bool, Error> {
    let (this, setup, key) = (workspace.clone(), setup.clone(), key.all.clone());
    workspace
        .uninterrupted(async move {
            // The semaphore is never closed.
            let _place = this.yard().checkouts.acquire().await;
            let _files = this.files().lock().await;
            this.blocking(move |this| take_now(this, &setup, &key))
                .await
        })
        .await
}

fn take_now(workspace: &Workspace, setup: &Setup, key: &str) -> Result<bool, Error> {
    let failed = || Error::io("copy the outputs of the set-up");
    let Some(chosen) = choose_for(workspace, key)? else {
        return Ok(false);
    };
    let outputs = outputs(workspace, setup);
    clear(workspace, &outputs)?;
    let commit = match &chosen.made_at {
        MadeAt::Commit(commit) => Some(commit),
        MadeAt::OpenBranch => None,
    };
    built_from::note_built_from(workspace, commit)?;
    let admin = workspace.worktree().admin();
    build_output::note_begin(admin).map_err(failed())?;
    let copied = outputs.bring(&workspace.yard().setups, &chosen);
    build_output::note_end(admin, Timestamp::now()).map_err(failed())?;
    if !copied? {
        return Ok(false);
    }
    workspace.change_record(|record| {
        record.setup = Some(SetUp {
            key: key.to_owned(),
            made_at: Some(chosen.made_at),
            was_protected: workspace.repo().protects(workspace.branch()),
            copied: true,
        });
    })?;
    Ok(true)
}

fn choose_for(workspace: &Workspace, key: &str) -> Result<Option<KeptSetup>, Error> {
    let is_protected = workspace.repo().protects(workspace.branch());
    let who = (&**workspace.repo(), workspace.branch());
    choose(&workspace.yard().setups, who, is_protected, key)
}

/// Of what is kept under `key`, what this branch may have: of two, what is for more branches.
pub(crate) fn choose(
    kept: &KeptSetups,
    (repo, branch): (&Repo, &BranchName),
    is_protected: bool,
    key: &str,
) -> Result<Option<KeptSetup>, Error> {
    let found = kept.find(repo.name(), key);
    let mut chosen = None;
    for found in found.map_err(Error::io("look for the outputs of the set-up"))? {
        let is_open = found.made_at == MadeAt::OpenBranch;
        let may_take = may_take((repo, branch), is_protected, &found.made_at)?;
        if may_take && (chosen.is_none() || !is_open) {
            chosen = Some(found);
        }
    }
    Ok(chosen.filter(|chosen| fits::has_plenty_beside(repo, chosen.amount)))
}

/// Whether there is something for [`take`] to copy.
pub async fn is_kept(workspace: &Arc<Workspace>, key: &Key) -> Result<bool, Error> {
    let key = key.all.clone();
    workspace
        .blocking(move |this| Ok(choose_for(this, &key)?.is_some()))
        .await
}

/// Whether a branch may have what was made there.
fn may_take(
    (repo, branch): (&Repo, &BranchName),
    is_protected: bool,
    made_at: &MadeAt,
) -> Result<bool, Error> {
    if !is_protected {
        return Ok(true);
    }
    let MadeAt::Commit(commit) = made_at else {
        return Ok(false);
    };
    let store = repo.open_store()?;
    let commit = git::object_id(commit)?;
    let tip = git::read_ref(&store, &branch.remote_ref())?;
    let (Some(tip), true) = (tip, git::has_commit(&store, commit)) else {
        return Ok(false);
    };
    Ok(git::is_ancestor(&store, commit, tip)?)
}

/// Makes room for what the set-up is about to make here, and finds out where that may be used. The caller holds the
/// workspace's lock, and not its files.
pub async fn begin(workspace: &Arc<Workspace>, setup: &Setup) -> Result<Origin, Error> {
    let (this, setup) = (workspace.clone(), setup.clone());
    workspace
        .uninterrupted(async move {
            let _files = this.files().lock().await;
            this.blocking(move |this| clear(this, &outputs(this, &setup)))
                .await?;
            origin(&this).await.map(Origin)
        })
        .await
}

/// Where what is made here now may be used.
async fn origin(workspace: &Arc<Workspace>) -> Result<Option<MadeAt>, Error> {
    if workspace.record().is_none_or(|record| record.had_secret) {
        return Ok(None);
    }
    if !workspace.repo().protects(workspace.branch()) {
        return Ok(Some(MadeAt::OpenBranch));
    }
    let Some(tip) = standing::remote_tip(workspace).await? else {
        return Ok(None);
    };
    let taint = taint::taint(workspace, tip.clone()).await?;
    Ok(taint.is_none().then_some(MadeAt::Commit(tip)))
}

/// Notes that the commands of `key` have succeeded here, and keeps what they made for other workspaces. Returns why that
/// is not kept, in words. The caller holds the workspace's lock, and not its files.
pub async fn finish(
    workspace: &Arc<Workspace>,
    setup: &Setup,
    key: &Key,
    Origin(began_at): Origin,
) -> Result<Option<String>, Error> {
    let (this, setup, key) = (workspace.clone(), setup.clone(), key.clone());
    // The next run waits for the files lock until the outputs are kept.
    workspace
        .uninterrupted(async move {
            let _files = this.files().lock().await;
            let made_at = match began_at {
                Some(began_at) if origin(&this).await?.as_ref() == Some(&began_at) => {
                    Some(began_at)
                }
                _ => None,
            };
            this.blocking(move |this| finish_now(this, &setup, &key, made_at))
                .await
        })
        .await
}

fn finish_now(
    workspace: &Workspace,
    setup: &Setup,
    key: &Key,
    made_at: Option<MadeAt>,
) -> Result<Option<String>, Error> {
    let outputs = outputs(workspace, setup);
    outputs.check_whole()?;
    // What was made while they changed is of neither.
    let is_as_it_was = digest_now(workspace, setup)? == key.inputs;
    let made_at = made_at.filter(|_| is_as_it_was);
    workspace.change_record(|record| {
        record.setup = Some(SetUp {
            key: key.all.clone(),
            made_at: made_at.clone(),
            was_protected: workspace.repo().protects(workspace.branch()),
            copied: false,
        });
    })?;
    let Some(made_at) = made_at else {
        return Ok(None);
    };
    let place = (&**workspace.repo(), workspace.branch());
    let keeping = outputs.keep(&workspace.yard().setups, place, (&key.all, &made_at));
    Ok(match keeping {
        Keeping::Kept(_) | Keeping::Known => None,
        Keeping::No(why) => Some(why),
    })
}

/// Takes away what is at the outputs. What is tracked there, or is work, is left alone.
fn clear(workspace: &Workspace, outputs: &Outputs<'_>) -> Result<(), Error> {
    let looked_at = Moment::now();
    outputs.check_untracked()?;
    // From here on what is there is not what a set-up made, whole.
    if workspace
        .record()
        .is_some_and(|record| record.setup.is_some())
    {
        workspace.change_record(|record| record.setup = None)?;
    }
    let there = outputs.there();
    if there.is_empty() {
        return Ok(());
    }
    let repo = workspace.worktree().open()?;
    let found = work::belongings(workspace, &repo, Look::Whole)?;
    let mut own = found.files.iter().chain(&found.repositories);
    let own = own.find(|own| there.iter().any(|output| own.path.starts_with(output)));
    if let Some(own) = own {
        let mut problem = in_the_way(&own.path, "no run made it");
        problem.help = Some(
            "move it elsewhere; or the operator names it in build_output, where it is none of anyone's work".to_owned(),
        );
        return Err(problem.into());
    }
    outputs.discard(&there, looked_at)
}

fn outputs<'a>(workspace: &'a Workspace, setup: &'a Setup) -> Outputs<'a> {
    Outputs {
        setup,
        root: workspace.path(),
        admin: workspace.worktree().admin(),
        trash: &workspace.yard().trash,
    }
}
