//! `[build]`: what every build gets, and what callers may add.

use std::ffi::OsString;
use std::path::Path;

use serde::Deserialize;

use super::EnvName;
use super::count::optional;
use super::value::{TextValue, text_value};

/// What holds for the builds of all repos.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section [build]")]
pub struct BuildConfig {
    /// The `PATH` of builds. Default: the daemon's own.
    pub path: Option<SearchPath>,
    /// How many jobs a `make` run has that names no number. Default: one, as make has it.
    #[serde(deserialize_with = "optional")]
    pub jobs: Option<usize>,
    /// Extra `make` arguments that callers may pass, each given whole. Default none.
    pub allow_make_args: Vec<MakeArg>,
    /// Extra environment variables that callers may set. Default none.
    pub allow_env: Vec<EnvName>,
}

/// A `PATH`: absolute directories only, since a relative one would be looked up in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPath(String);

/// A `make` argument, exactly as a caller may write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeArg(String);

impl SearchPath {
    pub fn to_os_string(&self) -> OsString {
        OsString::from(&self.0)
    }
}

impl MakeArg {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextValue for SearchPath {
    const EXPECTED: &'static str =
        r#"absolute directories separated by ':', such as "/usr/local/bin:/usr/bin:/bin""#;

    fn from_text(text: &str) -> Result<Self, String> {
        if text.contains('\0') {
            return Err("it holds a NUL".to_owned());
        }
        match text.split(':').find(|part| !Path::new(part).is_absolute()) {
            Some("") => Err("it has an empty part, which means the current directory".to_owned()),
            Some(part) => Err(format!("{part:?} is not absolute")),
            None => Ok(Self(text.to_owned())),
        }
    }
}
text_value!(SearchPath);

impl TextValue for MakeArg {
    const EXPECTED: &'static str = r#"one argument of make, such as "--trace" or "V=1""#;

    fn from_text(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        if text.chars().any(char::is_control) {
            return Err("it holds a control character".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}
text_value!(MakeArg);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_path_has_absolute_directories_only() {
        assert!(SearchPath::from_text("/usr/bin:/bin").is_ok());
        for path in [
            "",
            "bin",
            "/bin:",
            "/bin::/usr/bin",
            "/bin:./x",
            "/bin:~/bin",
        ] {
            assert!(SearchPath::from_text(path).is_err(), "{path} was accepted");
        }
    }
}
