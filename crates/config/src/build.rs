//! `[build]`: what every build gets, and what callers may add.

use std::borrow::Cow;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::count::count;
use super::value::{Text, TextKind};
use super::{EnvName, PortRange};

/// What every build gets, and what callers may add.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [build]")]
pub struct BuildConfig {
    /// The PATH of builds, absolute directories only.
    #[schemars(extend("example" = "/usr/local/bin:/usr/bin:/bin", "x-default" = "the daemon's own"))]
    pub path: Option<SearchPath>,
    /// How many jobs a `make` run has that says nothing of `-j`. A `-j` without a number is always a share of the cores: all
    /// of them, divided by how many runs there are when it starts.
    #[serde(deserialize_with = "count")]
    #[schemars(extend("example" = 4, "x-default" = "one, as make itself has it"))]
    pub jobs: Option<usize>,
    /// Extra `make` arguments that callers may pass, each given whole.
    pub allow_make_args: Vec<MakeArg>,
    /// Extra environment variables that callers may set.
    pub allow_env: Vec<EnvName>,
    /// The ports that servers of builds should listen on. Each workspace gets ten in a row, which its builds find in
    /// `BRANCHYARD_PORT` and `BRANCHYARD_PORT_1` to `BRANCHYARD_PORT_9`, and keeps them until it is removed.
    pub ports: PortRange,
}

impl Default for BuildConfig {
    fn default() -> Self {
        Self {
            path: None,
            jobs: None,
            allow_make_args: Vec::new(),
            allow_env: Vec::new(),
            ports: PortRange::usual(),
        }
    }
}

/// A `PATH`: absolute directories only, since a relative one would be looked up in the workspace.
pub type SearchPath = Text<SearchPaths>;
/// A `make` argument, exactly as a caller may write it.
pub type MakeArg = Text<MakeArgs>;

#[derive(Clone, PartialEq, Eq)]
pub enum SearchPaths {}
#[derive(Clone, PartialEq, Eq)]
pub enum MakeArgs {}

impl TextKind for SearchPaths {
    const EXPECTED: &'static str =
        r#"absolute directories separated by ':', such as "/usr/local/bin:/usr/bin:/bin""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        if text.contains('\0') {
            return Err("it holds a NUL".to_owned());
        }
        match text.split(':').find(|part| !Path::new(part).is_absolute()) {
            Some("") => Err("it has an empty part, which means the current directory".to_owned()),
            Some(part) => Err(format!("{part:?} is not absolute")),
            None => Ok(text.into()),
        }
    }
}
impl TextKind for MakeArgs {
    const EXPECTED: &'static str = r#"one argument of make, such as "--trace" or "V=1""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        if text.chars().any(char::is_control) {
            return Err("it holds a control character".to_owned());
        }
        Ok(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_path_has_absolute_directories_only() {
        assert!(SearchPath::parse("/usr/bin:/bin").is_ok());
        for path in [
            "",
            "bin",
            "/bin:",
            "/bin::/usr/bin",
            "/bin:./x",
            "/bin:~/bin",
        ] {
            assert!(SearchPath::parse(path).is_err(), "{path} was accepted");
        }
    }
}
