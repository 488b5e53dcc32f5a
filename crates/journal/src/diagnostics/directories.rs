//! Where a tool ran that complains: a path that it gives is relative to that. Make and ninja say which directories they
//! enter and leave. Where several are entered at once, as with `make -j`, the file is where it exists. And what is said
//! on stderr may come a little before or after what is said on stdout, so that the nearest directory counts.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::place;

/// So many of the latest may be left.
const MOST_OPEN: usize = 256;
/// So many are followed.
const MOST_SPANS: usize = 10_000;
/// So many of the nearest are looked at for a file.
const NEAREST: usize = 16;
/// So many files of packages are looked for: a log can name any number, and each costs some system calls.
const MOST_LOOKED_FOR: usize = 10_000;

/// The workspace that a log is of.
#[derive(Debug, Clone, Default)]
pub struct Directories {
    /// The directory of all workspaces of the repository, by the names that it has.
    homes: Vec<PathBuf>,
    root: Option<PathBuf>,
    spans: Vec<DirectorySpan>,
    /// How many files of packages were looked for.
    looked_for: usize,
}

/// The lines of a log that were printed in a directory.
#[derive(Debug, Clone)]
struct DirectorySpan {
    /// Relative to the workspace.
    dir: PathBuf,
    entered: u64,
    left: Option<u64>,
}

impl DirectorySpan {
    /// How many lines away it is.
    fn distance(&self, line: u64) -> u64 {
        let after = self.left.map_or(0, |left| line.saturating_sub(left));
        self.entered.saturating_sub(line).max(after)
    }
}

impl Directories {
    /// Of the workspace at `root`.
    pub fn of(root: &Path) -> Self {
        let home = root.parent().map(Path::to_owned);
        let canonical = home.as_ref().and_then(|home| home.canonicalize().ok());
        let mut homes: Vec<_> = home.into_iter().chain(canonical).collect();
        homes.dedup();
        Self {
            homes,
            root: Some(root.to_owned()),
            spans: Vec::new(),
            looked_for: 0,
        }
    }

    /// Whether a line tells of a directory. Almost none does, and ends as those do.
    pub(super) fn may_tell(line: &[u8]) -> bool {
        matches!(line.last(), Some(b'\'' | b'\r')) && line.windows(2).any(|two| two == b": ")
    }

    /// Takes note of `make[1]: Entering directory '/x'`, `ninja: Entering directory 'x'` and `Change Dir: '/x'`.
    pub(super) fn line(&mut self, number: u64, line: &str) {
        let said = place::program(line).map(|(_, said)| said);
        let said = said.or_else(|| line.strip_prefix("ninja: "));
        let entered = said.and_then(|said| said.strip_prefix("Entering directory "));
        let entered = entered.or_else(|| line.strip_prefix("Change Dir: "));
        let left = said.and_then(|said| said.strip_prefix("Leaving directory "));
        let Some(dir) = entered.or(left) else {
            return;
        };
        // Older ones begin with another quote.
        let dir = dir.trim_end_matches('\'').trim_start_matches(['\'', '`']);
        let Some(dir) = self.inside(Path::new(dir)) else {
            return;
        };
        if entered.is_some() {
            if self.spans.len() < MOST_SPANS {
                self.spans.push(DirectorySpan {
                    dir,
                    entered: number,
                    left: None,
                });
            }
            return;
        }
        let open = self.spans.iter_mut().rev().take(MOST_OPEN);
        let left = |span: &&mut DirectorySpan| span.left.is_none() && span.dir == dir;
        if let Some(span) = { open }.find(left) {
            span.left = Some(number);
        }
    }

    /// How many directories were entered so far: the same words in another one are about another file.
    pub(super) fn entered(&self) -> usize {
        self.spans.len()
    }

    /// The file that a line of the log names relative to the workspace, where that can be told; else as it was written.
    pub(super) fn resolve(&self, file: String, line: u64) -> String {
        let Some(root) = &self.root else {
            return file;
        };
        let written = Path::new(&file);
        if written.is_absolute() {
            let inside = self.inside(written);
            return inside.and_then(shown).unwrap_or(file);
        }
        let mut spans: Vec<_> = self.spans.iter().collect();
        spans.sort_by_key(|span| (span.distance(line), u64::MAX - span.entered));
        spans.truncate(NEAREST);
        let (around, aside): (Vec<&DirectorySpan>, Vec<_>) =
            spans.into_iter().partition(|span| span.distance(line) == 0);
        let top = PathBuf::new();
        let directories = around.iter().map(|span| &span.dir);
        let directories = directories.chain([&top]);
        let directories = directories.chain(aside.iter().map(|span| &span.dir));
        let mut candidates = directories.filter_map(|dir| plain(&dir.join(written)));
        let found = candidates.find(|path| fs::symlink_metadata(root.join(path)).is_ok());
        // What is gone by now was where the only tool at work made it.
        let made = match &around[..] {
            [only] => plain(&only.dir.join(written)),
            _ => None,
        };
        found.or(made).and_then(shown).unwrap_or(file)
    }

