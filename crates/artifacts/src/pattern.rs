//! One line of `path:`, in the language of actions/upload-artifact and actions/cache: `*`, `?` and `[ ]` within a segment,
//! `**` across segments, a leading `!` leaves out. A directory that matches stands for all that is in it.
//!
//! A walk asks segment by segment, so it does not look into directories where nothing can match.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use branchyard_model::{Globs, Stars, check_glob};

use crate::error::ArtifactError;
use crate::job_dirs::JobDirs;

/// Positions are bits, and there is one more of them than there are segments.
const MAX_SEGMENTS: usize = 120;

#[derive(Debug)]
pub(crate) struct PathPattern {
    dir: usize,
    leaves_out: bool,
    /// It ends with a slash, and so names no file.
    only_dirs: bool,
    segments: Vec<Segment>,
}

#[derive(Debug)]
enum Segment {
    Name(String),
    Glob(Globs),
    /// `**`: any number of segments.
    Any,
}

/// How far a path has matched: the positions in the pattern at which the rest of it may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress(u128);

impl PathPattern {
    /// `None` of an empty line and of a comment.
    pub(crate) fn parse(line: &str, dirs: &JobDirs) -> Result<Option<Self>, ArtifactError> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let wrong = |why: &str| ArtifactError::pattern(line, why);
        check_glob(line).map_err(|why| wrong(&why))?;
        if line.contains(char::is_control) {
            return Err(wrong("it has a control character"));
        }
        let mut text = line;
        let mut leaves_out = false;
        while let Some(rest) = text.strip_prefix('!') {
            (text, leaves_out) = (rest.trim_start(), !leaves_out);
        }
        if text.is_empty() {
            return Err(wrong("it names nothing"));
        }
        let parts = text.split('/').filter(|part| !matches!(*part, "" | "."));
        let mut parts: Vec<&str> = parts.collect();
        if parts.contains(&"..") {
            return Err(wrong("`..` is not allowed"));
        }
        let (dir, inside) = place(text, &parts, dirs).map_err(wrong)?;
        parts.drain(..inside);
        if parts.len() > MAX_SEGMENTS {
            return Err(wrong("it has more than 120 segments"));
        }
        let segments: Result<_, _> = parts.into_iter().map(Segment::parse).collect();
        Ok(Some(Self {
            dir,
            leaves_out,
            only_dirs: text.ends_with('/'),
            segments: segments.map_err(|why| wrong(&why))?,
        }))
    }

    /// Which directory of the job it is relative to.
    pub(crate) fn dir(&self) -> usize {
        self.dir
    }

    /// Whether it is about what is not meant.
    pub(crate) fn leaves_out(&self) -> bool {
        self.leaves_out
    }

    /// The path before the first glob.
    pub(crate) fn literal(&self) -> PathBuf {
        let names = self.segments.iter().map_while(|segment| match segment {
            Segment::Name(name) => Some(name),
            _ => None,
        });
        names.collect()
    }

    /// Before anything of a path.
    pub(crate) fn start(&self) -> Progress {
        self.past_any(1)
    }

    /// After one more segment of it.
    pub(crate) fn step(&self, progress: Progress, name: &OsStr) -> Progress {
        // What lies in a directory that matches, matches.
        if self.is_match(progress) {
            return progress;
        }
        let mut next = 0;
        for (at, segment) in self.segments.iter().enumerate() {
            if progress.0 >> at & 1 == 0 {
                continue;
            }
            match segment {
                Segment::Any => next |= 1 << at,
                Segment::Name(literal) if name == OsStr::new(literal) => next |= 1 << (at + 1),
                Segment::Glob(glob) if glob.matches(Path::new(name)) => next |= 1 << (at + 1),
                _ => {}
            }
        }
        self.past_any(next)
    }

    /// `**` may also stand for nothing.
    fn past_any(&self, mut positions: u128) -> Progress {
        for (at, segment) in self.segments.iter().enumerate() {
            if matches!(segment, Segment::Any) {
                positions |= (positions >> at & 1) << (at + 1);
            }
        }
        Progress(positions)
    }

    pub(crate) fn is_match(&self, progress: Progress) -> bool {
        progress.0 >> self.segments.len() & 1 == 1
    }

    /// The same of a file, by the progress of the directory that it is in and its own.
    pub(crate) fn matches_file(&self, parent: Progress, own: Progress) -> bool {
        self.is_match(own) && (!self.only_dirs || self.is_match(parent))
    }
}

impl Progress {
    pub(crate) const NONE: Self = Self(0);

    /// Whether anything below can match.
    pub(crate) fn goes_on(self) -> bool {
        self != Self::NONE
    }
}

impl Segment {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "**" {
            return Ok(Self::Any);
        }
        if let Some(name) = literal(text) {
            return Ok(Self::Name(name));
        }
        // Braces have no meaning here, and do in globs elsewhere.
        let escaped = text.replace('{', "[{]").replace('}', "[}]");
        Globs::one(&escaped, Stars::WithinSegment).map(Self::Glob)
    }
}

/// A segment without wildcards, as the name that it means. `[x]` means `x`: that is how a wildcard is quoted.
fn literal(segment: &str) -> Option<String> {
    let mut name = String::new();
    let mut chars = segment.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' | '?' => return None,
            '\\' => name.push(chars.next()?),
            '[' => match chars.as_str().split_once(']') {
                // A class that does not end is none.
                None => name.push('['),
                Some((quoted, rest)) => {
                    let mut of_class = quoted.chars();
                    match (of_class.next(), of_class.next()) {
                        (Some(quoted), None) if !"!^\\".contains(quoted) => name.push(quoted),
                        _ => return None,
                    }
                    chars = rest.chars();
                }
            },
            c => name.push(c),
        }
    }
    Some(name)
}

