//! Whether a workspace is exactly what its last checkout left, by what the index remembers of each file: a look
//! at every file's metadata, and at nothing else. It says yes or "perhaps not"; what exactly differs, and
//! whether it differs at all where times are too close to tell, is for those who read contents.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::thread;

use git2::{Oid, Repository};
use rustix::fs::{AtFlags, FileType, statat};

use super::index_file::{FileStat, IndexFile, IndexedFile};

const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const EXECUTABLE: u32 = 0o100;

/// So many files are looked at by one thread in less time than another takes to start.
const WORTH_A_THREAD: usize = 2048;
const MOST_THREADS: usize = 4;

/// Whether index and files are those of HEAD, beyond doubt. Blocks.
pub fn is_untouched(repo: &Repository) -> bool {
    let Ok(tree) = repo.head().and_then(|head| head.peel_to_tree()) else {
        return false;
    };
    let index = repo.path().join("index");
    let looked = repo.workdir().and_then(|dir| look(dir, &index, tree.id()));
    looked.unwrap_or(false)
}

/// `None` where it cannot be told this way.
fn look(workdir: &Path, index: &Path, tree: Oid) -> Option<bool> {
    let index = IndexFile::read(index).ok()??;
    if index.tree()? != tree {
        return None;
    }
    let (dir, entries) = (File::open(workdir).ok()?, index.entries());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = (entries.len() / WORTH_A_THREAD).clamp(1, threads.min(MOST_THREADS));
    let share = entries.len().div_ceil(threads).max(1);
    let are_as_noted = |entries: &[IndexedFile]| {
        let (mut entries, mut known) = (entries.iter(), Vec::new());
        entries.all(|entry| {
            is_reached_by_directories(index.path(entry), &dir, &mut known)
                && is_as_noted(&index, entry, &dir) == Some(true)
        })
    };
    let are_as_noted = &are_as_noted;
    Some(thread::scope(|scope| {
        let mut shares = entries.chunks(share);
        let own = shares.next().unwrap_or_default();
        let others: Vec<_> = shares
            .map(|entries| scope.spawn(move || are_as_noted(entries)))
            .collect();
        let own = are_as_noted(own);
        others
            .into_iter()
            .all(|other| other.join().unwrap_or(false))
            && own
    }))
}

/// Whether no directory on the way to `path` is a link: behind it may be the very same files, elsewhere. `known` is the
/// directory that was looked at last, with all above it; paths come in order, so it is mostly the next one's as well.
fn is_reached_by_directories(path: &[u8], dir: impl AsFd, known: &mut Vec<u8>) -> bool {
    memchr::memchr_iter(b'/', path).all(|end| {
        let above = &path[..end];
        let is_known = known
            .strip_prefix(above)
            .is_some_and(|rest| matches!(rest, [] | [b'/', ..]));
        if is_known {
            return true;
        }
        let found = statat(&dir, above, AtFlags::SYMLINK_NOFOLLOW);
        known.clear();
        known.extend_from_slice(above);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
    })
}

/// Whether the file is the one that was written then, and was not written to since.
fn is_as_noted(index: &IndexFile, entry: &IndexedFile, dir: impl AsFd) -> Option<bool> {
    let found = statat(dir, index.path(entry), AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let mode = match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => LINK,
        FileType::RegularFile if found.st_mode & EXECUTABLE != 0 => REGULAR | 0o755,
        FileType::RegularFile => REGULAR | 0o644,
        _ => return None,
    };
    let found = FileStat::of(&found);
    Some(entry.mode == mode && index.stat(entry) == found && !index.is_racy(&found))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, SystemTime};

    use git2::Signature;

    use super::*;
    use crate::git::{Git, Settings};

    struct Tree {
        dir: tempfile::TempDir,
        git: Git,
    }

    impl Tree {
        /// A few thousand files of a minute ago, committed.
        async fn new() -> Self {
            let (dir, git) = (
                tempfile::tempdir().unwrap(),
                Git::new(Settings::for_tests()),
            );
            let tree = Self { dir, git };
            for n in 0..2 * WORTH_A_THREAD + 7 {
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
            is_untouched(&Repository::open(self.path()).unwrap())
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
        let index = repo.path().join("index");
        assert_eq!(look(tree.path(), &index, Oid::ZERO_SHA1), None);
        let who = Signature::now("Test", "test@localhost").unwrap();
        let empty = repo
            .find_tree(repo.treebuilder(None).unwrap().write().unwrap())
            .unwrap();
        let parent = repo.head().unwrap().peel_to_commit().unwrap();
        repo.commit(Some("HEAD"), &who, &who, "empty", &empty, &[&parent])
            .unwrap();
        assert!(!tree.is_untouched());
    }
}
