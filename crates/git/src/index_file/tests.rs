use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=me", "-c", "user.email=me@localhost"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn repository(dir: &Path) {
    git(dir, &["init", "-q"]);
    fs::create_dir_all(dir.join("a/b")).unwrap();
    for path in ["a/b/deep", "a.b", "a/x", "z-with-a-rather-long-name"] {
        fs::write(dir.join(path), path).unwrap();
    }
    git(dir, &["add", "."]);
    git(dir, &["commit", "-qm", "first"]);
}

fn read(dir: &Path) -> Option<IndexFile> {
    IndexFile::read(&dir.join(".git/index")).unwrap()
}

#[test]
fn what_git_wrote_is_read_and_what_is_written_git_reads() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path());
    let index = read(dir.path()).unwrap();
    let paths: Vec<_> = index.entries().iter().map(|e| index.path(e)).collect();
    let expected: [&[u8]; 4] = [b"a.b", b"a/b/deep", b"a/x", b"z-with-a-rather-long-name"];
    assert_eq!(paths, expected);
    let tree = git(dir.path(), &["rev-parse", "HEAD^{tree}"]);
    assert_eq!(index.tree().unwrap().to_string(), tree);
    let entry = index.find(b"a/x").unwrap();
    let blob = git(dir.path(), &["rev-parse", "HEAD:a/x"]);
    assert_eq!(index.id(entry).unwrap().to_string(), blob);
    assert_eq!((entry.mode, index.stat(entry).size), (0o100_644, 3));
    assert!(index.find(b"a").is_none());

    // As if every file had been replaced by an equal one.
    let stats: Vec<_> = index
        .entries()
        .iter()
        .map(|entry| {
            let path = dir
                .path()
                .join(std::str::from_utf8(index.path(entry)).unwrap());
            let copy = dir.path().join(".git/copy");
            fs::copy(&path, &copy).unwrap();
            fs::rename(&copy, &path).unwrap();
            let is = FileStat::of(&rustix::fs::stat(&path).unwrap());
            assert_ne!(is, index.stat(entry));
            Some(is)
        })
        .collect();
    let fresh = dir.path().join(".git/index.new");
    index.write_with(&fresh, &stats).unwrap();
    fs::rename(&fresh, dir.path().join(".git/index")).unwrap();
    let again = read(dir.path()).unwrap();
    for (entry, stat) in again.entries().iter().zip(&stats) {
        assert_eq!(Some(again.stat(entry)), *stat);
    }
    assert_eq!(again.tree(), index.tree());
    assert_eq!(git(dir.path(), &["diff-files", "--name-only"]), "");
    git(dir.path(), &["fsck"]);
    let repo = crate::Repository::open(dir.path()).unwrap();
    assert!(repo.git2().statuses(None).unwrap().is_empty());
}

#[test]
fn an_index_with_more_to_it_is_left_to_git() {
    for change in [
        &["update-index", "--assume-unchanged", "a.b"][..],
        &["update-index", "--skip-worktree", "a.b"],
        &["update-index", "--index-version=4"],
        &["update-index", "--split-index"],
    ] {
        let dir = tempfile::tempdir().unwrap();
        repository(dir.path());
        git(dir.path(), change);
        assert!(read(dir.path()).is_none(), "{change:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path());
    fs::write(dir.path().join("a.b"), "staged").unwrap();
    git(dir.path(), &["add", "a.b"]);
    assert_eq!(read(dir.path()).unwrap().tree(), None);
}

#[test]
fn a_file_that_is_no_index_is_none() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path());
    let whole = fs::read(dir.path().join(".git/index")).unwrap();
    for len in 0..whole.len() {
        let cut = IndexFile::parse(whole[..len].to_vec(), (0, 0));
        // Cut between two of its parts it may still look whole, but never has another number of entries.
        assert!(cut.is_none_or(|index| index.entries().len() == 4), "{len}");
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        if let Some(index) = IndexFile::parse(damaged, (0, 0)) {
            for entry in index.entries() {
                index.path(entry);
                index.stat(entry);
            }
            index.tree();
        }
    }
}

#[test]
fn a_new_index_waits_for_no_lock_and_breaks_none() {
    let dir = tempfile::tempdir().unwrap();
    let (index, lock) = (dir.path().join("index"), dir.path().join("index.lock"));
    fs::write(&lock, "another's").unwrap();
    let refused = NewIndex::new().write(&index, None).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
    assert!(!index.exists());
    assert_eq!(fs::read_to_string(&lock).unwrap(), "another's");
    fs::remove_file(&lock).unwrap();
    NewIndex::new().write(&index, None).unwrap();
    assert!(
        IndexFile::read(&index)
            .unwrap()
            .unwrap()
            .entries()
            .is_empty()
    );
    assert!(!lock.exists());
}
