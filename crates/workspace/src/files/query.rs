//! What a search looks for, and from where it goes on.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use regex::bytes::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use branchyard_model::{Globs, Problem, Stars, regex};

const MAX_CONTEXT: usize = 10;
const DEFAULT_MATCHES: usize = 100;
const MAX_MATCHES: usize = 1_000;
/// Whatever a cursor cannot hold as it is.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// What `grep` takes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepRequest {
    /// A regular expression, matched against each line.
    #[schemars(length(min = 1))]
    pub pattern: String,
    /// A directory or file in the workspace; the workspace itself if left out.
    #[serde(default)]
    pub path: String,
    /// Only files whose path matches. Without a slash the name alone counts.
    pub glob: Option<String>,
    #[serde(default)]
    pub ignore_case: bool,
    /// Lines to tell before and after each match.
    #[serde(default)]
    #[schemars(range(max = MAX_CONTEXT))]
    pub context: usize,
    /// Matches to tell; 100 if left out.
    #[schemars(range(min = 1, max = MAX_MATCHES))]
    pub limit: Option<usize>,
    /// The `next` of the answer before.
    pub cursor: Option<String>,
}

/// A request that makes sense.
#[derive(Debug, Clone)]
pub struct Grep {
    pub(super) pattern: Regex,
    pub(super) path: String,
    pub(super) glob: Option<Globs>,
    pub(super) context: usize,
    pub(super) limit: usize,
    pub(super) from: Option<SearchCursor>,
}

/// All files before this one, and its lines up to this one, were searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchCursor {
    pub(super) path: PathBuf,
    pub(super) line: u64,
}

impl SearchCursor {
    pub(super) fn after(path: &Path, line: u64) -> Self {
        let path = path.to_owned();
        Self { path, line }
    }

    pub(super) fn write(&self) -> String {
        let path = percent_encode(self.path.as_os_str().as_bytes(), ESCAPED);
        format!("{}:{path}", self.line)
    }

    fn read(text: &str) -> Option<Self> {
        let (line, path) = text.split_once(':')?;
        let path: Vec<u8> = percent_decode_str(path).collect();
        Some(Self {
            path: OsStr::from_bytes(&path).into(),
            line: line.parse().ok()?,
        })
    }
}

impl GrepRequest {
    pub fn check(self) -> Result<Grep, Problem> {
        if self.pattern.is_empty() {
            return Err(Problem::unprocessable("pattern", "the pattern is empty"));
        }
        let pattern = regex(&self.pattern, |builder| {
            builder.case_insensitive(self.ignore_case);
        });
        let pattern = pattern.map_err(|error| Problem::unprocessable("pattern", error))?;
        let limit = self.limit.unwrap_or(DEFAULT_MATCHES);
        for (field, value, least, most) in [
            ("context", self.context, 0, MAX_CONTEXT),
            ("limit", limit, 1, MAX_MATCHES),
        ] {
            if !(least..=most).contains(&value) {
                let rule = format!("{field} is at least {least} and at most {most}");
                return Err(Problem::unprocessable(field, rule));
            }
        }
        let from = self.cursor.map(|text| {
            SearchCursor::read(&text).ok_or_else(|| {
                Problem::unprocessable("cursor", format!("{text:?} is not a cursor of a search"))
                    .help("pass on what the answer before gave, as it is")
            })
        });
        Ok(Grep {
            pattern,
            path: self.path,
            glob: self.glob.as_deref().map(glob).transpose()?,
            context: self.context,
            limit,
            from: from.transpose()?,
        })
    }
}

fn glob(text: &str) -> Result<Globs, Problem> {
    let anchored = match text.contains('/') {
        true => text.trim_start_matches('/').to_owned(),
        false => format!("**/{text}"),
    };
    Globs::one(&anchored, Stars::WithinSegment)
        .map_err(|rule| Problem::unprocessable("glob", format!("this is no glob: {rule}")))
}
