//! All lines of `path:` together: where to look, what is meant, and what the paths in the archive are relative to.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::error::ArtifactError;
use crate::job_dirs::JobDirs;
use crate::pattern::{PathPattern, Progress};

/// More lines than this are refused.
const MAX_PATTERNS: usize = 1000;

#[derive(Debug)]
pub(crate) struct PathSearch<'a> {
    dirs: &'a JobDirs,
    patterns: Vec<PathPattern>,
}

/// A place where something may match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchPath {
    pub(crate) dir: usize,
    pub(crate) path: PathBuf,
}

/// How far each pattern has matched a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matching(Vec<Progress>);

impl<'a> PathSearch<'a> {
    pub(crate) fn parse(lines: &[String], dirs: &'a JobDirs) -> Result<Self, ArtifactError> {
        let mut patterns = Vec::new();
        // A caller may pass the whole text of `path:` as well.
        for line in lines.iter().flat_map(|line| line.lines()) {
            patterns.extend(PathPattern::parse(line, dirs)?);
            if patterns.len() > MAX_PATTERNS {
                return Err(ArtifactError::pattern(
                    line,
                    "`path` has more than 1000 lines",
                ));
            }
        }
        if patterns.iter().all(|pattern| pattern.leaves_out()) {
            let why = "no line says what to keep";
            return Err(ArtifactError::pattern(&lines.join(" "), why));
        }
        Ok(Self { dirs, patterns })
    }

    /// All that is in a directory.
    pub(crate) fn everything(dirs: &'a JobDirs) -> Result<Self, ArtifactError> {
        Self::parse(&[".".to_owned()], dirs)
    }

    /// What comes before the globs, without what lies in another of them.
    pub(crate) fn search_paths(&self) -> Vec<SearchPath> {
        let kept = self.patterns.iter().filter(|pattern| !pattern.leaves_out());
        let all: Vec<_> = kept
            .map(|pattern| SearchPath {
                dir: pattern.dir(),
                path: pattern.literal(),
            })
            .collect();
        let mut paths: Vec<SearchPath> = Vec::new();
        for path in &all {
            let is_inside = |other: &SearchPath| {
                other.dir == path.dir && other != path && path.path.starts_with(&other.path)
            };
            if !all.iter().any(is_inside) && !paths.contains(path) {
                paths.push(path.clone());
            }
        }
        paths
    }

    /// Where one of the directories of the job is.
    pub(crate) fn real(&self, dir: usize) -> &Path {
        &self.dirs.all()[dir].1.real
    }

    /// What the job calls a path in one of its directories.
    pub(crate) fn seen(&self, dir: usize, path: &Path) -> PathBuf {
        self.dirs.all()[dir].1.seen.join(path)
    }

    /// What the paths in the archive are relative to, given all that was found. It is the least common ancestor of the
    /// search paths, and of a single file that was named the directory that it is in.
    pub(crate) fn archive_root(&self, found: &[SearchPath]) -> PathBuf {
        let paths = self.search_paths();
        let mut seen = paths.iter().map(|path| self.seen(path.dir, &path.path));
        let Some(mut root) = seen.next() else {
            return PathBuf::new();
        };
        if paths.len() == 1 && paths == found {
            root.pop();
            return root;
        }
        for path in seen {
            while !path.starts_with(&root) && root.pop() {}
        }
        root
    }

    /// Before anything of a path in `dir`.
    pub(crate) fn start(&self, dir: usize) -> Matching {
        let starts = self
            .patterns
            .iter()
            .map(|pattern| match pattern.dir() == dir {
                true => pattern.start(),
                false => Progress::NONE,
            });
        Matching(starts.collect())
    }

    pub(crate) fn step(&self, matching: &Matching, name: &OsStr) -> Matching {
        let each = self.patterns.iter().zip(&matching.0);
        Matching(
            each.map(|(pattern, progress)| pattern.step(*progress, name))
                .collect(),
        )
    }

    /// Whether a directory is meant.
    pub(crate) fn keeps_dir(&self, own: &Matching) -> bool {
        let each = self.patterns.iter().zip(&own.0);
        last_word(each.filter(|(pattern, own)| pattern.is_match(**own)))
    }

    /// Whether a file in the directory `parent` is meant.
    pub(crate) fn keeps_file(&self, parent: &Matching, own: &Matching) -> bool {
        let each = self.patterns.iter().zip(parent.0.iter().zip(&own.0));
        last_word(each.filter(|(pattern, (parent, own))| pattern.matches_file(**parent, **own)))
    }

