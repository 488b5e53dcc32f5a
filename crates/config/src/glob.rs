//! `build_output`: which files are made by builds, and so are nobody's work.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::globs::Globs;
use super::value::{TextValue, text_value};
use branchyard_model::{self as model, Stars};

/// Globs in the manner of `.gitignore`: one without a slash matches at any depth, one with a slash
/// is relative to the workspace; `*` stays within a segment, `**` crosses them; what lies in a
/// directory that matches, matches too.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<Pattern>")]
pub struct BuildOutput(Globs);

/// Dependency files (`*.d`) are not among them, since so are `conf.d` and sources in D; those that
/// a run leaves behind are recognised as its output anyway.
const DEFAULT: [&str; 6] = ["target", "node_modules", "*.o", "*.a", "*.lo", "*.la"];

impl BuildOutput {
    /// Whether this file or directory, relative to the workspace, is build output.
    pub fn matches(&self, path: &Path) -> bool {
        // Git writes a directory with a slash at its end, which no glob has.
        let path: PathBuf = path.components().collect();
        path.ancestors()
            .filter(|part| !part.as_os_str().is_empty())
            .any(|part| self.0.matches(part))
    }

    /// The globs as they were written.
    pub fn patterns(&self) -> &[String] {
        self.0.patterns()
    }
}

impl Default for BuildOutput {
    fn default() -> Self {
        // A test holds that all of them compile.
        let globs = DEFAULT.iter().flat_map(|text| Pattern::from_text(text));
        Self::try_from(globs.collect::<Vec<_>>()).unwrap_or(Self(Globs::none()))
    }
}

impl TryFrom<Vec<Pattern>> for BuildOutput {
    type Error = String;

    fn try_from(globs: Vec<Pattern>) -> Result<Self, String> {
        let globs = globs.into_iter().map(|Pattern { text, glob }| (text, glob));
        Globs::new(globs.collect()).map(Self)
    }
}

struct Pattern {
    text: String,
    /// As it is matched against whole paths.
    glob: String,
}

impl TextValue for Pattern {
    const EXPECTED: &'static str = r#"a glob such as "target", "*.o" or "web/dist""#;

    fn from_text(text: &str) -> Result<Self, String> {
        if text.starts_with('!') {
            return Err("a glob cannot be negated here".to_owned());
        }
        let body = text.strip_suffix('/').unwrap_or(text);
        let anchored = body.contains('/');
        let body = body.strip_prefix('/').unwrap_or(body);
        if body.chars().all(|c| matches!(c, '*' | '/' | '.')) {
            return Err("it would match everything or nothing".to_owned());
        }
        if body.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err("it has an empty part, '.' or '..'".to_owned());
        }
        let glob = if anchored {
            body.to_owned()
        } else {
            format!("**/{body}")
        };
        model::Globs::one(&glob, Stars::WithinSegment)?;
        let text = text.to_owned();
        Ok(Self { text, glob })
    }
}
text_value!(Pattern);

#[cfg(test)]
mod tests {
    use super::*;

    fn output(patterns: &[&str]) -> BuildOutput {
        let globs = patterns.iter().map(|text| Pattern::from_text(text));
        BuildOutput::try_from(globs.collect::<Result<Vec<_>, _>>().unwrap()).unwrap()
    }

    #[test]
    fn a_pattern_without_a_slash_matches_at_any_depth_and_all_below() {
        let output = output(&["target", "*.o"]);
        for path in [
            "target",
            "target/",
            "a/target/",
            "target/debug/x",
            "a/b/target/y",
            "main.o",
            "src/deep/x.o",
        ] {
            assert!(output.matches(Path::new(path)), "{path}");
        }
        for path in ["targets", "src/target.c", "main.c", "x.o.c", "my-target/x"] {
            assert!(!output.matches(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_pattern_with_a_slash_is_relative_to_the_workspace() {
        let output = output(&["web/dist/", "/out", "gen/*.c", "deep/**/tmp"]);
        for path in [
            "web/dist/a/b",
            "out/x",
            "gen/a.c",
            "deep/tmp",
            "deep/a/b/tmp/c",
        ] {
            assert!(output.matches(Path::new(path)), "{path}");
        }
        for path in ["a/web/dist", "a/out", "gen/sub/a.c", "tmp"] {
            assert!(!output.matches(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn nothing_is_build_output_by_an_empty_list() {
        assert!(!output(&[]).matches(Path::new("target")));
    }

    #[test]
    fn the_defaults_compile() {
        assert_eq!(BuildOutput::default().patterns(), DEFAULT);
        assert!(BuildOutput::default().matches(Path::new("lib/x.a")));
    }

    #[test]
    fn patterns_that_would_swallow_work_or_mean_nothing_are_refused() {
        for pattern in [
            "", "/", "*", "**", "**/*", ".", "..", "../x", "a//b", "!a", "[a", "a/./b",
        ] {
            assert!(Pattern::from_text(pattern).is_err(), "{pattern}");
        }
    }
}
