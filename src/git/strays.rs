//! What lies in a workspace beside what git tracks. It is found by holding the directory against the
//! index, so that no ignore rule, exclude file or flag can hide anything, and nor can an empty directory.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Repository, Tree};

use super::Error;

/// The mode of a submodule's entry.
const GITLINK: u32 = 0o160_000;

/// A file or directory that nothing tracked is in, relative to the workspace.
#[derive(Debug, Clone)]
pub struct Stray {
    pub path: PathBuf,
    pub kind: StrayKind,
    pub meta: Metadata,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrayKind {
    /// A file, a symbolic link, or anything else that is no directory.
    File,
    Directory,
    /// A directory with a `.git` of its own.
    Repository,
}

/// All strays of a workspace, whole directories as one.
pub fn strays(repo: &Repository) -> Result<Vec<Stray>, Error> {
    let Some(workdir) = repo.workdir() else {
        return Ok(Vec::new());
    };
    let mut index = repo.index()?;
    // Another git may have written it since this repository was opened.
    index.read(false)?;
    let tracked = Tracked::new(&index);
    let mut found = Vec::new();
    tracked
        .hold_against(workdir, Path::new(""), &mut found)
        .map_err(Error::io("look through the workspace"))?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The paths of all submodules.
pub fn submodules(repo: &Repository) -> Result<HashSet<PathBuf>, Error> {
    let index = repo.index()?;
    Ok(index
        .iter()
        .filter(|entry| entry.mode == GITLINK)
        .map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path)))
        .collect())
}

/// Whether `tree` has a submodule at `path`.
pub fn is_submodule(tree: &Tree<'_>, path: &Path) -> bool {
    tree.get_path(path)
        .is_ok_and(|entry| entry.kind() == Some(ObjectType::Commit))
}

/// What is directly in a stray directory. Nothing in it is tracked.
pub fn strays_in(workdir: &Path, dir: &Path) -> Result<Vec<Stray>, Error> {
    let mut found = Vec::new();
    each_entry(workdir, dir, |path, entry| {
        found.extend(Stray::new(workdir, path, entry)?);
        Ok(())
    })
    .map_err(Error::io(
        "look through an untracked directory of the workspace",
    ))?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

impl Stray {
    /// `None` where it went meanwhile.
    fn new(workdir: &Path, path: PathBuf, entry: &DirEntry) -> io::Result<Option<Self>> {
        let meta = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            meta => meta?,
        };
        let kind = match meta.is_dir() {
            false => StrayKind::File,
            true if has_git(&workdir.join(&path))? => StrayKind::Repository,
            true => StrayKind::Directory,
        };
        Ok(Some(Self { path, kind, meta }))
    }
}

/// The paths of an index, in its order, which is that of their bytes.
struct Tracked(Vec<(Vec<u8>, u32)>);

impl Tracked {
    fn new(index: &git2::Index) -> Self {
        let mut paths: Vec<_> = index.iter().map(|entry| (entry.path, entry.mode)).collect();
        paths.sort_unstable();
        // An unmerged path has an entry for each of its stages.
        paths.dedup_by(|a, b| a.0 == b.0);
        Self(paths)
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        let bytes = path.as_os_str().as_bytes();
        let found = self.0.binary_search_by(|(known, _)| known[..].cmp(bytes));
        found.ok().map(|at| self.0[at].1)
    }

    fn has_some_in(&self, dir: &Path) -> bool {
        let mut inside = dir.as_os_str().as_bytes().to_vec();
        inside.push(b'/');
        let first = self.0.partition_point(|(known, _)| *known < inside);
        self.0
            .get(first)
            .is_some_and(|(known, _)| known.starts_with(&inside))
    }

    fn hold_against(&self, workdir: &Path, dir: &Path, found: &mut Vec<Stray>) -> io::Result<()> {
        each_entry(workdir, dir, |path, entry| {
            // Most of what is there is tracked, and the directory itself says what kind it is of.
            let is_dir = entry.file_type()?.is_dir();
            let mode = self.mode(&path);
            if mode.is_some() && !is_dir {
                return Ok(());
            }
            if is_dir && self.has_some_in(&path) {
                return self.hold_against(workdir, &path, found);
            }
            let Some(stray) = Stray::new(workdir, path, entry)? else {
                return Ok(());
            };
            // A submodule that was never checked out is an empty directory.
            let untouched = mode == Some(GITLINK)
                && stray.kind == StrayKind::Directory
                && fs::read_dir(workdir.join(&stray.path))?.next().is_none();
            if !untouched {
                found.push(stray);
            }
            Ok(())
        })
    }
}

fn each_entry(
    workdir: &Path,
    dir: &Path,
    mut visit: impl FnMut(PathBuf, &DirEntry) -> io::Result<()>,
) -> io::Result<()> {
    let entries = match fs::read_dir(workdir.join(dir)) {
        // It went meanwhile, which a build may well have done.
        Err(error) if error.kind() == io::ErrorKind::NotFound && dir != Path::new("") => {
            return Ok(());
        }
        entries => entries.map_err(|error| at(dir, &error))?,
    };
    for entry in entries {
        let entry = entry.map_err(|error| at(dir, &error))?;
        let name = entry.file_name();
        if dir == Path::new("") && name == OsStr::new(".git") {
            continue;
        }
        visit(dir.join(name), &entry)?;
    }
    Ok(())
}

fn has_git(dir: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(dir.join(".git")) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
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

    fn write(dir: &Path, path: &str) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    #[test]
    fn whatever_is_not_tracked_is_found_ignored_excluded_or_empty() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init(dir.path()).unwrap();
        let mut index = repo.index().unwrap();
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
        let found: Vec<_> = strays(&repo)
            .unwrap()
            .into_iter()
            .map(|stray| (stray.path.to_str().unwrap().to_owned(), stray.kind))
            .collect();
        use StrayKind::{Directory, File, Repository as Nested};
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
        let inside = strays_in(dir.path(), Path::new("a/new")).unwrap();
        assert_eq!(inside[0].path, Path::new("a/new/er"));
    }
}
