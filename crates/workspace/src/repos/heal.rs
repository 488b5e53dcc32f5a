//! A store whose objects are damaged or gone. What the remote has is cloned anew; what only the damaged
//! store has is copied over, as far as it can be read; then the two `objects` directories change places in
//! one step. Refs, logs and the workspaces' registrations stay where they are, so that whoever works there
//! hardly notices. The damaged objects stay in the quarantine, with the refs as they were.
//!
//! A daemon that is killed on the way leaves either the old objects in place, and the room that was made
//! for nothing goes, or the new ones, which carry a mark, and the next start does the rest.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::blocking::blocking;
use super::{Progress, Repo, RepoError};
use branchyard_config::crash_point;
use branchyard_git::{self as git, ObjectId, Store};
use branchyard_model::{BranchName, Phase, Warning};
use branchyard_runtime::disk::if_there;

/// In new objects until all is settled: the room that the old ones are in.
const MARK: &str = "branchyard-room";
/// In a room for as long as nothing that anybody could miss is in it.
const UNUSED: &str = "unused";
/// The damaged store's place in its room.
const KEPT: &str = "store.git";
/// More than a commit takes, from its first object to its ref.
const SECOND_LOOK_AFTER: Duration = Duration::from_secs(1);

/// Whether the store lacks something that anybody needs, or cannot read the files of `branch`. Costs
/// a walk through all history, so it is asked only after something failed.
async fn is_damaged(this: &Arc<Repo>, branch: Option<&BranchName>) -> Result<bool, RepoError> {
    if !git::is_connected(this.git(), this.store()).await? {
        return Ok(true);
    }
    let Some(branch) = branch.cloned() else {
        return Ok(false);
    };
    let repo = this.clone();
    blocking(move || {
        let store = repo.open_store()?;
        let mut needed: Vec<ObjectId> = Vec::new();
        for name in [branch.local_ref(), branch.remote_ref()] {
            needed.extend(git::read_ref(&store, &name)?);
        }
        Ok(!git::is_readable(repo.store(), &needed))
    })
    .await
}

/// Replaces the store's objects if they are damaged. Returns whether they were, with a warning for
/// whoever asked. The caller holds the registry lock.
pub async fn heal(
    this: &Arc<Repo>,
    branch: Option<&BranchName>,
    progress: Progress<'_>,
) -> Result<Option<Warning>, RepoError> {
    let suspect = this.health().take_suspicion();
    if !suspect && this.health().was_looked_at_lately() {
        return Ok(None);
    }
    // A fetch under way writes into the objects that are about to be exchanged.
    let _network = this.network().lock().await;
    let _upkeep = this.upkeep().lock().await;
    this.guard_store()?;
    finish_healing(this).await?;
    if !is_damaged(this, branch).await? {
        return Ok(None);
    }
    // People commit when they like, and a ref may have been seen before its objects. Real damage stays.
    tokio::time::sleep(SECOND_LOOK_AFTER).await;
    if !is_damaged(this, branch).await? {
        tracing::warn!(repo = %this.name(), "the store seemed damaged, and is not");
        return Ok(None);
    }
    tracing::error!(repo = %this.name(), "the store is damaged: cloning anew");
    let healed = replace_objects(this, progress).await;
    if healed.is_err() {
        this.suspect();
    }
    let (lost, room) = healed?;
    let detail = format!(
        "the repository's objects were damaged and were cloned anew; the damaged ones are kept in {}{}",
        room.display(),
        match lost.is_empty() {
            true => "; nothing was lost".to_owned(),
            false => format!("; lost: {}", lost.join("; ")),
        }
    );
    let warning = Warning::new("store_healed", detail);
    tracing::warn!(repo = %this.name(), warning = %warning.message);
    Ok(Some(warning))
}

/// Whether a look has to be taken at the store before anything else is done with it.
pub fn is_suspect(repo: &Repo) -> bool {
    repo.health().is_suspect()
}

async fn replace_objects(
    repo: &Arc<Repo>,
    progress: Progress<'_>,
) -> Result<(Vec<String>, PathBuf), RepoError> {
    let why = "damaged objects, with the refs and logs of their time";
    let room = repo
        .quarantine()
        .make_room(repo.name().dir().as_str(), repo.store().path(), why)
        .map_err(RepoError::io("make room in the quarantine"))?;
    match fill_room(repo, &room, progress).await {
        Ok(lost) => Ok((lost, room)),
        Err(error) => {
            // Before the exchange nothing of anybody's is in there.
            if room.join(UNUSED).exists()
                && !is_marked(repo)
                && let Err(error) = fs::remove_dir_all(&room)
            {
                tracing::warn!(path = %room.display(), %error, "failed to clear a clone that was of no use");
            }
            Err(error)
        }
    }
}

