//! Whether a workspace is exactly what its last checkout left, by what the index remembers of each file: a look
//! at every file's metadata, and at nothing else. It says yes or "perhaps not"; what exactly differs, and
//! whether it differs at all where times are too close to tell, is for those who read contents.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;

use git2::Oid;
use rustix::fs::{AtFlags, FileType, Stat, statat};

const SIGNATURE: &[u8] = b"DIRC";
const HEADER: usize = 12;
/// What every entry begins with: times, place, mode, owner, size, id, flags.
const FIXED: usize = 62;
const ID: usize = 20;
/// Bits of an entry's flags: git is to overlook the file, or there are more flags; and the stages of a
/// conflict.
const SPECIAL: u16 = 0xf000;
const NAME_LENGTH: u16 = 0x0fff;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const EXECUTABLE: u32 = 0o100;

/// So many files are looked at by one thread in less time than another takes to start.
const WORTH_A_THREAD: usize = 2048;
const MOST_THREADS: usize = 4;

/// Whether the files in `workdir` and the index at `index` are those of `tree`, beyond doubt. Blocks.
pub(super) fn is_untouched(workdir: &Path, index: &Path, tree: Oid) -> bool {
    look(workdir, index, tree).unwrap_or(false)
}

/// `None` where it cannot be told this way.
fn look(workdir: &Path, index: &Path, tree: Oid) -> Option<bool> {
    // Before its content: a later change makes what was read look older than it is, and never newer.
    let written = fs::symlink_metadata(index).ok()?;
    let bytes = fs::read(index).ok()?;
    let index = Index::read(&bytes)?;
    if index.tree? != tree.as_bytes() {
        return None;
    }
    let written = (written.mtime(), written.mtime_nsec());
    let dir = File::open(workdir).ok()?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = (index.entries.len() / WORTH_A_THREAD).clamp(1, threads.min(MOST_THREADS));
    let share = index.entries.len().div_ceil(threads).max(1);
    let is_as_noted = |entries: &[Entry<'_>]| {
        let mut entries = entries.iter();
        entries.all(|entry| entry.is_as_noted(&dir, written))
    };
    Some(thread::scope(|scope| {
        let mut shares = index.entries.chunks(share);
        let own = shares.next().unwrap_or_default();
        let others: Vec<_> = shares
            .map(|entries| scope.spawn(move || is_as_noted(entries)))
            .collect();
        let own = is_as_noted(own);
        others
            .into_iter()
            .all(|other| other.join().unwrap_or(false))
            && own
    }))
}

/// An index file, as far as it matters here. Versions 2 and 3, which git writes unless it is told otherwise.
struct Index<'a> {
    entries: Vec<Entry<'a>>,
    /// The tree that all of it stands for, where git noted that.
    tree: Option<&'a [u8]>,
}

struct Entry<'a> {
    fixed: &'a [u8; FIXED],
    path: &'a [u8],
}

impl<'a> Index<'a> {
    /// `None` where there is anything in it that is not plain: conflicts, flags, submodules, parts that are
    /// elsewhere or left out.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (signature, version, count) = (bytes.get(..4)?, word(bytes, 4)?, word(bytes, 8)?);
        if signature != SIGNATURE || !matches!(version, 2 | 3) {
            return None;
        }
        let bytes = bytes.get(..bytes.len().checked_sub(ID)?)?;
        let count = usize::try_from(count).ok()?;
        let mut entries = Vec::with_capacity(count.min(bytes.len() / FIXED));
        let mut rest = bytes.get(HEADER..)?;
        for _ in 0..count {
            let entry = Entry::read(rest)?;
            // A name ends with at least one zero, and the whole with a multiple of eight bytes.
            let length = (FIXED + entry.path.len() + 8) & !7;
            rest = rest.get(length..)?;
            entries.push(entry);
        }
        let mut tree = None;
        while !rest.is_empty() {
            let (name, length) = (rest.get(..4)?, usize::try_from(word(rest, 4)?).ok()?);
            let content = rest.get(8..)?.get(..length)?;
            match name {
                b"TREE" => tree = root(content),
                // Those that begin with a small letter change what the index means.
                [b'a'..=b'z', ..] => return None,
                _ => {}
            }
            rest = rest.get(8..)?.get(length..)?;
        }
        Some(Self { entries, tree })
    }
}

