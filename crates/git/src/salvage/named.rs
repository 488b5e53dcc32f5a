//! Which objects git's own files about a workspace name, and which of them nothing else does.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use git2::{Commit, Oid};

use crate::status::count;
use crate::{Error, Repository, Worktree, head};
use branchyard_runtime::disk::if_there;

/// How a log calls what makes a commit, and does not merely go to one.
const MAKING: [&[u8]; 12] = [
    b"commit",
    b"merge",
    b"pull",
    b"cherry-pick",
    b"revert",
    b"am:",
    b"rebase (pick",
    b"rebase (reword",
    b"rebase (edit",
    b"rebase (squash",
    b"rebase (fixup",
    b"rebase (continue",
];

/// Every object id in a file, such as a HEAD, a log or a list of picks.
pub(crate) fn ids_in(bytes: &[u8]) -> impl Iterator<Item = Oid> {
    bytes
        .split(|byte| !byte.is_ascii_hexdigit())
        .filter(|word| word.len() == 40)
        .filter_map(|word| Oid::from_str(std::str::from_utf8(word).ok()?).ok())
        .filter(|id| !id.is_zero())
}

/// Those of the commits that exist, without the parents of others among them: a walk from these meets the rest. Each commit
/// that a walk begins at makes all of its steps slower, and a log may name thousands.
fn newest(repo: &Repository, commits: &[Oid]) -> HashSet<Oid> {
    let found = commits.iter().map(|id| repo.git2().find_commit(*id));
    let found: Vec<_> = found.flatten().collect();
    let mut newest: HashSet<Oid> = found.iter().map(Commit::id).collect();
    for parent in found.iter().flat_map(Commit::parent_ids) {
        newest.remove(&parent);
    }
    newest
}

/// Of the commits that a log names, those that no remote branch has.
pub(super) fn unseen(repo: &Repository, logged: &[Oid]) -> Result<Vec<Oid>, Error> {
    let mut walk = repo.git2().revwalk()?;
    for id in newest(repo, logged) {
        walk.push(id)?;
    }
    walk.hide_glob("refs/remotes/*")?;
    let unseen: HashSet<Oid> = walk.collect::<Result<_, _>>()?;
    let logged = logged.iter().copied();
    Ok(logged.filter(|id| unseen.contains(id)).collect())
}

/// How many commits were made in this workspace, or are named by a ref of its own, and are not HEAD's, on
/// no branch, no remote's and in no salvage: with the workspace goes the last that names them.
pub fn left_behind(worktree: &Worktree) -> Result<usize, Error> {
    let repo = worktree.open()?;
    let mut walk = repo.git2().revwalk()?;
    for id in newest(&repo, &made_here(worktree.admin())?) {
        walk.push(id)?;
    }
    if let Ok(head) = head(&repo) {
        walk.hide(head.commit.git2())?;
    }
    for known in ["remotes", "heads", "tags", "branchyard"] {
        walk.hide_glob(&format!("refs/{known}/*"))?;
    }
    count(&mut walk)
}

fn made_here(admin: &Path) -> Result<Vec<Oid>, Error> {
    let mut made = Vec::new();
    let log = if_there(fs::read(admin.join("logs/HEAD")));
    let log = log.map_err(Error::io("read the log of the workspace"))?;
    for line in log.unwrap_or_default().split(|byte| *byte == b'\n') {
        let mut halves = line.splitn(2, |byte| *byte == b'\t');
        let (ids, how) = (halves.next(), halves.next().unwrap_or_default());
        if MAKING.iter().any(|making| how.starts_with(making)) {
            made.extend(ids.and_then(|ids| ids_in(ids).last()));
        }
    }
    let mut pending = vec![admin.join("refs")];
    while let Some(place) = pending.pop() {
        match fs::read_dir(&place) {
            Ok(entries) => pending.extend(entries.flatten().map(|entry| entry.path())),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                made.extend(ids_in(
                    &fs::read(&place).map_err(Error::io("read a ref of the workspace"))?,
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("read the refs of the workspace")(error)),
        }
    }
    Ok(made)
}
