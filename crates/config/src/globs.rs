//! Lists of globs as the operator or a caller wrote them, of names and of files, and what they match. `*` stays within
//! a segment, `**` crosses them.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

use super::value::{self, Text, TextKind};
use branchyard_model::{self as model, BranchName, RepoName, Stars};

/// Two are equal if they were written the same way.
#[derive(Deserialize)]
#[serde(try_from = "Vec<Text<Of>>", bound = "Of: GlobKind")]
pub struct Globs<Of> {
    patterns: Vec<String>,
    set: model::Globs,
    of: PhantomData<fn(&Of)>,
}

/// What globs of a kind mean, where that is more than what is written.
pub trait GlobKind: TextKind {
    fn meant(text: &str) -> Cow<'_, str> {
        text.into()
    }
}

/// Globs of names of one kind.
pub struct Names<Name>(PhantomData<Name>);
/// Globs of files, in the manner of `.gitignore`: one without a slash matches at any depth, one with a slash is relative
/// to the workspace; what lies in a directory that matches, matches too.
pub struct FilePaths;

/// A set of names of one kind.
pub type NameGlobs<Name> = Globs<Names<Name>>;
/// A set of branches.
pub type BranchGlobs = NameGlobs<BranchName>;
/// A set of repos.
pub type RepoGlobs = NameGlobs<RepoName>;
/// Files of a workspace.
pub type FileGlobs = Globs<FilePaths>;
/// Which files are made by builds, and so hold no work.
pub type BuildOutput = FileGlobs;

/// What most producers of JUnit reports call them.
const REPORTS: [&str; 2] = ["junit.xml", "TEST-*.xml"];

const EVERYTHING: &str = "**";
/// Dependency files (`*.d`) are not among them, since so are `conf.d` and sources in D; those that
/// a run leaves behind are recognised as its output anyway.
const BUILD_OUTPUT: [&str; 6] = ["target", "node_modules", "*.o", "*.a", "*.lo", "*.la"];

impl<Of: GlobKind> Globs<Of> {
    /// Of what callers wrote, or what is wrong with it.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let globs: Result<Vec<Text<Of>>, _> = patterns.into_iter().map(value::parse).collect();
        Self::try_from(globs?)
    }

    /// The set of `patterns`, each of which is known to be a glob: a test holds that the built-in ones are.
    pub(super) fn of(patterns: &[&str]) -> Self {
        Self::parse(patterns.iter().copied()).unwrap_or(Self {
            patterns: Vec::new(),
            set: model::Globs::none(),
            of: PhantomData,
        })
    }
}

impl<Of> Globs<Of> {
    /// The globs as they were written.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

impl<Name> NameGlobs<Name> {
    pub fn everything() -> Self {
        Self::of(&[EVERYTHING])
    }

    pub fn is_everything(&self) -> bool {
        self.patterns.iter().any(|glob| glob == EVERYTHING)
    }
}

impl BranchGlobs {
    pub fn matches(&self, branch: &BranchName) -> bool {
        self.set.matches(branch.as_str())
    }
}

impl RepoGlobs {
    pub fn matches(&self, repo: &RepoName) -> bool {
        self.set.matches(repo.as_str())
    }
}

impl FileGlobs {
    /// The reports of tests, where the operator names none.
    pub fn usual_reports() -> Self {
        Self::of(&REPORTS)
    }

    /// Whether this file or directory, relative to the workspace, is meant.
    pub fn matches(&self, path: &Path) -> bool {
        // Git writes a directory with a slash at its end, which no glob has.
        let path: PathBuf = path.components().collect();
        path.ancestors()
            .filter(|part| !part.as_os_str().is_empty())
            .any(|part| self.set.matches(part))
    }
}

impl Default for BuildOutput {
    fn default() -> Self {
        Self::of(&BUILD_OUTPUT)
    }
}

impl<Name> TextKind for Names<Name> {
    const EXPECTED: &'static str = r#"a glob such as "main", "release/*" or "team/**""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        if text.is_empty() || text.starts_with('!') {
            return Err("a glob names what is meant, and cannot be negated".to_owned());
        }
        model::Globs::one(text, Stars::WithinSegment)?;
        Ok(text.into())
    }
}
impl<Name> GlobKind for Names<Name> {}