    /// The file of a Go package, of which its tests only say the last part. The package begins with the name of its
    /// module, of which it is not known how much is a directory: the rest is, where that has the file.
    pub(super) fn in_package(&mut self, package: &str, file: String) -> String {
        self.looked_for += 1;
        if self.looked_for > MOST_LOOKED_FOR {
            return file;
        }
        let Some(root) = &self.root else {
            return file;
        };
        let open = self.spans.iter().rev().take(MOST_OPEN);
        let entered = { open }.find(|span| span.left.is_none());
        let top = PathBuf::new();
        let bases = entered.map(|span| &span.dir).into_iter().chain([&top]);
        let mut candidates = bases.flat_map(|base| {
            let rests = package.match_indices('/').map(|(at, _)| &package[at + 1..]);
            let rests = [package].into_iter().chain(rests).take(NEAREST);
            let whole = rests.chain([""]).map(|rest| base.join(rest).join(&file));
            whole.filter_map(|path| plain(&path)).collect::<Vec<_>>()
        });
        let found = candidates.find(|path| fs::symlink_metadata(root.join(path)).is_ok());
        found.and_then(shown).unwrap_or(file)
    }

    /// A path that a tool wrote, relative to the workspace; `None` if it is elsewhere. What was said in another workspace
    /// of the repository, by a run that answered for this one, is taken as said here.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        if path.is_relative() {
            return plain(path);
        }
        let path = self
            .homes
            .iter()
            .find_map(|home| path.strip_prefix(home).ok())?;
        plain(&path.components().skip(1).collect::<PathBuf>())
    }
}

/// Without `.` and `..`; `None` if it leads out.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir if !plain.pop() => return None,
            Component::RootDir | Component::Prefix(_) => return None,
            _ => {}
        }
    }
    Some(plain)
}

fn shown(path: PathBuf) -> Option<String> {
    path.into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yard(files: &[&str]) -> (tempfile::TempDir, Directories) {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("main");
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, "").expect("written");
        }
        let directories = Directories::of(&root);
        (dir, directories)
    }

    #[test]
    fn a_file_is_where_the_tool_was() {
        let (dir, mut directories) = yard(&["src/server.c", "deps/lua/lua.c", "main.c"]);
        let home = dir.path().display();
        for (number, line) in [
            (10, format!("make[1]: Entering directory '{home}/main/src'")),
            (
                20,
                format!("make[2]: Entering directory `{home}/main/deps/lua'"),
            ),
            (
                30,
                format!("make[2]: Leaving directory '{home}/main/deps/lua'"),
            ),
            (40, format!("make[1]: Leaving directory '{home}/main/src'")),
        ] {
            directories.line(number, &line);
        }
        for (line, file, expected) in [
            (12, "server.c", "src/server.c"),
            (12, "./server.c", "src/server.c"),
            (12, "../main.c", "main.c"),
            (12, "gone.c", "src/gone.c"),
            (22, "lua.c", "deps/lua/lua.c"),
            // Both are at work.
            (22, "server.c", "src/server.c"),
            (22, "gone.c", "gone.c"),
            // Said a little before or after it should have been.
            (9, "server.c", "src/server.c"),
            (41, "server.c", "src/server.c"),
            (50, "main.c", "main.c"),
            (50, "/usr/include/stdio.h", "/usr/include/stdio.h"),
            (50, "../../etc/passwd", "../../etc/passwd"),
        ] {
            let resolved = directories.resolve(file.to_owned(), line);
            assert_eq!(resolved, expected, "{line}: {file}");
        }
        for branch in ["main", "other"] {
            let file = format!("{home}/{branch}/src/server.c");
            assert_eq!(directories.resolve(file, 1), "src/server.c");
        }
    }

    #[test]
    fn a_package_is_found_below_the_root_of_its_module() {
        let (_dir, mut directories) = yard(&["a_test.go", "sub/a_test.go", "sub/deep/b_test.go"]);
        for (package, file, expected) in [
            ("example.com/app/sub", "a_test.go", "sub/a_test.go"),
            (
                "example.com/app/sub/deep",
                "b_test.go",
                "sub/deep/b_test.go",
            ),
            ("example.com/app", "a_test.go", "a_test.go"),
            ("app", "gone_test.go", "gone_test.go"),
            ("../../etc", "passwd", "passwd"),
        ] {
            let found = directories.in_package(package, file.to_owned());
            assert_eq!(found, expected, "{package}");
        }
        // A module that is not the whole workspace.
        let (_dir, mut directories) = yard(&["api/sub/a_test.go", "sub/a_test.go"]);
        directories.line(1, "make[1]: Entering directory 'api'");
        let found = directories.in_package("example.com/app/sub", "a_test.go".to_owned());
        assert_eq!(found, "api/sub/a_test.go");
        assert_eq!(directories.resolve(found, 2), "api/sub/a_test.go");
    }

    #[test]
    fn ninja_and_cmake_say_where_they_are() {
        let (dir, mut directories) = yard(&["src/a.c", "build/x.h"]);
        directories.line(1, "ninja: Entering directory `build'");
        assert_eq!(directories.resolve("../src/a.c".to_owned(), 2), "src/a.c");
        let mut directories = Directories::of(&dir.path().join("main"));
        let build = dir.path().join("main/build");
        directories.line(1, &format!("Change Dir: '{}'", build.display()));
        assert_eq!(directories.resolve("x.h".to_owned(), 2), "build/x.h");
    }
}
