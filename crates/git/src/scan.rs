//! Looking at the files of a workspace: whether tracked ones differ from HEAD, and what lies beside them. What the index
//! remembers of each file mostly tells; contents are read only where it does not.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, IndexTime, Oid, Status};

use super::index_file::IndexFile;
use super::metadata_scan::{MetadataScan, Tracked};
use super::status::overlooked_change;
use super::statuses::{is_any_changed, tracked_statuses};
use super::untracked_entry::UntrackedEntry;
use super::{Error, files_of};
use crate::{ObjectId, Repository};

pub use super::metadata_scan::For;

/// With more files in doubt it is quicker to have git look at all.
pub const FEW: usize = 1000;
const LOOKING: &str = "look through the workspace";

/// What is in a workspace besides what HEAD has.
#[derive(Debug)]
pub struct ScanResult {
    /// Tracked files or the index differ from HEAD, files that git was told to overlook included.
    pub changed: bool,
    /// What is not tracked, whole directories as one.
    pub untracked: Vec<UntrackedEntry>,
}

/// What metadata alone tells of a workspace. There is nothing staged in a merge here, and no file that git was told
/// to overlook.
#[derive(Debug)]
pub struct MetadataStatus {
    index: IndexFile,
    /// Tracked files that may differ from the index; no others do.
    suspects: Vec<PathBuf>,
    untracked: Vec<UntrackedEntry>,
}

impl MetadataStatus {
    /// `None` where the index is of a kind that does not tell.
    pub fn at(repo: &Repository, wanted: For) -> Result<Option<Self>, Error> {
        let index = IndexFile::read(&repo.path().join("index")).ok().flatten();
        let (Some(index), Some(workdir)) = (index, files_of(repo)) else {
            return Ok(None);
        };
        let scan = Tracked::plain(&index).scan(&workdir, wanted);
        let MetadataScan {
            suspects,
            untracked,
        } = scan.map_err(Error::io(LOOKING))?;
        Ok(Some(Self {
            index,
            suspects,
            untracked,
        }))
    }

    pub fn suspects(&self) -> &[PathBuf] {
        &self.suspects
    }

    pub fn untracked(&self) -> &[UntrackedEntry] {
        &self.untracked
    }

    /// Whether the index is this tree. It may be so and not be known.
    pub fn has_staged(&self, tree: ObjectId) -> bool {
        self.index.tree() == Some(tree)
    }

    /// What the index has at `path`: its mode and blob.
    pub fn tracked(&self, path: &Path) -> Option<(u32, ObjectId)> {
        let entry = self.index.find(path.as_os_str().as_bytes())?;
        Some((entry.mode(), self.index.id(entry)?))
    }

    /// Whether tracked files or the index differ from HEAD, apart from the directories of `submodules`.
    fn is_changed(&self, repo: &Repository, submodules: &HashSet<PathBuf>) -> Result<bool, Error> {
        let head = repo.git2().head().and_then(|head| head.peel_to_tree());
        if !head.is_ok_and(|head| self.has_staged(ObjectId::of(head.id()))) {
            return is_changed(repo, submodules);
        }
        let suspects = self.entries_of_suspects();
        let suspects = suspects.map(|(mode, id, path)| {
            let path = Path::new(OsStr::from_bytes(path));
            (mode, ObjectId::of(id), path)
        });
        is_any_changed(
            repo,
            suspects.filter(|(.., path)| !submodules.contains(*path)),
        )
    }

    /// Mode, blob and path of each.
    pub(crate) fn entries_of_suspects(&self) -> impl Iterator<Item = (u32, Oid, &[u8])> {
        self.suspects.iter().filter_map(|path| {
            let (mode, id) = self.tracked(path)?;
            Some((mode, id.git2(), path.as_os_str().as_bytes()))
        })
    }
}

/// An entry of an index that vouches for no file.
pub(super) fn untimed_entry(mode: u32, id: Oid, path: &[u8]) -> IndexEntry {
    let none = IndexTime::new(0, 0);
    IndexEntry {
        ctime: none,
        mtime: none,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.to_vec(),
    }
}

