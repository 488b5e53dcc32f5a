//! Whether one file is as HEAD has it, without the index: to read that takes as long as the repository is large.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use git2::{ObjectType, Oid, Repository, Tree};

use super::Error;
use super::checkout::{ATTRIBUTES, may_apply};
use super::verbs::conflicts::{Read, Working};

const REGULAR: i32 = 0o100_644;
const EXECUTABLE: i32 = 0o100_755;
/// More attributes than anybody has.
const MOST: u64 = 1 << 20;

/// Whether the file at `path`, relative to the workspace, with this content differs from HEAD's, or is not in it.
pub fn differs_from_head(
    repo: &Repository,
    path: &Path,
    content: impl FnOnce() -> io::Result<Vec<u8>>,
) -> Result<bool, Error> {
    let tree = repo.head()?.peel_to_tree()?;
    let (Ok(entry), Some(workdir)) = (tree.get_path(path), repo.workdir()) else {
        return Ok(true);
    };
    let look = Error::io("look at a file");
    let meta = fs::symlink_metadata(workdir.join(path)).map_err(look)?;
    let is_executable = meta.permissions().mode() & 0o100 != 0;
    let is_alike = match entry.filemode() {
        REGULAR => meta.is_file() && !is_executable,
        EXECUTABLE => meta.is_file() && is_executable,
        _ => false,
    };
    if !is_alike {
        return by_status(repo, path);
    }
    let content = content().map_err(Error::io("read a file"))?;
    if Oid::hash_object(ObjectType::Blob, &content)? == entry.id() {
        return Ok(false);
    }
    match may_be_converted(repo, &tree, path, &content)? {
        true => by_status(repo, path),
        false => Ok(true),
    }
}

/// As git tells it, whatever the file is.
fn by_status(repo: &Repository, path: &Path) -> Result<bool, Error> {
    Ok(!repo.status_file(path)?.is_empty())
}

/// Whether git may keep it in another form than it has in the workspace. To ask libgit2 for attributes would be to
/// have it read the index.
fn may_be_converted(
    repo: &Repository,
    tree: &Tree,
    path: &Path,
    content: &[u8],
) -> Result<bool, Error> {
    let config = repo.config()?;
    let is_set = |name| config.get_string(name).is_ok_and(|value| value != "false");
    if is_set("core.autocrlf")
        || is_set("core.attributesFile")
        || repo.commondir().join("info/attributes").exists()
    {
        return Ok(true);
    }
    let Some(workdir) = repo.workdir() else {
        return Ok(true);
    };
    let workspace = Working::open(workdir)?;
    // All that `text` by itself changes is how lines end.
    let has_returns = memchr::memchr(b'\r', content).is_some();
    for directory in path.ancestors().skip(1) {
        let file = directory.join(OsStr::from_bytes(ATTRIBUTES));
        let attributes = match workspace.read(&file, MOST) {
            Read::Whole(attributes) => attributes,
            Read::TooLarge => return Ok(true),
            // Without one git goes by the one that it knows.
            Read::NoFile => match tree.get_path(&file).map(|entry| repo.find_blob(entry.id())) {
                Ok(Ok(blob)) => blob.content().to_vec(),
                _ => continue,
            },
        };
        let inside = directory.join("");
        let (inside, path) = (inside.as_os_str().as_bytes(), path.as_os_str().as_bytes());
        if has_returns || may_apply(&attributes, inside, path) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use git2::build::CheckoutBuilder;
    use git2::{IndexAddOption, Signature};

    fn commit_all(repo: &Repository) {
        let mut index = repo.index().unwrap();
        index.add_all(["."], IndexAddOption::DEFAULT, None).unwrap();
        index.write().unwrap();
        let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
        let who = Signature::now("a", "a@b").unwrap();
        repo.commit(Some("HEAD"), &who, &who, "one", &tree, &[])
            .unwrap();
    }

    #[test]
    fn a_file_is_as_the_commit_has_it_or_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let repo = Repository::init(root).unwrap();
        for (name, content) in [
            (".gitattributes", "*.txt text eol=crlf\n*.c text\n"),
            ("plain.c", "int a;\n"),
            // Git keeps it without the return.
            ("dos.c", "int c;\r\n"),
            ("lines.txt", "one\ntwo\n"),
            ("tool", "#!/bin/sh\n"),
        ] {
            fs::write(root.join(name), content).unwrap();
        }
        std::os::unix::fs::symlink("plain.c", root.join("link")).unwrap();
        commit_all(&repo);
        // As git writes it, with other ends of lines than it keeps.
        fs::remove_file(root.join("lines.txt")).unwrap();
        let mut again = CheckoutBuilder::new();
        repo.checkout_head(Some(again.force().path("lines.txt")))
            .unwrap();
        assert_eq!(fs::read(root.join("lines.txt")).unwrap(), b"one\r\ntwo\r\n");
        fs::write(root.join("new.c"), "new\n").unwrap();
        let differs = |name: &str| {
            let read = || fs::read(root.join(name));
            differs_from_head(&repo, Path::new(name), read).unwrap()
        };
        for same in ["plain.c", "dos.c", "lines.txt", "tool", "link"] {
            assert!(!differs(same), "{same}");
        }
        assert!(differs("new.c"));
        fs::write(root.join("plain.c"), "int b;\n").unwrap();
        fs::write(root.join("lines.txt"), "one\r\n").unwrap();
        fs::set_permissions(root.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        for changed in ["plain.c", "lines.txt", "tool"] {
            assert!(differs(changed), "{changed}");
        }
        // Attributes that somebody took away are still those of the commit, and a pipe is none.
        fs::remove_file(root.join(".gitattributes")).unwrap();
        assert!(!differs("dos.c"));
        let pipe = root.join(".gitattributes");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        assert!(differs("plain.c"));
    }
}
