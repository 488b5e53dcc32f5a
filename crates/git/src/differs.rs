//! Whether one file is as HEAD has it, without the index: to read that takes as long as the repository is large.

use std::path::Path;

use super::{Error, FileComparer};
use crate::Repository;

/// Whether the file at `path`, relative to the workspace, differs from HEAD's, or is not in it.
pub fn differs_from_head(repo: &Repository, path: &Path) -> Result<bool, Error> {
    let tree = repo.git2().head()?.peel_to_tree()?;
    let (Ok(entry), Some(comparer)) = (tree.get_path(path), FileComparer::new(repo)?) else {
        return Ok(true);
    };
    let mode = u32::try_from(entry.filemode()).unwrap_or_default();
    Ok(comparer.change(mode, entry.id(), path)?.is_some())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use git2::build::CheckoutBuilder;
    use git2::{IndexAddOption, Signature};

    fn commit_all(repo: &Repository) {
        let mut index = repo.git2().index().unwrap();
        index.add_all(["."], IndexAddOption::DEFAULT, None).unwrap();
        index.write().unwrap();
        let tree = repo.git2().find_tree(index.write_tree().unwrap()).unwrap();
        let who = Signature::now("a", "a@b").unwrap();
        repo.git2()
            .commit(Some("HEAD"), &who, &who, "one", &tree, &[])
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
        repo.git2()
            .checkout_head(Some(again.force().path("lines.txt")))
            .unwrap();
        assert_eq!(fs::read(root.join("lines.txt")).unwrap(), b"one\r\ntwo\r\n");
        fs::write(root.join("new.c"), "new\n").unwrap();
        let differs = |name: &str| differs_from_head(&repo, Path::new(name)).unwrap();
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