impl TextKind for FilePaths {
    const EXPECTED: &'static str = r#"a glob such as "target", "*.o" or "web/dist""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        if text.starts_with('!') {
            return Err("a glob cannot be negated here".to_owned());
        }
        let meant = Self::meant(text);
        let body = meant.strip_prefix("**/").unwrap_or(&meant);
        if body.chars().all(|c| matches!(c, '*' | '/' | '.')) {
            return Err("it would match everything or nothing".to_owned());
        }
        if body.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err("it has an empty part, '.' or '..'".to_owned());
        }
        model::Globs::one(&meant, Stars::WithinSegment)?;
        Ok(text.into())
    }
}

impl GlobKind for FilePaths {
    fn meant(text: &str) -> Cow<'_, str> {
        let body = text.strip_suffix('/').unwrap_or(text);
        match body.contains('/') {
            true => body.strip_prefix('/').unwrap_or(body).into(),
            false => format!("**/{body}").into(),
        }
    }
}

impl<Of: GlobKind> TryFrom<Vec<Text<Of>>> for Globs<Of> {
    type Error = String;

    fn try_from(globs: Vec<Text<Of>>) -> Result<Self, String> {
        let meant: Vec<_> = globs.iter().map(|glob| Of::meant(glob.as_str())).collect();
        Ok(Self {
            set: model::Globs::all(meant.iter().map(|glob| &**glob), Stars::WithinSegment)?,
            patterns: globs.iter().map(Text::to_string).collect(),
            of: PhantomData,
        })
    }
}

impl<Of> Serialize for Globs<Of> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.patterns.serialize(to)
    }
}

impl<Of> JsonSchema for Globs<Of> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Globs".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<String>::json_schema(generator)
    }
}

impl<Of> Clone for Globs<Of> {
    fn clone(&self) -> Self {
        Self {
            patterns: self.patterns.clone(),
            set: self.set.clone(),
            of: PhantomData,
        }
    }
}

impl<Of> PartialEq for Globs<Of> {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}
impl<Of> Eq for Globs<Of> {}

impl<Of> fmt::Debug for Globs<Of> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.patterns).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_segment_unless_there_are_two() {
        let globs = BranchGlobs::of(&["main", "release/*", "team/**"]);
        for (name, expected) in [
            ("main", true),
            ("maintenance", false),
            ("release/1", true),
            ("release/1/fix", false),
            ("team/a/b", true),
            ("teams", false),
        ] {
            let branch = BranchName::parse(name).unwrap();
            assert_eq!(globs.matches(&branch), expected, "{name}");
        }
    }

    #[test]
    fn what_is_no_glob_is_refused() {
        for text in ["", "!main", "[a"] {
            assert!(RepoGlobs::parse([text]).is_err(), "{text:?}");
        }
    }

    #[test]
    fn they_are_written_as_they_were_read() {
        let globs: RepoGlobs = serde_json::from_str(r#"["app-*","**"]"#).unwrap();
        assert!(globs.is_everything() && RepoGlobs::everything().is_everything());
        assert!(!BranchGlobs::of(&["*"]).is_everything());
        assert_eq!(serde_json::to_string(&globs).unwrap(), r#"["app-*","**"]"#);
    }

    fn output(patterns: &[&str]) -> BuildOutput {
        BuildOutput::parse(patterns.iter().copied()).unwrap()
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
        assert_eq!(BuildOutput::default().patterns(), BUILD_OUTPUT);
        assert!(BuildOutput::default().matches(Path::new("lib/x.a")));
    }

    #[test]
    fn patterns_that_would_swallow_work_or_mean_nothing_are_refused() {
        for pattern in [
            "", "/", "*", "**", "**/*", ".", "..", "../x", "a//b", "!a", "[a", "a/./b",
        ] {
            assert!(BuildOutput::parse([pattern]).is_err(), "{pattern}");
        }
    }
}