/// An index in memory of these files alone, with times of no file: each is compared by its content.
pub(crate) fn small_index<'a>(
    entries: impl Iterator<Item = (u32, Oid, &'a [u8])>,
) -> Result<Index, Error> {
    let mut index = Index::new()?;
    for (mode, id, path) in entries {
        index.add(&untimed_entry(mode, id, path))?;
    }
    Ok(index)
}

/// An index in memory with the same entries, for another handle.
pub(crate) fn copy_of_index(index: &Index) -> Result<Index, Error> {
    let mut copy = Index::new()?;
    for entry in index.iter() {
        copy.add(&entry)?;
    }
    Ok(copy)
}

/// Looks at everything. Blocks, as all do here.
pub fn scan(repo: &Repository) -> Result<ScanResult, Error> {
    scan_beside(repo, &HashSet::new())
}

/// The same. Which commits the directories of `submodules` are at does not count: they follow.
pub fn scan_beside(repo: &Repository, submodules: &HashSet<PathBuf>) -> Result<ScanResult, Error> {
    let status = MetadataStatus::at(repo, For::Both)?;
    ScanResult::closely(repo, status.as_ref(), submodules)
}

impl ScanResult {
    /// By contents where a status at everything left doubts.
    pub fn closely(
        repo: &Repository,
        status: Option<&MetadataStatus>,
        submodules: &HashSet<PathBuf>,
    ) -> Result<Self, Error> {
        Ok(match status {
            Some(status) => Self {
                changed: status.is_changed(repo, submodules)?,
                untracked: status.untracked.clone(),
            },
            None => Self {
                changed: is_changed(repo, submodules)?,
                untracked: strays_by_libgit2(repo)?,
            },
        })
    }
}

/// Whether tracked files or the index differ from HEAD, files that git was told to overlook included.
pub fn tracked_changes(repo: &Repository) -> Result<bool, Error> {
    tracked_changes_beside(repo, &HashSet::new())
}

/// The same. Which commits the directories of `submodules` are at does not count: they follow.
pub fn tracked_changes_beside(
    repo: &Repository,
    submodules: &HashSet<PathBuf>,
) -> Result<bool, Error> {
    match MetadataStatus::at(repo, For::Suspects)? {
        Some(status) => status.is_changed(repo, submodules),
        None => is_changed(repo, submodules),
    }
}

/// All that is not tracked, whole directories as one. It is found by holding the directories against the
/// index, so that no ignore rule, exclude file or flag can hide anything, and nor can an empty directory.
pub fn untracked_entries(repo: &Repository) -> Result<Vec<UntrackedEntry>, Error> {
    match MetadataStatus::at(repo, For::Untracked)? {
        Some(status) => Ok(status.untracked),
        None => strays_by_libgit2(repo),
    }
}

fn strays_by_libgit2(repo: &Repository) -> Result<Vec<UntrackedEntry>, Error> {
    let Some(workdir) = files_of(repo) else {
        return Ok(Vec::new());
    };
    let index = repo.fresh_index()?;
    let entries: Vec<_> = index.iter().collect();
    let paths = entries.iter().map(|entry| (&entry.path[..], entry.mode));
    let scan = Tracked::unknown(paths.collect()).scan(&workdir, For::Untracked);
    Ok(scan.map_err(Error::io(LOOKING))?.untracked)
}