async fn fill_room(
    this: &Arc<Repo>,
    room: &Path,
    progress: Progress<'_>,
) -> Result<Vec<String>, RepoError> {
    fs::write(room.join(UNUSED), "").map_err(RepoError::io("make room in the quarantine"))?;
    progress(Phase::Clone, Some(0));
    let fresh = Store::fetch_anew(
        this.git(),
        this.config().url.as_str(),
        &room.join(KEPT),
        |percent| progress(Phase::Clone, Some(percent)),
    )
    .await?;
    git::rescue_objects(this.git(), this.store().path(), &fresh).await?;
    crash_point("objects-rescued");
    let (repo, room) = (this.clone(), room.to_owned());
    let remote = {
        let room = room.clone();
        blocking(move || {
            let remote = git::remote_refs(&fresh)?;
            keep_refs(&repo, &room).map_err(RepoError::io("keep the refs of a damaged store"))?;
            let objects = fresh.path().join("objects");
            fs::write(objects.join(MARK), room.as_os_str().as_encoded_bytes())
                .map_err(RepoError::io("mark the new objects"))?;
            crash_point("objects-marked");
            git::exchange(&repo.store().path().join("objects"), &objects)?;
            crash_point("objects-exchanged");
            Ok(remote)
        })
        .await?
    };
    // Somebody may have committed meanwhile.
    git::rescue_objects(this.git(), &room.join(KEPT), this.store()).await?;
    let repo = this.clone();
    blocking(move || {
        let lost = git::settle_refs(repo.store(), &remote)?;
        crash_point("refs-settled");
        unmark(&repo, &room)?;
        Ok(lost)
    })
    .await
}

/// The refs as they are now, in the place of the fresh ones: with the damaged objects they make a
/// repository that can be looked into.
fn keep_refs(repo: &Repo, room: &Path) -> io::Result<()> {
    let kept = room.join(KEPT);
    for name in ["refs", "logs", "packed-refs"] {
        let (from, to) = (repo.store().path().join(name), kept.join(name));
        if to.is_dir() {
            fs::remove_dir_all(&to)?;
        } else if to.exists() {
            fs::remove_file(&to)?;
        }
        copy(&from, &to)?;
    }
    fs::create_dir_all(kept.join("refs"))
}

fn mark(repo: &Repo) -> PathBuf {
    repo.store().path().join("objects").join(MARK)
}

fn is_marked(repo: &Repo) -> bool {
    mark(repo).exists()
}

fn unmark(repo: &Repo, room: &Path) -> Result<(), RepoError> {
    if_there(fs::remove_file(room.join(UNUSED)))
        .and_then(|_| if_there(fs::remove_file(mark(repo))))
        .map(drop)
        .map_err(RepoError::io("finish with a damaged store"))
}

/// Does the rest where new objects are in place, but what refers to them was not looked at.
async fn finish_healing(this: &Arc<Repo>) -> Result<(), RepoError> {
    if !is_marked(this) {
        return Ok(());
    }
    let room = fs::read_to_string(mark(this))
        .map(PathBuf::from)
        .map_err(RepoError::io("read the mark of new objects"))?;
    tracing::warn!(repo = %this.name(), room = %room.display(), "finishing with a damaged store");
    git::rescue_objects(this.git(), &room.join(KEPT), this.store()).await?;
    let repo = this.clone();
    let lost = blocking(move || {
        let lost = git::settle_refs(repo.store(), &BTreeMap::new())?;
        unmark(&repo, &room)?;
        Ok(lost)
    })
    .await?;
    if !lost.is_empty() {
        tracing::error!(repo = %this.name(), lost = lost.join("; "), "some of a damaged store is lost");
    }
    Ok(())
}

/// Finishes what a daemon that was killed had begun; to be called at start.
pub async fn resume_healing(this: &Arc<Repo>) -> Result<(), RepoError> {
    if this.is_cloned() {
        this.guard_store()?;
    }
    finish_healing(this).await?;
    let prefix = format!("{}-", this.name().dir());
    let rooms = this
        .quarantine()
        .contents()
        .map_err(RepoError::io("look into the quarantine"))?;
    for (room, note) in rooms {
        let is_ours = room
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
            && note.is_some_and(|note| note.was == this.store().path());
        if is_ours && room.join(UNUSED).exists() {
            tracing::warn!(repo = %this.name(), room = %room.display(), "a clone that was never put to use is removed");
            fs::remove_dir_all(&room).map_err(RepoError::io("clear a room of the quarantine"))?;
        }
    }
    Ok(())
}

/// Copies a file or a whole directory, if it is there.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let Some(meta) = if_there(fs::symlink_metadata(from))? else {
        return Ok(());
    };
    if !meta.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
