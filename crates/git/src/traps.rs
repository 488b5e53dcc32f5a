//! What a build may leave under a name that git opens in every directory: git follows no link there, and takes a
//! directory for nothing, but it waits for the writer of a FIFO, and some versions read a file of any length.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::verbs::conflicts::Working;
use super::{Error, files_of, suspects, untracked_entries};
use crate::Repository;
use branchyard_model::{ErrorKind, Problem};
use branchyard_runtime::disk::if_there;

const OPENED: [&str; 3] = [".gitattributes", ".gitignore", ".gitmodules"];
/// Newer versions of git read no rules of more bytes.
const MOST: u64 = 100 << 20;

/// FIFOs, sockets and devices under such a name, where something tracked is in the same directory.
pub(crate) fn traps(repo: &Repository) -> Result<Vec<PathBuf>, Error> {
    let Some(workdir) = files_of(repo) else {
        return Ok(Vec::new());
    };
    let files = Working::open(&workdir)?;
    let tracked = suspects(repo)?.into_iter().map(|(_, _, path)| path);
    let beside = untracked_entries(repo)?.into_iter().map(|item| item.path);
    let is_trap = |path: &PathBuf| {
        let kind = files.stat(path).ok().flatten();
        kind.is_some_and(|stat| {
            let kind = FileType::from_raw_mode(stat.st_mode);
            !matches!(
                kind,
                FileType::RegularFile | FileType::Directory | FileType::Symlink
            )
        })
    };
    let found = tracked.chain(beside).filter(|path| is_opened(path));
    Ok(found.filter(is_trap).collect())
}

/// An error that names a trap which keeps git from looking at `paths`, or at all files where none are given.
pub(crate) async fn refuse_traps(workdir: &Path, paths: &[PathBuf]) -> Result<(), Error> {
    let (workdir, paths) = (workdir.to_owned(), paths.to_vec());
    let found = tokio::task::spawn_blocking(move || trap_for(&workdir, &paths)).await?;
    match found.map_err(Error::io("look through the workspace"))? {
        Some(trap) => Err(Error::Asked(in_the_way(&trap))),
        None => Ok(()),
    }
}

fn trap_for(workdir: &Path, paths: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    for above in paths.iter().flat_map(|path| path.ancestors().skip(1)) {
        let mut opened = OPENED.iter().map(|name| above.join(name));
        let is_trap = |path: &PathBuf| {
            let meta = fs::symlink_metadata(workdir.join(path));
            meta.is_ok_and(|meta| is_trap(&meta))
        };
        if let Some(trap) = opened.find(is_trap) {
            return Ok(Some(trap));
        }
    }
    let mut directories = match paths.is_empty() {
        true => vec![PathBuf::new()],
        false => paths.to_vec(),
    };
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(workdir.join(&directory)) else {
            // A file, or it went meanwhile, or git cannot read it either.
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            if is_opened(&path) && if_there(entry.metadata())?.is_some_and(|meta| is_trap(&meta)) {
                return Ok(Some(path));
            }
            if entry.file_type()?.is_dir() && entry.file_name() != ".git" {
                directories.push(path);
            }
        }
    }
    Ok(None)
}

fn is_opened(path: &Path) -> bool {
    let name = path.file_name();
    name.is_some_and(|name| OPENED.iter().any(|opened| name == *opened))
}

fn is_trap(meta: &fs::Metadata) -> bool {
    match meta.is_file() {
        true => meta.len() > MOST,
        false => !meta.is_dir() && !meta.is_symlink(),
    }
}

fn in_the_way(trap: &Path) -> Problem {
    let detail = format!(
        "git would not come to the end of `{}`, which is no plain file of rules",
        trap.display()
    );
    Problem::new(ErrorKind::Conflict, "in_the_way", detail)
        .field("branch")
        .help("remove it, or bring the files back with `sync: reset` and `clean: true`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trap_is_found_however_deep_and_above_what_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b/.git")).unwrap();
        fs::create_dir_all(dir.path().join("c")).unwrap();
        fs::write(dir.path().join("a/.gitignore"), "*.o\n").unwrap();
        let found = |paths: &[&str]| {
            let paths: Vec<_> = paths.iter().map(PathBuf::from).collect();
            trap_for(dir.path(), &paths).unwrap()
        };
        let fifo = |path: &str| {
            let mode = rustix::fs::Mode::RUSR;
            rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join(path), mode).unwrap();
        };
        fifo("a/b/.git/.gitignore");
        fifo("a/pipe");
        assert_eq!(found(&[]), None);
        fifo("a/b/.gitattributes");
        let trap = Some(PathBuf::from("a/b/.gitattributes"));
        assert_eq!(found(&[]), trap);
        assert_eq!(found(&["a/b/file"]), trap);
        assert_eq!(found(&["a/file", "c"]), None);
        let long = fs::File::create(dir.path().join(".gitignore")).unwrap();
        long.set_len(MOST + 1).unwrap();
        assert_eq!(found(&["c"]), Some(PathBuf::from(".gitignore")));
    }
}