/// The directory of the job that a pattern is in, and how many of its segments lead there.
fn place(text: &str, parts: &[&str], dirs: &JobDirs) -> Result<(usize, usize), &'static str> {
    let home = || {
        let homes = dirs.all().iter().position(|(name, _)| name == "~");
        homes.ok_or("`~` is not known here")
    };
    match text.split('/').next() {
        Some("~") => return Ok((home()?, 1)),
        Some("") => {}
        _ => return Ok((0, 0)),
    }
    let literals = parts.iter().map_while(|part| literal(part));
    let seen = Path::new("/").join(literals.collect::<PathBuf>());
    let found = dirs.find(&seen);
    let (dir, rest) = found.ok_or("it is absolute, and outside of the directories of the job")?;
    let within = rest.components().count();
    Ok((dir, seen.components().count() - 1 - within))
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
            mounts: vec![dir("/tmp"), dir("/tmp/inner")],
        }
    }

    fn pattern(line: &str) -> PathPattern {
        PathPattern::parse(line, &dirs()).unwrap().unwrap()
    }

    fn matches(line: &str, path: &str) -> bool {
        let pattern = pattern(line);
        let mut parent = pattern.start();
        let mut own = parent;
        for name in path.split('/') {
            (parent, own) = (own, pattern.step(own, OsStr::new(name)));
        }
        pattern.matches_file(parent, own)
    }

    #[test]
    fn wildcards_mean_what_upload_artifact_says() {
        for (line, path, expected) in [
            (
                "path/to/artifact/world.txt",
                "path/to/artifact/world.txt",
                true,
            ),
            (
                "path/to/artifact/world.txt",
                "path/to/artifact/world.txt.bak",
                false,
            ),
            ("path/to/artifact/", "path/to/artifact/a/b", true),
            ("path/to/artifact", "path/to/artifact/a/b", true),
            ("path/to/artifact", "path/to/artifacts/a", false),
            ("path/to/file/", "path/to/file", false),
            ("path/**/[abc]rtifac?/*", "path/artifact/x", true),
            ("path/**/[abc]rtifac?/*", "path/some/where/crtifacX/x", true),
            (
                "path/**/[abc]rtifac?/*",
                "path/some/where/drtifact/x",
                false,
            ),
            ("path/**/[abc]rtifac?/*", "path/artifact", false),
            (
                "path/to/*/directory/foo?.txt",
                "path/to/some/directory/foo1.txt",
                true,
            ),
            (
                "path/to/*/directory/foo?.txt",
                "path/to/some/directory/foo.txt",
                false,
            ),
            (
                "path/to/*/directory/foo?.txt",
                "path/to/a/b/directory/foo1.txt",
                false,
            ),
            ("!path/**/*.tmp", "path/output/x.tmp", true),
            ("**/*.tmp", "x.tmp", true),
            ("*.log", "deep/x.log", false),
            ("*.log", ".hidden.log", true),
            ("a**b", "axyb", true),
            ("a**b", "a/b", false),
            ("**", "any/thing", true),
            (".", "any/thing", true),
            ("./a", "a", true),
            ("a//b/./c", "a/b/c", true),
            ("[!a]x", "bx", true),
            ("[!a]x", "ax", false),
            ("[[]x]", "[x]", true),
            ("a[", "a[", true),
            ("[*]", "*", true),
            ("[*]", "a", false),
            ("\\*", "*", true),
            ("{a,b}*", "{a,b}c", true),
            ("{a,b}*", "ac", false),
            ("ünï/*", "ünï/x", true),
            ("~/cache", "cache/x", true),
            ("/yard/app/x/*", "x/y", true),
            ("/yard/app", "x/y", true),
            ("/tmp/inner/x", "x", true),
        ] {
            assert_eq!(matches(line, path), expected, "{line} {path}");
        }
    }

    #[test]
    fn a_pattern_says_which_directory_it_is_in_and_what_comes_before_its_globs() {
        for (line, dir, literal) in [
            ("a/b/*.c", 0, "a/b"),
            ("**", 0, ""),
            ("~/.cargo/registry", 1, ".cargo/registry"),
            ("~", 1, ""),
            ("/home/job/x", 1, "x"),
            ("/tmp/x/[a]/?", 2, "x/a"),
            ("/tmp/inner/**/y", 3, ""),
            ("! /yard/app/z", 0, "z"),
        ] {
            let pattern = pattern(line);
            assert_eq!(
                (pattern.dir, pattern.literal()),
                (dir, literal.into()),
                "{line}"
            );
        }
        assert!(pattern("!x").leaves_out && !pattern("!!x").leaves_out);
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_its_name() {
        let segments = "a/".repeat(121);
        let long = "a".repeat(2000);
        for line in [
            "../x",
            "a/../b",
            "a/..",
            "/etc/passwd",
            "/",
            "/*/app",
            "/yard",
            "!",
            "! ",
            "[a-]*]*[",
            "a\0b",
            "a\x1bb",
            &segments,
            &long,
        ] {
            let error = PathPattern::parse(line, &dirs()).unwrap_err();
            let start: String = line.trim().chars().take(3).collect();
            let start = start.escape_debug().to_string();
            assert!(error.to_string().contains(&start), "{line:?}: {error}");
        }
        let no_home = JobDirs::only(dirs().root);
        assert!(PathPattern::parse("~/x", &no_home).is_err());
        for line in ["", "  ", "# comment"] {
            assert!(PathPattern::parse(line, &dirs()).unwrap().is_none());
        }
    }
}
