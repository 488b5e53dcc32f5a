//! `[secrets.NAME]`: what some runs need and nobody else may see. The file says where it is kept and which
//! branches' runs may have it, not what it is.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::kept::{Keepable, Kept, Keys};
use super::place::Place;
use super::reserved::is_own_variable;
use super::task::{MAX_NAME_BYTES, is_plain_name};
use super::value::{Text, TextKind};
use super::{BranchGlobs, ConfigError};
use branchyard_model::{BranchName, NamedRef};

/// Anything shorter also stands in ordinary output, and could not be taken out of it.
const SHORTEST: usize = 8;
/// Lines of output are looked at one by one, too: of a secret that has several, one at least must be
/// long enough to be told from others.
const TELLING_LINE: usize = 16;

/// The name of a secret: lower-case letters, digits, `_`, `.` and `-`, starting with a letter or digit.
pub type SecretName = Text<SecretNames>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretNames {}

/// What some runs need and no other caller may see, by name. It stands in a variable of the daemon's environment or in a
/// file, mode 600, which is read each time a run needs it, so that it can be renewed; never in this file. At least 8 bytes,
/// since anything shorter could not be kept out of output, and 32 KiB at most.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a section [secrets.NAME] with env or file, and branches"
)]
pub struct SecretConfig {
    /// The variable in the daemon's environment that holds it. Either this or `file` has to be there.
    #[schemars(extend("example" = "NPM_TOKEN"))]
    pub env: Option<String>,
    /// The file that holds it, mode 600.
    #[schemars(extend("example" = "~/.config/branchyard/npm-token"))]
    pub file: Option<PathBuf>,
    /// The branches whose runs may have it, as globs; `["**"]` is all. These branches are protected in every repo whose runs
    /// are given the secret: to change them takes the scope admin.
    #[schemars(extend("example" = ["main", "release/**"]))]
    pub branches: BranchGlobs,
}

/// What is secret about a secret; `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(String);

/// A secret that was found where the file said, at least at the start.
#[derive(Debug, Clone)]
pub struct Secret {
    name: SecretName,
    branches: BranchGlobs,
    kept: Kept<SecretValue>,
}

impl SecretConfig {
    pub(super) fn find(&self, name: &SecretName, place: &Place<'_>) -> Result<Secret, ConfigError> {
        let section = ["secrets", name.as_str()];
        let [secrets, own] = section;
        if self.branches.patterns().is_empty() {
            let rule = r#"no branch could have it: name some, such as ["main", "release/*"]; ["**"] is all"#;
            return Err(place.error(&[secrets, own, "branches"], rule));
        }
        if self.env.as_deref().is_some_and(is_own_variable) {
            let rule = "BRANCHYARD_* are the daemon's own settings, and no build's business";
            return Err(place.error(&[secrets, own, "env"], rule));
        }
        let keys = Keys {
            variable: ("env", self.env.as_deref()),
            file: ("file", self.file.as_deref()),
        };
        Ok(Secret {
            name: name.clone(),
            branches: self.branches.clone(),
            kept: Kept::find(&keys, place, &section)?,
        })
    }
}

impl Secret {
    /// The value as it is now, or why it cannot be had, for the operator.
    pub fn read(&self) -> Result<SecretValue, String> {
        self.kept.read()
    }

    /// The value, where it stands in the daemon's environment.
    pub(super) fn in_environment(&self) -> Option<&SecretValue> {
        self.kept.in_environment()
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.kept.file()
    }

    /// Whether runs of this branch may have it. What stands for a tag, a request or a commit is no branch of the remote, and
    /// may be a stranger's work.
    pub fn is_for(&self, branch: &BranchName) -> bool {
        NamedRef::of(branch).is_none() && self.branches.matches(branch)
    }

    pub fn globs(&self) -> &BranchGlobs {
        &self.branches
    }

    /// The branches that may have it, as they were written.
    pub fn branches(&self) -> &[String] {
        self.branches.patterns()
    }

    pub fn name(&self) -> &SecretName {
        &self.name
    }
}

impl Keepable for SecretValue {
    const WHAT: &'static str = "a secret";
    const MAX_BYTES: usize = 32 * 1024;

    /// As `$(cat file)` reads it: newlines at the end are the file's, not the secret's.
    fn parse(text: &str) -> Result<Self, String> {
        let value = text.trim_end_matches(['\n', '\r']);
        let core = value.trim();
        let telling =
            |line: &str| line.trim().len() >= TELLING_LINE && !line.trim().starts_with("-----");
        let rule = if text.len() > Self::MAX_BYTES {
            format!("the secret is longer than {} bytes", Self::MAX_BYTES)
        } else if value.contains('\0') {
            "the secret holds a NUL, which no variable can".to_owned()
        } else if core.len() < SHORTEST {
            format!(
                "the secret is shorter than {SHORTEST} bytes, too short to be told from other output \
                 and kept out of it"
            )
        } else if core.contains('\n') && !core.lines().any(telling) {
            format!(
                "the secret has several lines and none of {TELLING_LINE} bytes, so that they could \
                 not be kept out of output one by one; make a secret of each"
            )
        } else {
            return Ok(Self(value.to_owned()));
        };
        Err(rule)
    }
}

impl SecretValue {
    /// The value itself, for the run that is given it and the one who keeps it out of output.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl TextKind for SecretNames {
    const EXPECTED: &'static str = r#"the name of a secret, such as "npm" or "deploy-key""#;
    // The text may be the secret itself, in the wrong place.
    const QUIET: bool = true;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        match is_plain_name(text) {
            true => Ok(text.into()),
            false => Err(format!(
                "this is not the name of a secret: lower-case letters, digits, '_', '.' and '-', at most \
                 {MAX_NAME_BYTES}, starting with a letter or digit"
            )),
        }
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_a_shell_would_read_from_the_file() {
        for (text, value) in [
            ("hunter22", "hunter22"),
            ("hunter22\r\n\n", "hunter22"),
            (" hunter22 \n", " hunter22 "),
            ("a\nsixteen-letters!\n", "a\nsixteen-letters!"),
        ] {
            assert_eq!(SecretValue::parse(text).unwrap().expose(), value);
        }
        let value = SecretValue::parse("hunter22").unwrap();
        assert_eq!(format!("{value:?}"), "SecretValue(…)");
    }

    #[test]
    fn what_could_not_be_kept_out_of_output_is_refused() {
        let long = "x".repeat(SecretValue::MAX_BYTES + 1);
        for (text, rule) in [
            ("", "shorter than 8"),
            ("s3cret!", "shorter than 8"),
            ("    s3cret!    ", "shorter than 8"),
            ("s3cret\0s3cret", "NUL"),
            ("s3cret-user\ns3cret-word", "several lines"),
            (
                "-----BEGIN s3cret KEY-----\ns3cret\n-----END s3cret KEY-----",
                "several lines",
            ),
            (&long, "longer than 32768"),
        ] {
            let message = SecretValue::parse(text).unwrap_err();
            assert!(message.contains(rule), "{message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
    }
}
