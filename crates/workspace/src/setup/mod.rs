//! The set-up of a workspace: what its commands make is kept, and copied into every workspace with the same key.
//!
//! What a set-up made is as much to be trusted as the files that it ran among. So a protected branch takes only what was
//! made in the workspace of a protected branch, when that was exactly a commit which the remote has on this branch. Other
//! branches take what any of them made. What was made where a secret was in use, or among files that changed meanwhile,
//! stays where it is.

mod inputs;
mod kept;

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::error::conflict;
use crate::file_copy::open_dir;
use crate::files::beneath;
use crate::record::{MadeAt, SetUp};
use crate::work::Look;
use crate::{Error, Workspace, build_output, built_from, fits, standing, taint, work};
use branchyard_config::{BRANCH_FILE, Setup, crash_point};
use branchyard_git::verbs::conflicts::Working;
use branchyard_git::{self as git, IndexFile};
use branchyard_runtime::disk::{Moment, if_there};
use kept::KeptSetup;
pub(crate) use kept::KeptSetups;

/// Where copies are made before they take their places, beside what git keeps of the worktree.
const STAGING: &str = "branchyard-setup";

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
        .looking(move |this| inputs::digest(this, &setup))
        .await
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
            let is_there = |path: &&Path| this.path().join(path).symlink_metadata().is_ok();
            Ok(done.key == key
                && !(cold && done.copied)
                && paths(&setup).iter().all(is_there)
                && may_stay(this, &done)?)
        })
        .await
}

