//! Reading the files of a held worktree. Nothing changes them, so that no lock is needed.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::beneath::FileRoot;
use super::change::MAX_CHANGED;
use super::search::until_over;
use super::{FilePart, Grep, ListRequest, Listing, Matches, ReadRequest};
use crate::Error;
use crate::blocking::blocking;
use crate::scratch::HeldScratch;
use branchyard_git::{CommitTree, object_id};
use branchyard_model::sha256;

pub async fn list(held: &Arc<HeldScratch>, request: ListRequest) -> Result<Listing, Error> {
    let held = held.clone();
    blocking(move || super::list::list_in(&FileRoot::of_held(&held)?, &request)).await
}

/// Reads a part of a file, at most `max` bytes of it.
pub async fn read(
    held: &Arc<HeldScratch>,
    request: ReadRequest,
    max: usize,
) -> Result<FilePart, Error> {
    let held = held.clone();
    let read = move || {
        let (path, mut part) = super::read::read_in(&FileRoot::of_held(&held)?, &request, max)?;
        let committed = committed(&held, &path)?.map(|content| sha256(&content));
        part.modified = committed.is_none() || committed != part.sha256;
        Ok(part)
    };
    blocking(read).await
}

/// The file as the commit has it; none of one that is too large to be compared.
fn committed(held: &HeldScratch, path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let Some(commit) = held.commit() else {
        return Ok(None);
    };
    let store = held.repo().open_store()?;
    let tree = CommitTree::of(&store, object_id(&commit)?)?;
    let most = usize::try_from(MAX_CHANGED).unwrap_or(usize::MAX);
    Ok(tree.read(path, most).unwrap_or_default())
}

/// Searches the files, until all is found or the caller went away.
pub async fn grep(held: &Arc<HeldScratch>, grep: Grep) -> Result<Matches, Error> {
    let nobody_waits = CancellationToken::new();
    let _waiting = nobody_waits.clone().drop_guard();
    let held = held.clone();
    blocking(move || grep.search(&FileRoot::of_held(&held)?, &until_over(&nobody_waits))).await
}
