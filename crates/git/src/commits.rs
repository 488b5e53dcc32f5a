//! How commits stand to each other, and what lies in the place of what they hold.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{DiffDelta, ErrorCode, ObjectType, Tree, TreeWalkMode, TreeWalkResult};

use crate::{Error, GITLINK, ObjectId, Repository, commit_id, is_submodule, read_ref};
use branchyard_model::CommitId;

pub fn has_commit(repo: &Repository, id: ObjectId) -> bool {
    repo.git2().find_commit(id.git2()).is_ok()
}

/// Whether `commit` is `tip` or in its history.
pub fn is_ancestor(repo: &Repository, commit: ObjectId, tip: ObjectId) -> Result<bool, Error> {
    let is_below = || repo.git2().graph_descendant_of(tip.git2(), commit.git2());
    Ok(commit == tip || is_below()?)
}

/// Whether `one` has commits that `other` has not.
pub fn is_ahead(repo: &Repository, one: ObjectId, other: ObjectId) -> Result<bool, Error> {
    let (ahead, _) = repo.git2().graph_ahead_behind(one.git2(), other.git2())?;
    Ok(ahead > 0)
}

/// Whether a branch of the remote, as last fetched, has this commit.
pub fn is_published(repo: &Repository, commit: ObjectId) -> Result<bool, Error> {
    let mut walk = repo.git2().revwalk()?;
    walk.push(commit.git2())?;
    walk.hide_glob("refs/remotes/*")?;
    Ok(walk.next().transpose()?.is_none())
}

/// Whether all paths that `tip` changed since the two parted are in `base` as `tip` has them; not if it changed none.
pub fn has_changes_of(repo: &Repository, base: ObjectId, tip: ObjectId) -> Result<bool, Error> {
    let repo = repo.git2();
    let parted = match repo.merge_base(base.git2(), tip.git2()) {
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(false),
        parted => parted?,
    };
    let tree = |commit| repo.find_commit(commit)?.tree();
    let (before, after, there) = (tree(parted)?, tree(tip.git2())?, tree(base.git2())?);
    let changes = repo.diff_tree_to_tree(Some(&before), Some(&after), None)?;
    let entry = |tree: &Tree<'_>, path: &Path| {
        let entry = tree.get_path(path).ok()?;
        Some((entry.id(), entry.filemode()))
    };
    let is_there = |change: DiffDelta<'_>| {
        // Renames are not looked for: each change has one path.
        let path = change.new_file().path();
        path.is_some_and(|path| entry(&after, path) == entry(&there, path))
    };
    Ok(changes.deltas().len() > 0 && changes.deltas().all(is_there))
}

/// The message of a commit, as text.
pub fn message(repo: &Repository, commit: ObjectId) -> Result<String, Error> {
    let commit = repo.git2().find_commit(commit.git2())?;
    Ok(String::from_utf8_lossy(commit.message_bytes()).into_owned())
}

/// The commit that a ref leads to, through tags where there are any; none where there is no such ref, or it leads to
/// something else.
pub fn commit_at(repo: &Repository, name: &str) -> Result<Option<ObjectId>, Error> {
    let Some(id) = read_ref(repo, name)? else {
        return Ok(None);
    };
    let object = repo.git2().find_object(id.git2(), None)?;
    let commit = object.peel(ObjectType::Commit).ok();
    Ok(commit.map(|commit| ObjectId::of(commit.id())))
}

/// The files of a commit.
pub struct CommitTree<'repo>(Tree<'repo>, &'repo git2::Repository);

impl<'repo> CommitTree<'repo> {
    pub fn of(repo: &'repo Repository, commit: ObjectId) -> Result<Self, Error> {
        let tree = repo.git2().find_commit(commit.git2())?.tree()?;
        Ok(Self(tree, repo.git2()))
    }

    /// Whether what lies at `path` would have to make way for it.
    pub fn takes_place_of(&self, path: &Path) -> bool {
        self.0.get_path(path).is_ok()
            || path.ancestors().skip(1).any(|dir| {
                self.0
                    .get_path(dir)
                    .is_ok_and(|entry| entry.kind() == Some(ObjectType::Blob))
            })
    }

    pub fn id(&self) -> Result<CommitId, Error> {
        commit_id(ObjectId::of(self.0.id()))
    }

    /// The content of a regular file; none where there is no such file. An error if it has more than `most` bytes.
    pub fn read(&self, path: &Path, most: usize) -> Result<Option<Vec<u8>>, Error> {
        let Ok(entry) = self.0.get_path(path) else {
            return Ok(None);
        };
        let is_file = matches!(entry.filemode(), 0o100_644 | 0o100_755 | 0o100_664);
        if entry.kind() != Some(ObjectType::Blob) || !is_file {
            return Ok(None);
        }
        let (size, _) = self.1.odb()?.read_header(entry.id())?;
        if size > most {
            let why = format!("{} has {size} bytes; {most} is the most", path.display());
            return Err(Error::io("read a file of a commit")(io::Error::other(why)));
        }
        Ok(Some(self.1.find_blob(entry.id())?.content().to_owned()))
    }

    /// Its files that `is_wanted`, each with its mode and what it holds, in the order of git.
    pub fn entries(
        &self,
        is_wanted: impl Fn(&Path) -> bool,
    ) -> Result<Vec<(PathBuf, i32, String)>, Error> {
        let mut found = Vec::new();
        self.0.walk(TreeWalkMode::PreOrder, |dir, entry| {
            if entry.kind() != Some(ObjectType::Tree) {
                let name = OsStr::from_bytes(entry.name_bytes());
                let path = Path::new(dir).join(name);
                if is_wanted(&path) {
                    found.push((path, entry.filemode(), entry.id().to_string()));
                }
            }
            TreeWalkResult::Ok
        })?;
        Ok(found)
    }

    /// Its submodules, as `entries` has them.
    pub fn submodules(&self) -> Result<Vec<(PathBuf, i32, String)>, Error> {
        let mut all = self.entries(|_| true)?;
        all.retain(|(_, mode, _)| mode.cast_unsigned() == GITLINK);
        Ok(all)
    }

    /// The names of the files in a directory, sorted as git has them; none where there is no such directory.
    pub fn names_in(&self, dir: &Path) -> Result<Vec<String>, Error> {
        let Ok(entry) = self.0.get_path(dir) else {
            return Ok(Vec::new());
        };
        let Ok(tree) = self.1.find_tree(entry.id()) else {
            return Ok(Vec::new());
        };
        let files = tree
            .iter()
            .filter(|entry| entry.kind() == Some(ObjectType::Blob));
        Ok(files
            .filter_map(|entry| Some(entry.name().ok()?.to_owned()))
            .collect())
    }

    pub fn has_submodule(&self, path: &Path) -> bool {
        is_submodule(&self.0, path)
    }
}