/// What came to a branch before it was protected does not stay.
fn may_stay(workspace: &Workspace, done: &SetUp) -> Result<bool, Error> {
    if !workspace.repo().protects(workspace.branch()) {
        return Ok(true);
    }
    match &done.made_at {
        Some(made_at) => may_take(workspace, made_at),
        None => Ok(done.was_protected),
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
    let Some(chosen) = choose(workspace, key)? else {
        return Ok(false);
    };
    clear(workspace, setup)?;
    let commit = match &chosen.made_at {
        MadeAt::Commit(commit) => Some(commit),
        MadeAt::OpenBranch => None,
    };
    built_from::note_built_from(workspace, commit)?;
    let admin = workspace.worktree().admin();
    build_output::note_begin(admin).map_err(failed())?;
    let copied = copy(workspace, setup, |paths, staging| {
        let kept = &workspace.yard().setups;
        kept.copy_to(&chosen, paths, staging).map_err(failed())
    });
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

/// Of what is kept under `key`, what this branch may have: of two, what is for more branches.
fn choose(workspace: &Workspace, key: &str) -> Result<Option<KeptSetup>, Error> {
    let kept = &workspace.yard().setups;
    let found = kept.find(workspace.repo().name(), key);
    let mut chosen = None;
    for found in found.map_err(Error::io("look for the outputs of the set-up"))? {
        let is_open = found.made_at == MadeAt::OpenBranch;
        if may_take(workspace, &found.made_at)? && (chosen.is_none() || !is_open) {
            chosen = Some(found);
        }
    }
    Ok(chosen.filter(|chosen| fits::has_plenty_beside(workspace, chosen.amount)))
}

/// Whether there is something for [`take`] to copy.
pub async fn is_kept(workspace: &Arc<Workspace>, key: &Key) -> Result<bool, Error> {
    let key = key.all.clone();
    workspace
        .blocking(move |this| Ok(choose(this, &key)?.is_some()))
        .await
}

/// Has `fetch` put the outputs into a directory outside of the worktree, and moves each to its place once all are whole.
fn copy(
    workspace: &Workspace,
    setup: &Setup,
    fetch: impl FnOnce(&[&Path], &Path) -> Result<bool, Error>,
) -> Result<bool, Error> {
    let failed = || Error::io("copy the outputs of the set-up");
    let trash = &workspace.yard().trash;
    let staging = workspace.worktree().admin().join(STAGING);
    if_there(trash.take(&staging, &"setup")).map_err(failed())?;
    fs::create_dir(&staging).map_err(failed())?;
    let paths = paths(setup);
    let put = || {
        if !fetch(&paths, &staging)? {
            return Ok(false);
        }
        crash_point("setup-copied");
        let (files, copies) = (Working::open(workspace.path())?, Working::open(&staging)?);
        for path in &paths {
            if staging.join(path).symlink_metadata().is_ok()
                && !files.take_in(&copies, path).map_err(failed())?
            {
                return Err(
                    in_the_way(path, "something else stands there, or a link on the way").into(),
                );
            }
        }
        Ok(true)
    };
    let done = put();
    if let Err(error) = trash.take(&staging, &"setup") {
        tracing::warn!(%error, "what is left of a copy stays until the next one");
    }
    done
}

/// Whether this branch may have what was made there.
fn may_take(workspace: &Workspace, made_at: &MadeAt) -> Result<bool, Error> {
    if !workspace.repo().protects(workspace.branch()) {
        return Ok(true);
    }
    let MadeAt::Commit(commit) = made_at else {
        return Ok(false);
    };
    let store = workspace.repo().open_store()?;
    let commit = git::object_id(commit)?;
    let tip = git::read_ref(&store, &workspace.branch().remote_ref())?;
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
            this.blocking(move |this| clear(this, &setup)).await?;
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
    let paths = paths(setup);
    let is_missing = |path: &&&Path| workspace.path().join(path).symlink_metadata().is_err();
    if let Some(missing) = paths.iter().find(is_missing) {
        let detail = format!("its commands succeeded, and made no {}", missing.display());
        return Err(conflict("setup_incomplete", detail)
            .help("outputs of the set-up names what its commands make")
            .into());
    }
    // What was made while they changed is of neither.
    let is_as_it_was = inputs::digest(workspace, setup)? == key.inputs;
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
    let (kept, trash) = (&workspace.yard().setups, &workspace.yard().trash);
    let has_room = |amount| fits::has_plenty_beside(workspace, amount);
    let place = (workspace.repo().name(), workspace.branch());
    let unkept = kept.keep(
        place,
        (&key.all, &made_at),
        &paths,
        workspace.path(),
        has_room,
    );
    if let Err(error) = kept.prune(trash, false) {
        tracing::warn!(repo = %workspace.repo().name(), %error, "outputs of set-ups that are not used stay");
    }
    Ok(unkept.unwrap_or_else(|error| Some(error.to_string())))
}

/// Takes away what is at the outputs. What is tracked there, or is work, is left alone.
fn clear(workspace: &Workspace, setup: &Setup) -> Result<(), Error> {
    let (outputs, looked_at) = (paths(setup), Moment::now());
    check_untracked(workspace, &outputs)?;
    // From here on what is there is not what a set-up made, whole.
    if workspace
        .record()
        .is_some_and(|record| record.setup.is_some())
    {
        workspace.change_record(|record| record.setup = None)?;
    }
    let is_there = |path: &&&Path| workspace.path().join(path).symlink_metadata().is_ok();
    let there: Vec<&Path> = outputs.iter().filter(is_there).copied().collect();
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
    let root = beneath::open_root(workspace)?;
    for output in there {
        // By the directory that it is in, which no link can lead away from.
        let failed = || Error::io("make room for the set-up");
        let parent = output.parent().unwrap_or(Path::new(""));
        let parent = open_dir(&root, parent).map_err(failed())?;
        let name = output.file_name().unwrap_or_default();
        let place = PathBuf::from(format!("/proc/self/fd/{}", parent.as_raw_fd()));
        let real = fs::read_link(&place).map_err(failed())?.join(name);
        let taken = workspace.yard().trash.take_seen(&real, &"setup", looked_at);
        if_there(taken).map_err(failed())?;
    }
    Ok(())
}

fn check_untracked(workspace: &Workspace, outputs: &[&Path]) -> Result<(), Error> {
    let index = workspace.worktree().admin().join("index");
    let Some(index) = IndexFile::read_any(&index).map_err(Error::io("read the index"))? else {
        return Ok(());
    };
    for entry in index.entries() {
        let path = index.path(entry);
        if outputs.iter().any(|output| is_at_or_in(path, output)) {
            let path = String::from_utf8_lossy(path);
            return Err(in_the_way(Path::new(&*path), "git tracks it").into());
        }
    }
    Ok(())
}

fn in_the_way(path: &Path, why: &str) -> branchyard_model::Problem {
    let detail = format!("the set-up would replace {}: {why}", path.display());
    conflict("setup_in_the_way", detail)
        .help("outputs of the set-up names what its commands make, and nothing else")
}

fn is_at_or_in(path: &[u8], output: &Path) -> bool {
    let output = output.as_os_str().as_encoded_bytes();
    let rest = path.strip_prefix(output);
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

fn paths(setup: &Setup) -> Vec<&Path> {
    let outputs = setup.outputs.iter();
    outputs.map(|output| Path::new(output.as_str())).collect()
}