/// Whether anything differs from HEAD, by a look at everything.
fn is_changed(repo: &Repository, submodules: &HashSet<PathBuf>) -> Result<bool, Error> {
    let follows = |(path, status): (&PathBuf, &Status)| {
        *status == Status::WT_MODIFIED && submodules.contains(path)
    };
    if !tracked_statuses(repo)?.iter().all(follows) {
        return Ok(true);
    }
    let Some(workdir) = files_of(repo) else {
        return Ok(false);
    };
    Ok(overlooked_change(&repo.git2().index()?, &workdir))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, SystemTime};

    use git2::Signature;

    use super::*;
    use crate::Git;

    struct Tree {
        dir: tempfile::TempDir,
        git: Git,
    }

    impl Tree {
        /// A few thousand files of a minute ago, committed.
        async fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let git = Git::for_tests(&dir);
            let tree = Self { dir, git };
            for n in 0..5000 {
                let name = format!("d{}/{}", n % 50, "x".repeat(n % 60 + 1));
                tree.write(&format!("{name}{n}"), "content");
            }
            symlink("d1", tree.path().join("link")).unwrap();
            tree.run(&["init", "-q"]).await;
            tree.run(&["add", "."]).await;
            tree.run(&["commit", "-q", "-m", "all"]).await;
            // With the moment of a link nothing can be done but to wait for another.
            let link = fs::symlink_metadata(tree.path().join("link")).unwrap();
            while fs::metadata(tree.path().join(".git/index"))
                .unwrap()
                .modified()
                .unwrap()
                <= link.modified().unwrap()
            {
                fs::remove_file(tree.path().join(".git/index")).unwrap();
                tree.run(&["reset", "-q"]).await;
            }
            tree
        }

        fn path(&self) -> &Path {
            self.dir.path()
        }

        /// Writes a file as if a minute ago.
        fn write(&self, name: &str, content: &str) {
            let path = self.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            let then = SystemTime::now() - Duration::from_secs(60);
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(then)
                .unwrap();
        }

        async fn run(&self, args: &[&str]) {
            self.git.at(self.path()).args(args).output().await.unwrap();
        }

        fn is_untouched(&self) -> bool {
            let repo = Repository::open(self.path()).unwrap();
            let head = repo.git2().head().unwrap().peel_to_tree().unwrap();
            let status = MetadataStatus::at(&repo, For::Suspects).unwrap();
            status.is_some_and(|status| {
                status.has_staged(ObjectId::of(head.id())) && status.suspects.is_empty()
            })
        }
    }

    #[tokio::test]
    async fn what_a_checkout_left_is_told_from_whatever_else() {
        let tree = Tree::new().await;
        assert!(tree.is_untouched());
        fs::write(tree.path().join("untracked"), "").unwrap();
        assert!(tree.is_untouched());

        let name = "d1/xx1";
        let file = tree.path().join(name);
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        // Git itself goes by whole seconds, and would see nothing to put back.
        let put_back = async || {
            tree.run(&["rm", "-q", "-f", "--cached", name]).await;
            if file.exists() {
                fs::remove_file(&file).unwrap();
            }
            tree.write(name, "content");
            tree.run(&["add", name]).await;
            tree.run(&["write-tree"]).await;
            assert!(tree.is_untouched());
        };
        // Of the same size, and with the time that it had.
        fs::write(&file, "Content").unwrap();
        File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(before)
            .unwrap();
        assert!(!tree.is_untouched());
        put_back().await;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(!tree.is_untouched());
        put_back().await;
        fs::remove_file(&file).unwrap();
        assert!(!tree.is_untouched());
        put_back().await;
        // The very same files, behind a link.
        fs::rename(tree.path().join("d1"), tree.path().join("elsewhere")).unwrap();
        symlink("elsewhere", tree.path().join("d1")).unwrap();
        assert!(!tree.is_untouched());
        fs::remove_file(tree.path().join("d1")).unwrap();
        fs::rename(tree.path().join("elsewhere"), tree.path().join("d1")).unwrap();
        assert!(tree.is_untouched());
        // In the index alone.
        tree.write(name, "staged");
        tree.run(&["add", name]).await;
        tree.write(name, "content");
        assert!(!tree.is_untouched());
        put_back().await;
        tree.run(&["update-index", "--assume-unchanged", name])
            .await;
        assert!(!tree.is_untouched());
        tree.run(&["update-index", "--no-assume-unchanged", name])
            .await;

        // Another commit's tree, and one without a word about trees.
        let repo = Repository::open(tree.path()).unwrap();
        let who = Signature::now("Test", "test@localhost").unwrap();
        let empty = repo
            .git2()
            .find_tree(repo.git2().treebuilder(None).unwrap().write().unwrap())
            .unwrap();
        let parent = repo.git2().head().unwrap().peel_to_commit().unwrap();
        repo.git2()
            .commit(Some("HEAD"), &who, &who, "empty", &empty, &[&parent])
            .unwrap();
        assert!(!tree.is_untouched());
    }
}
