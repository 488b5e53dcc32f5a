//! What has to be left out because something else is. A dependency file that cannot be copied takes with it
//! what it is about: without it `make` would not know when that has to be made again.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use super::output::OutputFile;
use super::sources::PACKAGES;

pub(super) struct StaleOutputs<'a> {
    files: &'a [OutputFile],
    /// The workspace that is copied.
    original: &'a Path,
    /// Names in a directory, without what follows the last dot.
    stems: HashSet<(PathBuf, OsString)>,
    paths: HashSet<PathBuf>,
    trees: HashSet<PathBuf>,
    /// Something is missing that a mark may vouch for.
    are_marks_void: bool,
}

impl<'a> StaleOutputs<'a> {
    pub(super) fn new(files: &'a [OutputFile], original: &'a Path) -> Self {
        Self {
            files,
            original,
            stems: HashSet::new(),
            paths: HashSet::new(),
            trees: HashSet::new(),
            are_marks_void: false,
        }
    }

    /// Notes that a file was left out, and what is made as it says.
    pub(super) fn add(&mut self, n: usize, targets: &[Vec<u8>]) {
        let path = &self.files[n].path;
        self.are_marks_void |= self.files[n].is_judged();
        let dir = path.parent().unwrap_or(Path::new(""));
        let tree = path
            .ancestors()
            .skip(1)
            .filter(|dir| dir.file_name() == Some(OsStr::new(PACKAGES)));
        self.trees.extend(tree.last().map(Path::to_owned));
        let stem = path.file_stem().unwrap_or_default().to_owned();
        self.stems.insert((dir.to_owned(), stem));
        for target in targets {
            let target = Path::new(OsStr::from_bytes(target));
            if let Ok(inside) = target.strip_prefix(self.original) {
                self.paths.insert(plain(inside));
            } else {
                // Relative to where `make` was, which is somewhere above.
                let above = dir.ancestors().map(|dir| plain(&dir.join(target)));
                self.paths.extend(above);
            }
        }
    }

    /// Removes what was copied of it.
    pub(super) fn remove_from(&self, root: &OwnedFd) -> io::Result<()> {
        if self.stems.is_empty() {
            return Ok(());
        }
        for file in self.files.iter().filter(|file| self.goes(file)) {
            match unlinkat(root, &file.path, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn goes(&self, file: &OutputFile) -> bool {
        let path = &file.path;
        let dir = path.parent().unwrap_or(Path::new(""));
        // `a.o` and `a.d` beside each other, or `a.c.o` and `a.c.o.d`.
        let has = |name: Option<&OsStr>| {
            name.is_some_and(|name| self.stems.contains(&(dir.to_owned(), name.to_owned())))
        };
        has(path.file_stem())
            || has(path.file_name())
            || self.paths.contains(path)
            || self.trees.iter().any(|tree| path.starts_with(tree))
            || (self.are_marks_void && is_mark(file))
    }
}

/// A file that only says that something was made: `make` would take that to be there.
fn is_mark(file: &OutputFile) -> bool {
    let name = file.path.file_name().unwrap_or_default();
    let is_named_so = name.to_string_lossy().to_lowercase().contains("stamp");
    file.is_judged() && !file.is_link && (file.size == 0 || is_named_so)
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> OutputFile {
        OutputFile {
            path: path.into(),
            modified: (0, 0),
            size: 1,
            mode: 0,
            is_link: false,
            is_bound: true,
        }
    }

    #[test]
    fn what_a_file_is_about_goes_with_it() {
        let files = [
            "src/a.d",
            "src/a.o",
            "src/b.o",
            "x.c.o.d",
            "x.c.o",
            "out/obj/c.o",
            "out/dep/c.d",
            "out/obj/d.o",
            "lib/m.o",
            "web/node_modules/a/package.json",
            "web/node_modules/b/index.js",
            "web/dist.js",
        ]
        .map(file);
        let mut stale = StaleOutputs::new(&files, Path::new("/yard/demo/main"));
        let targets = |all: &[&str]| {
            all.iter()
                .map(|t| t.as_bytes().to_vec())
                .collect::<Vec<_>>()
        };
        stale.add(0, &[]);
        stale.add(3, &[]);
        stale.add(6, &targets(&["obj/c.o", "/yard/demo/main/lib/m.o"]));
        stale.add(9, &[]);
        let gone: Vec<_> = files
            .iter()
            .filter(|file| stale.goes(file))
            .map(|file| file.path.to_str().unwrap())
            .collect();
        let expected = [
            "src/a.d",
            "src/a.o",
            "x.c.o.d",
            "x.c.o",
            "out/obj/c.o",
            "out/dep/c.d",
            "lib/m.o",
            "web/node_modules/a/package.json",
            "web/node_modules/b/index.js",
        ];
        assert_eq!(gone, expected);
    }

    #[test]
    fn marks_of_what_is_left_out_go_with_it() {
        let marks = ["gen/stamp-h1", "gen/done", "tool/node_modules/.ok"];
        let mut files = ["gen/config.status", "gen/config.h", "src/a.o"]
            .map(file)
            .to_vec();
        files.extend(marks.map(|path| OutputFile {
            size: u64::from(path.contains("stamp")),
            ..file(path)
        }));
        let gone = |left_out: usize| -> Vec<_> {
            let mut stale = StaleOutputs::new(&files, Path::new("/yard/demo/main"));
            stale.add(left_out, &[]);
            let gone = files.iter().filter(|file| stale.goes(file));
            gone.map(|file| file.path.to_str().unwrap()).collect()
        };
        // What is beside it and called alike goes as before.
        assert_eq!(
            gone(0),
            [
                "gen/config.status",
                "gen/config.h",
                "gen/stamp-h1",
                "gen/done"
            ]
        );
        // What is made of one source vouches for itself.
        assert_eq!(gone(2), ["src/a.o"]);
    }
}
