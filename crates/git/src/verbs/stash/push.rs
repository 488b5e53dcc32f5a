//! Making a stash without touching a file: git itself reads, and then replaces, with all the time in between for a person
//! to save once more. The commits are those that git would make.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Index, Oid, Signature};

use super::input;
use crate::verbs::Named;
use crate::verbs::commit::subject;
use crate::verbs::person::text;
use crate::{Error, Git, ObjectId, Worktree, differing, head};

/// In git's own files about a workspace.
const INDEX: &str = "branchyard.stash";

/// What is to be put aside.
#[derive(Debug)]
pub struct Changes {
    pub head: ObjectId,
    /// Tracked files that are not as HEAD has them, in the index or in their place.
    pub tracked: Vec<PathBuf>,
    /// New ones.
    pub new: Vec<PathBuf>,
}

/// The changes that `named` covers.
pub async fn list(
    git: &Git,
    worktree: &Worktree,
    named: &Named,
    include_untracked: bool,
) -> Result<Changes, Error> {
    let new = match include_untracked {
        true => untracked(git, worktree.path()).await?,
        false => Vec::new(),
    };
    let repo = worktree.open()?;
    let head = head(&repo)?.commit;
    let tracked = differing(&repo, head)?.into_iter();
    Ok(Changes {
        head,
        tracked: tracked.filter(|path| named.covers(path)).collect(),
        new: new.into_iter().filter(|path| named.covers(path)).collect(),
    })
}

async fn untracked(git: &Git, dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let listed = git
        .in_worktree(dir)
        .args(["ls-files", "--others", "--exclude-standard", "-z"])
        .output()
        .await?;
    let names = listed.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    Ok(names.map(|name| OsStr::from_bytes(name).into()).collect())
}

/// Saves `changes` as a stash of `branch`, and lists it; `None` where there is nothing to save.
pub async fn save(
    git: &Git,
    worktree: &Worktree,
    changes: &Changes,
    message: Option<&str>,
) -> Result<Option<ObjectId>, Error> {
    let tracked = tree_on_index(git, worktree, &changes.tracked).await?;
    let new = match changes.new.is_empty() {
        true => None,
        false => {
            let file = worktree.admin().join(INDEX);
            let _began = Scratch(&file);
            Some(tree_with(git, worktree, &file, &changes.new).await?)
        }
    };
    let Some((stash, title)) = commit(worktree, changes.head.git2(), (tracked, new), message)?
    else {
        return Ok(None);
    };
    store(git, worktree.path(), ObjectId::of(stash), &title).await?;
    Ok(Some(ObjectId::of(stash)))
}

/// The tree of the worktree's index with `paths` as they are now. The caller holds the registry lock.
pub(crate) async fn tree_on_index(
    git: &Git,
    worktree: &Worktree,
    paths: &[PathBuf],
) -> Result<Oid, Error> {
    let file = worktree.admin().join(INDEX);
    let staged = worktree.admin().join("index");
    let _began = Scratch(&file);
    if staged.exists() {
        copy_index(&staged, &file).map_err(Error::io("copy the index"))?;
    }
    tree_with(git, worktree, &file, paths).await
}

/// Puts a stash at the head of the list.
pub async fn store(git: &Git, dir: &Path, stash: ObjectId, title: &str) -> Result<(), Error> {
    git.in_worktree(dir)
        .args(["stash", "store", "--quiet", "--message", title])
        .arg(stash.to_string())
        .run()
        .await
}

/// Copies an index with its time. By that git knows which files were written in the same second as it was: their
/// entries are not trusted. To a younger copy they would pass for unchanged.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let written = fs::metadata(from)?.modified()?;
    File::options().write(true).open(to)?.set_modified(written)
}

/// An index beside the workspace's own, for as long as it is needed.
struct Scratch<'a>(&'a Path);

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // The next one is written over it.
        let _ = fs::remove_file(self.0);
    }
}

/// The tree of the index at `file` with `paths` as they are now.
async fn tree_with(
    git: &Git,
    worktree: &Worktree,
    file: &Path,
    paths: &[PathBuf],
) -> Result<Oid, Error> {
    git.in_worktree(worktree.path())
        .env("GIT_INDEX_FILE", file.to_string_lossy())
        .args(["update-index", "--add", "--remove", "-z", "--stdin"])
        .input(input::paths(paths)?)
        .output()
        .await?;
    Ok(Index::open(file)?.write_tree_to(worktree.open()?.git2())?)
}

/// The commits of a stash, in git's words; with what the list calls it.
fn commit(
    worktree: &Worktree,
    head: Oid,
    (tracked, new): (Oid, Option<Oid>),
    message: Option<&str>,
) -> Result<Option<(Oid, String)>, Error> {
    let repo = worktree.open()?;
    let on = repo.git2().find_commit(head)?;
    let staged = repo.fresh_index()?.write_tree()?;
    if new.is_none() && [staged, tracked] == [on.tree_id(); 2] {
        return Ok(None);
    }
    let branch = worktree.branch();
    let short = text(&on.as_object().short_id()?);
    let made_on = format!("{branch}: {short} {}", subject(&on));
    let title = match message {
        Some(message) => format!("On {branch}: {message}"),
        None => format!("WIP on {made_on}"),
    };
    let who = repo
        .git2()
        .signature()
        .or_else(|_| Signature::now("Branchyard", "branchyard@localhost"))?;
    let make = |text: &str, id: Oid, parents: &[&git2::Commit<'_>]| {
        let tree = repo.git2().find_tree(id)?;
        repo.git2().commit(None, &who, &who, text, &tree, parents)
    };
    let mut parents = vec![make(&format!("index on {made_on}\n"), staged, &[&on])?];
    if let Some(new) = new {
        parents.push(make(&format!("untracked files on {made_on}\n"), new, &[])?);
    }
    let parents = parents.into_iter().map(|id| repo.git2().find_commit(id));
    let parents: Vec<_> = parents.collect::<Result<_, _>>()?;
    let all: Vec<_> = std::iter::once(&on).chain(&parents).collect();
    let stash = make(&format!("{title}\n"), tracked, &all)?;
    Ok(Some((stash, title)))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[tokio::test]
    async fn a_file_that_was_written_in_the_second_of_its_index_is_not_overlooked() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::for_tests(&dir);
        let run = async |args: &[&str]| git.at(dir.path()).args(args).output().await.unwrap();
        let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let set_time = |path: &Path, time: SystemTime| {
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(time).unwrap();
        };
        let (file, index) = (dir.path().join("f"), dir.path().join(".git/index"));
        run(&["init", "-q"]).await;
        // Nothing but the kernel sets the other time of a file.
        run(&["config", "core.trustCtime", "false"]).await;
        fs::write(&file, "one\n").unwrap();
        set_time(&file, second);
        run(&["add", "f"]).await;
        set_time(&index, second);
        fs::write(&file, "two\n").unwrap();
        set_time(&file, second + Duration::from_millis(500));

        let copy = dir.path().join(".git/copy");
        copy_index(&index, &copy).unwrap();
        let update = git.at(dir.path()).args(["update-index", "f"]);
        let update = update.env("GIT_INDEX_FILE", copy.to_string_lossy());
        update.run().await.unwrap();
        let listed = Index::open(&copy).unwrap().get_path(Path::new("f"), 0);
        let two = Oid::hash_object(git2::ObjectType::Blob, b"two\n").unwrap();
        assert_eq!(listed.unwrap().id, two);
    }
}