/// The root of the trees that git noted: no name, the number of entries (or -1, if it is out of date), the number of
/// subtrees, an id.
fn root(trees: &[u8]) -> Option<&[u8]> {
    let rest = trees.strip_prefix(b"\0")?;
    let line = memchr::memchr(b'\n', rest)?;
    let (numbers, rest) = rest.split_at(line);
    if numbers.starts_with(b"-") {
        return None;
    }
    rest.get(1..1 + ID)
}

impl<'a> Entry<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let fixed = bytes.first_chunk::<FIXED>()?;
        let flags = u16::from_be_bytes([fixed[60], fixed[61]]);
        let length = usize::from(flags & NAME_LENGTH);
        // A name that is longer than can be said here is none that is met.
        if flags & SPECIAL != 0 || length == usize::from(NAME_LENGTH) {
            return None;
        }
        let path = bytes.get(FIXED..FIXED + length)?;
        Some(Self { fixed, path })
    }

    fn word(&self, at: usize) -> Option<u32> {
        word(self.fixed, at)
    }

    /// Whether the file is the one that was written then, and was not written to since. One that was written
    /// when the index was, or later, may have been changed right after without showing it.
    fn is_as_noted(&self, dir: impl AsFd, index_written: (i64, i64)) -> bool {
        self.compare(dir, index_written).unwrap_or(false)
    }

    fn compare(&self, dir: impl AsFd, index_written: (i64, i64)) -> Option<bool> {
        let Stat {
            st_ctime,
            st_ctime_nsec,
            st_mtime,
            st_mtime_nsec,
            st_ino,
            st_mode,
            st_uid,
            st_gid,
            st_size,
            ..
        } = statat(dir, self.path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let expected = match FileType::from_raw_mode(st_mode) {
            FileType::Symlink => LINK,
            FileType::RegularFile if st_mode & EXECUTABLE != 0 => REGULAR | 0o755,
            FileType::RegularFile => REGULAR | 0o644,
            _ => return None,
        };
        // Git keeps the low 32 bits of each.
        let low = |value: i64| u32::try_from(value & 0xffff_ffff).ok();
        let nanos = |value| u32::try_from(value).ok();
        let found = [
            low(st_ctime)?,
            nanos(st_ctime_nsec)?,
            low(st_mtime)?,
            nanos(st_mtime_nsec)?,
        ];
        for (at, value) in found.into_iter().enumerate() {
            if self.word(at * 4)? != value {
                return None;
            }
        }
        let inode = u32::try_from(st_ino & 0xffff_ffff).ok()?;
        let rest = [
            (20, inode),
            (24, expected),
            (28, st_uid),
            (32, st_gid),
            (36, low(st_size)?),
        ];
        for (at, value) in rest {
            if self.word(at)? != value {
                return None;
            }
        }
        Some((st_mtime, i64::from(nanos(st_mtime_nsec)?)) < index_written)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .copied()
        .map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, SystemTime};

    use git2::{Repository, Signature};

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
            let repo = Repository::open(self.path()).unwrap();
            let tree = repo.head().unwrap().peel_to_tree().unwrap().id();
            is_untouched(self.path(), &repo.path().join("index"), tree)
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
        let put_back = async || {
            tree.run(&["reset", "-q", "--hard"]).await;
            tree.write(name, "content");
            tree.run(&["update-index", "-q", "--refresh"]).await;
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
        assert!(!is_untouched(tree.path(), &index, Oid::ZERO_SHA1));
        let who = Signature::now("Test", "test@localhost").unwrap();
        let empty = repo
            .find_tree(repo.treebuilder(None).unwrap().write().unwrap())
            .unwrap();
        let parent = repo.head().unwrap().peel_to_commit().unwrap();
        repo.commit(Some("HEAD"), &who, &who, "empty", &empty, &[&parent])
            .unwrap();
        assert!(!tree.is_untouched());
        // Whatever is cut off or spoilt is no proof.
        let whole = fs::read(&index).unwrap();
        for cut in (0..whole.len()).step_by(whole.len() / 97) {
            assert!(Index::read(&whole[..cut]).is_none_or(|index| index.tree.is_none()));
        }
    }
}
