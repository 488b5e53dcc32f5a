//! The operator's directory, and what of it a branch asks for.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::{Deserialize, Serialize};

use super::LIST;
use crate::error::conflict;
use branchyard_model::{ErrorKind, Problem, check_glob};

/// More than this in the operator's directory is no list of files that builds lack.
const MOST_ENTRIES: usize = 10_000;
/// So many files are copied to a workspace, with so many bytes in all.
const MOST_FILES: usize = 1_000;
pub(super) const MOST_BYTES: u64 = 64 << 20;
const MOST_LINES: usize = 1_000;

/// Which state of a file was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// A file that there is to copy.
#[derive(Debug)]
pub(super) struct SuppliedFile {
    /// Below the operator's directory, and below the workspace.
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    /// Its permissions.
    pub(super) mode: u32,
}

/// The rules in the text of a [`LIST`]; or what is wrong with it.
pub(super) fn parse(text: &[u8]) -> Result<Gitignore, Problem> {
    let text = std::str::from_utf8(text).map_err(|_| invalid("it is not UTF-8"))?;
    let mut builder = GitignoreBuilder::new("");
    for (n, line) in text.lines().enumerate() {
        let wrong = |why: &str| invalid(&format!("line {}, {line:?}: {why}", n + 1));
        if n == MOST_LINES {
            return Err(wrong("it has more than 1,000 lines"));
        }
        check_line(line).map_err(|why| wrong(&why))?;
        let added = builder.add_line(None, line);
        added.map_err(|error| wrong(&error.to_string()))?;
    }
    builder.build().map_err(|error| invalid(&error.to_string()))
}

fn check_line(line: &str) -> Result<(), String> {
    if line.trim_start().starts_with('#') {
        return Ok(());
    }
    let pattern = line.strip_prefix('!').unwrap_or(line);
    check_glob(pattern)?;
    // An escaped character means itself.
    let meant = pattern.replace('\\', "");
    if meant.starts_with(['/', '~']) {
        return Err("it is absolute; write it relative to the workspace".to_owned());
    }
    if meant.contains('\0') {
        return Err("it has a NUL".to_owned());
    }
    let leads_out = Path::new(meant.trim_end())
        .components()
        .any(|part| part == Component::ParentDir);
    match leads_out {
        true => Err("it leads out of the workspace".to_owned()),
        false => Ok(()),
    }
}

/// The files below the operator's directory that `rules` name. Links are not followed, and none of these may be one.
pub(super) fn find(from: &Path, rules: &Gitignore) -> Result<Vec<SuppliedFile>, Problem> {
    let mut search = DirectorySearch {
        from,
        rules,
        entries: 0,
        bytes: 0,
        found: Vec::new(),
    };
    let done = search.look_in(Path::new("")).map_err(|error| {
        tracing::error!(from = %from.display(), %error, "files to include cannot be read");
        let detail = "the operator's directory of files to include cannot be read";
        conflict("include_unreadable", detail)
            .help("the daemon's log says why; `without_setup` does without these files")
    })?;
    done.map(|()| search.found)
}

struct DirectorySearch<'a> {
    from: &'a Path,
    rules: &'a Gitignore,
    entries: usize,
    bytes: u64,
    found: Vec<SuppliedFile>,
}

impl DirectorySearch<'_> {
    fn look_in(&mut self, dir: &Path) -> io::Result<Result<(), Problem>> {
        for entry in fs::read_dir(self.from.join(dir))? {
            let entry = entry?;
            let (path, kind) = (dir.join(entry.file_name()), entry.file_type()?);
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Ok(Err(too_much(&format!("more than {MOST_ENTRIES} entries"))));
            }
            if kind.is_dir() {
                if let Err(problem) = self.look_in(&path)? {
                    return Ok(Err(problem));
                }
                continue;
            }
            let matched = self.rules.matched_path_or_any_parents(&path, false);
            if !matched.is_ignore() {
                continue;
            }
            if !kind.is_file() {
                let what = if kind.is_symlink() {
                    "a link"
                } else {
                    "no file"
                };
                let path = path.display();
                let detail =
                    format!("it names {path}, which is {what} in the operator's directory");
                return Ok(Err(invalid(&detail)));
            }
            let meta = entry.metadata()?;
            self.bytes += meta.len();
            if self.bytes > MOST_BYTES || self.found.len() == MOST_FILES {
                let detail = format!("more than {MOST_FILES} files or {MOST_BYTES} bytes");
                return Ok(Err(too_much(&detail)));
            }
            self.found.push(SuppliedFile {
                stamp: Stamp {
                    inode: meta.ino(),
                    size: meta.len(),
                    modified: (meta.mtime(), meta.mtime_nsec()),
                },
                mode: meta.mode() & 0o777,
                path,
            });
        }
        Ok(Ok(()))
    }
}

pub(super) fn invalid(why: &str) -> Problem {
    let detail = format!("{LIST} cannot be followed: {why}");
    Problem::new(ErrorKind::Unprocessable, "include_invalid", detail)
        .field("include")
        .help(format!(
            "mend {LIST} on the branch; a run with `without_setup` does without these files"
        ))
}

fn too_much(what: &str) -> Problem {
    invalid(&format!("the operator's directory has {what} to look at"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(from: &Path, list: &str) -> Result<Vec<String>, Problem> {
        let found = find(from, &parse(list.as_bytes())?)?;
        let mut names: Vec<_> = found
            .iter()
            .map(|source| source.path.display().to_string())
            .collect();
        names.sort();
        Ok(names)
    }

    #[test]
    fn files_are_found_in_the_manner_of_gitignore() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path();
        for path in [
            ".env",
            "web/.env",
            "web/.env.test",
            "certs/a/key.pem",
            "other",
        ] {
            fs::create_dir_all(from.join(path).parent().unwrap()).unwrap();
            fs::write(from.join(path), path).unwrap();
        }
        let found = |list: &str| names(from, list).unwrap();
        assert_eq!(found(".env"), [".env", "web/.env"]);
        assert_eq!(
            found("# secrets\n\n.env*\n!web/.env\n"),
            [".env", "web/.env.test"]
        );
        assert_eq!(found("certs/"), ["certs/a/key.pem"]);
        assert_eq!(found("web/*"), ["web/.env", "web/.env.test"]);
        assert_eq!(found("absent"), [""; 0]);
        symlink("/etc/passwd", from.join("link")).unwrap();
        assert_eq!(found(".env"), [".env", "web/.env"]);
        let refused = names(from, "link").unwrap_err();
        assert!(refused.detail.contains("link"), "{}", refused.detail);
        symlink("/etc", from.join("dir")).unwrap();
        assert!(names(from, "dir/").unwrap().is_empty());
        assert!(names(from, "dir").is_err() && names(from, "*").is_err());
    }

    #[test]
    fn what_leads_elsewhere_is_refused_with_its_line() {
        for line in [
            "../x",
            "/etc/passwd",
            "a/../../x",
            "..",
            "!../x",
            "~/x",
            "*/../../x",
            "../*",
            r"\.\./x",
            r"\/etc",
            "a/..",
            "**/../x",
        ] {
            let refused = parse(format!("ok\n{line}\n").as_bytes()).unwrap_err();
            assert_eq!(refused.code, "include_invalid");
            assert!(refused.detail.contains("line 2"), "{}", refused.detail);
        }
        assert!(parse(b"\xff\n").is_err());
        assert!(parse("x\n".repeat(1_001).as_bytes()).is_err());
        assert!(parse(b"# ../x is fine in a comment\n..env\n.env..\n").is_ok());
    }
}
