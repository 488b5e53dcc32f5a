//! What lies in a workspace beside what git tracks.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Tree};

use super::Error;
use crate::Repository;

/// The mode of a submodule's entry.
pub const GITLINK: u32 = 0o160_000;

/// A file or directory that nothing tracked is in, relative to the workspace.
#[derive(Debug, Clone)]
pub struct UntrackedEntry {
    pub path: PathBuf,
    pub kind: UntrackedKind,
    pub meta: Metadata,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UntrackedKind {
    /// A file, a symbolic link, or anything else that is no directory.
    File,
    Directory,
    /// A directory with a `.git` of its own.
    Repository,
}

/// The paths of all submodules.
pub fn submodules(repo: &Repository) -> Result<HashSet<PathBuf>, Error> {
    let index = repo.git2().index()?;
    Ok(index
        .iter()
        .filter(|entry| entry.mode == GITLINK)
        .map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path)))
        .collect())
}

/// Whether `tree` has a submodule at `path`.
pub(crate) fn is_submodule(tree: &Tree<'_>, path: &Path) -> bool {
    tree.get_path(path)
        .is_ok_and(|entry| entry.kind() == Some(ObjectType::Commit))
}

/// What is directly in an untracked directory. Nothing in it is tracked.
pub fn untracked_in(workdir: &Path, dir: &Path) -> Result<Vec<UntrackedEntry>, Error> {
    let found = match fs::read_dir(workdir.join(dir)) {
        // It went meanwhile, which a build may well have done.
        Err(error) if is_absence(&error) => Ok(Vec::new()),
        Err(error) => Err(at(dir, &error)),
        Ok(entries) => entries
            .filter_map(|entry| match entry {
                Ok(entry) => UntrackedEntry::at(workdir, dir.join(entry.file_name())).transpose(),
                Err(error) => Some(Err(at(dir, &error))),
            })
            .collect(),
    };
    let mut found: Vec<_> = found.map_err(Error::io(
        "look through an untracked directory of the workspace",
    ))?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

impl UntrackedEntry {
    /// `None` where it went meanwhile.
    pub(super) fn at(workdir: &Path, path: PathBuf) -> io::Result<Option<Self>> {
        let meta = match fs::symlink_metadata(workdir.join(&path)) {
            Err(error) if is_absence(&error) => return Ok(None),
            meta => meta?,
        };
        let kind = match meta.is_dir() {
            false => UntrackedKind::File,
            true if has_git(&workdir.join(&path))? => UntrackedKind::Repository,
            true => UntrackedKind::Directory,
        };
        Ok(Some(Self { path, kind, meta }))
    }
}

/// Nothing is there, or what was a directory on the way is none any more.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn has_git(dir: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(dir.join(".git")) {
        // Of a FIFO, a socket or a device git takes no notice.
        Ok(meta) => Ok(meta.is_dir() || meta.is_file() || meta.is_symlink()),
        Err(error) if is_absence(&error) => Ok(false),
        Err(error) => Err(at(dir, &error)),
    }
}

/// With the place, for whoever has to mend it.
fn at(dir: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::untracked_entries;

    fn write(dir: &Path, path: &str) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    #[test]
    fn whatever_is_not_tracked_is_found_ignored_excluded_or_empty() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init(dir.path()).unwrap();
        let mut index = repo.git2().index().unwrap();
        for path in ["a/tracked", "a.b", "a/sub/deep/tracked", "was-file"] {
            write(dir.path(), path);
            index.add_path(Path::new(path)).unwrap();
        }
        index.write().unwrap();
        fs::remove_file(dir.path().join("was-file")).unwrap();
        write(dir.path(), "was-file/now/inside");
        fs::write(dir.path().join(".gitignore"), "*.log\n").unwrap();
        fs::write(dir.path().join(".git/info/exclude"), "hidden\n").unwrap();
        for path in [
            "x.log",
            "hidden",
            "a/sub/new",
            "a/new/er/file",
            "nested/.git/HEAD",
            "nested/f",
        ] {
            write(dir.path(), path);
        }
        fs::create_dir_all(dir.path().join("empty/inner")).unwrap();
        let found: Vec<_> = untracked_entries(&repo)
            .unwrap()
            .into_iter()
            .map(|item| (item.path.to_str().unwrap().to_owned(), item.kind))
            .collect();
        use UntrackedKind::{Directory, File, Repository as Nested};
        let expected = [
            (".gitignore", File),
            ("a/new", Directory),
            ("a/sub/new", File),
            ("empty", Directory),
            ("hidden", File),
            ("nested", Nested),
            ("was-file", Directory),
            ("x.log", File),
        ];
        assert_eq!(found, expected.map(|(path, kind)| (path.to_owned(), kind)));
        let inside = untracked_in(dir.path(), Path::new("a/new")).unwrap();
        assert_eq!(inside[0].path, Path::new("a/new/er"));
    }
}
