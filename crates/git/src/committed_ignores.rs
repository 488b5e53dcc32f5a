//! Which paths the `.gitignore` files of a commit ignore.
//!
//! The rules are read from the commit's tree, never from the worktree: a build can put other rules there, or
//! a FIFO that a reader would wait for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use git2::Tree;
use ignore::Match;
use ignore::gitignore::Gitignore;

use super::attributes::BYTE_ORDER_MARK;
use super::{Error, MAX_RULES, parse_rules};
use crate::{ObjectId, Repository};

const IGNORE: &str = ".gitignore";
const REGULAR_FILE: i32 = 0o100_000;
const FILE_TYPE: i32 = 0o170_000;

/// The ignore rules of one commit. Each file is read when the first path in its directory is asked about.
pub struct CommittedIgnores<'repo> {
    repo: &'repo Repository,
    tree: Tree<'repo>,
    rules: HashMap<PathBuf, Option<Gitignore>>,
}

impl<'repo> CommittedIgnores<'repo> {
    pub fn of(repo: &'repo Repository, commit: ObjectId) -> Result<Self, Error> {
        Ok(Self {
            repo,
            tree: repo.git2().find_commit(commit.git2())?.tree()?,
            rules: HashMap::new(),
        })
    }

    /// Whether `path`, relative to the worktree and not tracked, is ignored by itself or with a directory
    /// that it lies in.
    pub fn is_ignored(&mut self, path: &Path, is_dir: bool) -> Result<bool, Error> {
        let mut parts: Vec<&Path> = path.ancestors().collect();
        // The last is the worktree itself.
        parts.pop();
        for part in parts.into_iter().rev() {
            if self.is_matched(part, is_dir || part != path)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The innermost rule that says anything about the path decides.
    fn is_matched(&mut self, path: &Path, is_dir: bool) -> Result<bool, Error> {
        for dir in path.ancestors().skip(1) {
            if let Some(rules) = self.rules_in(dir)? {
                match rules.matched(path, is_dir) {
                    Match::None => {}
                    Match::Ignore(_) => return Ok(true),
                    Match::Whitelist(_) => return Ok(false),
                }
            }
        }
        Ok(false)
    }

    fn rules_in(&mut self, dir: &Path) -> Result<Option<&Gitignore>, Error> {
        if !self.rules.contains_key(dir) {
            let rules = self.read(dir)?;
            self.rules.insert(dir.to_owned(), rules);
        }
        Ok(self.rules.get(dir).and_then(Option::as_ref))
    }

    fn read(&self, dir: &Path) -> Result<Option<Gitignore>, Error> {
        let entry = match self.tree.get_path(&dir.join(IGNORE)) {
            // Git does not follow a link of this name either.
            Ok(entry) if entry.filemode() & FILE_TYPE == REGULAR_FILE => entry,
            _ => return Ok(None),
        };
        let size = self.repo.git2().odb()?.read_header(entry.id())?.0;
        if size > MAX_RULES {
            return Ok(None);
        }
        let blob = self.repo.git2().find_blob(entry.id())?;
        let text = blob.content();
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        Ok(parse_rules(text, dir))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use git2::Oid;
    use git2::Signature;

    use super::*;

    fn commit(repo: &Repository, paths: &[&str]) -> Oid {
        let mut index = repo.git2().index().unwrap();
        for path in paths {
            index.add_path(Path::new(path)).unwrap();
        }
        let tree = repo.git2().find_tree(index.write_tree().unwrap()).unwrap();
        let who = Signature::now("Test", "test@localhost").unwrap();
        repo.git2()
            .commit(None, &who, &who, "rules", &tree, &[])
            .unwrap()
    }

    fn write(dir: &Path, path: &str, text: &str) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn rules_are_those_of_the_commit_whatever_lies_in_the_worktree() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init(dir.path()).unwrap();
        write(
            dir.path(),
            ".gitignore",
            "\u{feff}/out/\n*.o\r\n!keep.o\n# *.c\n\\#odd\ndoc/**/tmp\n/tracked-dir\n",
        );
        write(dir.path(), "src/.gitignore", "*.gen\n!*.o\nonly-dir/\n");
        write(dir.path(), "rules", "*\n");
        fs::create_dir(dir.path().join("linked")).unwrap();
        symlink("../rules", dir.path().join("linked/.gitignore")).unwrap();
        write(dir.path(), "huge/.gitignore", &"*\n".repeat(MAX_RULES));
        let all = [
            ".gitignore",
            "src/.gitignore",
            "linked/.gitignore",
            "huge/.gitignore",
        ];
        let commit = commit(&repo, &all);
        // What a build could put in their place.
        for path in all {
            fs::remove_file(dir.path().join(path)).unwrap();
        }
        write(dir.path(), ".gitignore", "*\n");
        write(dir.path(), "new/.gitignore", "*\n");
        let mut rules = CommittedIgnores::of(&repo, ObjectId::of(commit)).unwrap();
        for (path, is_dir, is_ignored) in [
            ("out", true, true),
            ("out", false, false),
            ("out/deep/file", false, true),
            ("a/out", true, false),
            ("main.o", false, true),
            ("keep.o", false, false),
            ("src/main.o", false, false),
            ("lib/main.o", false, true),
            ("src/x.gen", false, true),
            ("src/a/x.gen", false, true),
            ("x.gen", false, false),
            ("src/only-dir", false, false),
            ("src/only-dir/file", false, true),
            ("main.c", false, false),
            ("#odd", false, true),
            ("doc/a/b/tmp", false, true),
            ("tracked-dir/new.c", false, true),
            ("linked/file", false, false),
            ("huge/file", false, false),
            ("new/file", false, false),
        ] {
            let found = rules.is_ignored(Path::new(path), is_dir).unwrap();
            assert_eq!(found, is_ignored, "{path}");
        }
    }
}