    /// Whether anything in a directory can be meant.
    pub(crate) fn goes_on(&self, own: &Matching) -> bool {
        let mut each = self.patterns.iter().zip(&own.0);
        each.any(|(pattern, own)| !pattern.leaves_out() && own.goes_on())
    }
}

/// The last pattern that matches decides.
fn last_word<'p, T>(matching: impl Iterator<Item = (&'p PathPattern, T)>) -> bool {
    matching
        .last()
        .is_some_and(|(pattern, _)| !pattern.leaves_out())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_dirs::JobDir;

    fn dirs() -> JobDirs {
        let dir = |seen: &str| JobDir {
            seen: seen.into(),
            real: "/real".into(),
        };
        JobDirs {
            root: dir("/yard/app"),
            home: Some(dir("/home/job")),
            mounts: Vec::new(),
        }
    }

    fn lines(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_archive_root_is_the_least_common_ancestor_of_the_search_paths() {
        let dirs = dirs();
        for (text, root) in [
            ("path/to/artifact/", "/yard/app/path/to/artifact"),
            ("path/to/*/directory/foo?.txt", "/yard/app/path/to"),
            (
                "path/output/bin/ path/output/test-results !path/**/*.tmp",
                "/yard/app/path/output",
            ),
            ("foo/ bar/", "/yard/app"),
            ("foo/a/* foo/b/c/* foo/d/", "/yard/app/foo"),
            ("foo/* foo/bar/*", "/yard/app/foo"),
            ("foo/a.txt foo/b.txt", "/yard/app/foo"),
            ("foo foobar", "/yard/app"),
            ("x ~/y", "/"),
            ("~/a/x /home/job/a/y", "/home/job/a"),
            ("*.log", "/yard/app"),
        ] {
            let search = PathSearch::parse(&lines(text), &dirs).unwrap();
            assert_eq!(search.archive_root(&[]), Path::new(root), "{text}");
        }
        let file = |path: &str| SearchPath {
            dir: 0,
            path: path.into(),
        };
        let search = PathSearch::parse(&lines("a/b/c.txt"), &dirs).unwrap();
        let root = search.archive_root(&[file("a/b/c.txt")]);
        assert_eq!(root, Path::new("/yard/app/a/b"));
        let search = PathSearch::parse(&lines("a/b/c a/d"), &dirs).unwrap();
        let root = search.archive_root(&[file("a/b/c"), file("a/d")]);
        assert_eq!(root, Path::new("/yard/app/a"));
    }

    #[test]
    fn the_last_line_that_matches_decides() {
        let dirs = dirs();
        let keeps = |text: &str, path: &str| {
            let search = PathSearch::parse(&lines(text), &dirs).unwrap();
            let mut parent = search.start(0);
            let mut own = parent.clone();
            for name in path.split('/') {
                let next = search.step(&own, OsStr::new(name));
                parent = std::mem::replace(&mut own, next);
            }
            search.keeps_file(&parent, &own)
        };
        for (text, path, expected) in [
            ("a !a/b", "a/b/c", false),
            ("a !a/b", "a/c", true),
            ("a !a/b a/b/c", "a/b/c", true),
            ("!a/b a", "a/b", true),
            ("path !path/**/*.tmp", "path/x/y.tmp", false),
            ("path !path/**/*.tmp", "path/x/y.txt", true),
            ("a !~/b", "a/b", true),
        ] {
            assert_eq!(keeps(text, path), expected, "{text} {path}");
        }
    }

    #[test]
    fn only_directories_where_something_can_match_are_looked_into() {
        let dirs = dirs();
        let search = PathSearch::parse(&lines("*.log src/**/x !src/deep"), &dirs).unwrap();
        let into = |path: &str| {
            let names = path.split('/').map(OsStr::new);
            search.goes_on(&names.fold(search.start(0), |own, name| search.step(&own, name)))
        };
        assert!(into("src") && into("src/a/b"));
        assert!(!into("node_modules"));
    }

    #[test]
    fn a_list_that_keeps_nothing_is_refused() {
        for text in ["", "!a", "#a"] {
            assert!(PathSearch::parse(&lines(text), &dirs()).is_err(), "{text}");
        }
        assert!(PathSearch::parse(&vec!["a".to_owned(); 1001], &dirs()).is_err());
    }
}
