//! What a copy of build output must not bring with it: what was made of a file that the new workspace lacks. A tool
//! that looks for changed sources would never find out, and the first build of the branch would be falsely green.
//!
//! It errs on the side of making something again.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::dependencies;
use branchyard_git::{Difference, IndexFile};

/// What is made of one source each and named after it.
const OF_ONE_SOURCE: [&str; 18] = [
    "bc", "cmi", "cmo", "cmx", "dwo", "gcda", "gcno", "gch", "hi", "i", "ii", "lo", "o", "obj",
    "pch", "pyc", "pyo", "su",
];
/// Files of rules that compilers write, one for each of those.
const RULES: [&str; 6] = ["P", "Plo", "Po", "d", "dep", "deps"];
/// What says how things are made, as the beginnings of names, whole names and endings. Nothing is made again because one
/// of them changed.
const RECIPE_BEGINNINGS: [&str; 4] = ["GNUmakefile", "Kbuild", "Makefile", "makefile"];
const RECIPES: [&str; 8] = [
    "BUILD",
    "BUILD.bazel",
    "CMakeLists.txt",
    "SConscript",
    "SConstruct",
    "configure",
    "meson.build",
    "meson_options.txt",
];
const RECIPE_ENDINGS: [&str; 8] = ["ac", "am", "bzl", "cmake", "in", "mak", "make", "mk"];
/// How much of a file tells a static library.
pub(super) const ARCHIVE_BEGIN: u64 = 8;
/// Static libraries, as they begin.
const ARCHIVES: [&[u8]; 2] = [b"!<arch>\n", b"!<thin>\n"];
/// A tree of packages, which is either whole or of no use, and whose files are named after nothing here.
pub(super) const PACKAGES: &str = "node_modules";

/// The files of the commit that a workspace is made for, as far as output is named after them.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// Names up to their first dot.
    stems: HashSet<Vec<u8>>,
    /// The same of files that only the sibling has, and their whole names.
    gone_stems: HashSet<Vec<u8>>,
    gone_names: HashSet<Vec<u8>>,
    /// Something is made in another way.
    has_other_recipes: bool,
}

impl Sources {
    /// Of a workspace that differs from the one with this index.
    pub(super) fn of(index: &IndexFile, difference: &Difference) -> Self {
        let changed = |is_there: bool| {
            let changes = difference.changes.iter();
            let changes = changes.filter(move |change| change.is.is_some() == is_there);
            changes.map(|change| change.path.as_slice())
        };
        let gone: HashSet<&[u8]> = changed(false).collect();
        let stays = index.entries().iter().map(|entry| index.path(entry));
        let stays = stays.filter(|path| !gone.contains(path));
        let there = stays.chain(changed(true));
        Self {
            stems: there.map(|path| stem(path).to_owned()).collect(),
            gone_stems: gone.iter().map(|path| stem(path).to_owned()).collect(),
            gone_names: gone.iter().map(|path| name(path).to_owned()).collect(),
            has_other_recipes: difference
                .changes
                .iter()
                .any(|change| is_recipe(&change.path)),
        }
    }

    /// Whether output of this name may be made of what is not there, or in another way.
    pub(super) fn outdate(&self, path: &Path) -> bool {
        let stem = stem(path.as_os_str().as_bytes());
        self.has_other_recipes
            || self.gone_stems.contains(stem)
            || has_ending(path, &OF_ONE_SOURCE) && !self.stems.contains(stem)
    }

    /// Whether files are gone, of which anything may have been made.
    pub(super) fn lack_any(&self) -> bool {
        !self.gone_names.is_empty()
    }

    /// Counts what was left behind among the files that are gone.
    pub(super) fn miss(&mut self, left_behind: &[PathBuf]) {
        let names = left_behind
            .iter()
            .map(|path| name(path.as_os_str().as_bytes()));
        self.gone_names.extend(names.map(<[u8]>::to_owned));
    }

    /// If a file of rules names a file that is gone: what it says is made.
    pub(super) fn outdate_rules(
        &self,
        path: &Path,
        file: &File,
        size: u64,
    ) -> io::Result<Option<Vec<Vec<u8>>>> {
        let is_looked_at = has_ending(path, &RULES) && self.lack_any();
        if !is_looked_at || size > dependencies::MOST {
            return Ok(None);
        }
        let mut text = vec![0; usize::try_from(size).unwrap_or(0)];
        file.read_exact_at(&mut text, 0)?;
        let misses = self.are_missed_by(&dependencies::mentioned(&text));
        Ok(misses.then(|| dependencies::targets(&text)))
    }

    /// Whether one of these paths names a file that is gone.
    fn are_missed_by(&self, paths: &[Vec<u8>]) -> bool {
        let mut names = paths.iter().map(|path| name(path));
        names.any(|name| self.gone_names.contains(name))
    }
}

/// Whether it is made of one source, and so can be judged by itself. Anything else may be made of anything: an archiver
/// and a linker take what they are given, and a stamp stands for what is not there any more.
pub(super) fn is_of_one_source(path: &Path) -> bool {
    has_ending(path, &OF_ONE_SOURCE) || has_ending(path, &RULES)
}

/// Whether packages are installed there, which are either whole or of no use.
pub(super) fn is_in_packages(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == PACKAGES)
}

/// Whether it is a static library: members stay in it that nothing is made of any more.
pub(super) fn is_archive(begin: &[u8]) -> bool {
    ARCHIVES.iter().any(|magic| begin.starts_with(magic))
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| endings.contains(&ending))
}

fn name(path: &[u8]) -> &[u8] {
    let slash = memchr::memrchr(b'/', path);
    &path[slash.map_or(0, |slash| slash + 1)..]
}

/// A class within another is named after both.
fn stem(path: &[u8]) -> &[u8] {
    let name = name(path);
    // What begins with a dot is not all ending.
    let end = name
        .iter()
        .skip(1)
        .position(|byte| matches!(byte, b'.' | b'$'));
    &name[..end.map_or(name.len(), |end| end + 1)]
}

fn is_recipe(path: &[u8]) -> bool {
    let path = Path::new(OsStr::from_bytes(name(path)));
    let name = path.to_str().unwrap_or_default();
    RECIPES.contains(&name)
        || RECIPE_BEGINNINGS
            .iter()
            .any(|begin| name.starts_with(begin))
        || has_ending(path, &RECIPE_ENDINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> HashSet<Vec<u8>> {
        names
            .iter()
            .map(|name| name.as_bytes().to_owned())
            .collect()
    }

    fn sources() -> Sources {
        Sources {
            stems: set(&["main", "util", "Shape"]),
            gone_stems: set(&["old"]),
            gone_names: set(&["old.h", "old.c"]),
            has_other_recipes: false,
        }
    }

    #[test]
    fn what_is_named_after_a_source_that_is_gone_is_outdated() {
        let sources = sources();
        for (path, expected) in [
            ("obj/main.o", false),
            ("src/old.o", true),
            ("build/old.c.o", true),
            ("bin/old", true),
            ("obj/generated.o", true),
            ("__pycache__/util.cpython-311.pyc", false),
            ("__pycache__/gone.cpython-311.pyc", true),
            ("app", false),
            (".main.d", false),
            ("deps/src_main.d", false),
        ] {
            assert_eq!(sources.outdate(Path::new(path)), expected, "{path}");
        }
        let words = |text: &str| text.split(' ').map(|word| word.into()).collect::<Vec<_>>();
        assert!(sources.are_missed_by(&words("main.o: src/main.c include/old.h")));
        assert!(!sources.are_missed_by(&words("main.o: src/main.c include/bold.h")));
    }

    #[test]
    fn what_is_made_in_another_way_is_outdated() {
        for (path, expected) in [
            ("Makefile", true),
            ("Makefile.inc", true),
            ("build/common.make", true),
            ("SConscript", true),
            ("sub/rules.mk", true),
            ("CMakeLists.txt", true),
            ("configure.ac", true),
            ("src/make.c", false),
        ] {
            assert_eq!(is_recipe(path.as_bytes()), expected, "{path}");
        }
    }
}
