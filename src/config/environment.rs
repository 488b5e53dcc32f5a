//! The process environment, read once. Whoever needs something of it finds it in the `Config`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::ConfigError;
use super::crash;
use super::value::{self, TextValue};

pub(super) const CONFIG: &str = "BRANCHYARD_CONFIG";
pub(super) const LISTEN: &str = "BRANCHYARD_LISTEN";
pub(super) const WORKSPACES: &str = "BRANCHYARD_WORKSPACES";
pub(super) const KEY_FILE: &str = "BRANCHYARD_KEY_FILE";
pub(super) const SESSION_KEY: &str = "BRANCHYARD_SESSION_KEY";
pub(super) const REPOS: &str = "BRANCHYARD_REPOS";
pub(super) const LOG: &str = "BRANCHYARD_LOG";
/// For the client commands; the daemon ignores it.
const URL: &str = "BRANCHYARD_URL";
/// The same.
const CA_FILE: &str = "BRANCHYARD_CA_FILE";

/// All variables that may be set; any other `BRANCHYARD_*` is a mistake.
pub(super) const KNOWN: [&str; 9] = [
    CONFIG,
    LISTEN,
    WORKSPACES,
    KEY_FILE,
    SESSION_KEY,
    REPOS,
    LOG,
    URL,
    CA_FILE,
];

/// What the daemon tells each build about itself, so that a daemon started within a build has it.
const RUN_ID: &str = "BRANCHYARD_RUN_ID";
const IN_BUILDS: [&str; 4] = [
    RUN_ID,
    "BRANCHYARD_REPO",
    "BRANCHYARD_BRANCH",
    "BRANCHYARD_COMMIT",
];

/// Environment variables by name. There is no `Debug`, since one of them is a key.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// The environment of this process. A missing `HOME` is looked up in the user database.
    pub fn from_process() -> Self {
        let mut env: Self = std::env::vars_os().collect();
        if env.get("HOME").is_none()
            && let Some(home) = std::env::home_dir()
        {
            env.0.insert("HOME".into(), home.into());
        }
        env
    }

    /// A variable, such as `PATH` or `HOME`, where an empty one counts as none.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    pub(super) fn check_names(&self) -> Result<(), ConfigError> {
        let in_build = self.get(RUN_ID).is_some();
        let names: Vec<_> = self
            .0
            .keys()
            .map(|name| name.to_string_lossy())
            .filter(|name| name.starts_with("BRANCHYARD_"))
            .filter(|name| !KNOWN.contains(&&**name))
            .filter(|name| !(in_build && IN_BUILDS.contains(&&**name)))
            .filter(|name| !(cfg!(debug_assertions) && name == crash::VARIABLE))
            .map(|name| name.into_owned())
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(ConfigError::UnknownVariables { names })
    }

    /// One of our own variables, as text. Set but empty is a mistake rather than a wish.
    pub(super) fn text(&self, name: &'static str) -> Result<Option<&str>, ConfigError> {
        let refuse = |message: &str| {
            let message = message.to_owned();
            Err(ConfigError::Variable { name, message })
        };
        match self.0.get(OsStr::new(name)).map(|value| value.to_str()) {
            None => Ok(None),
            Some(None) => refuse("its value is not UTF-8"),
            Some(Some("")) => refuse("it is set but empty; give it a value or unset it"),
            Some(text) => Ok(text),
        }
    }

    pub(super) fn path(&self, name: &'static str) -> Result<Option<PathBuf>, ConfigError> {
        Ok(self.text(name)?.map(PathBuf::from))
    }

    pub(super) fn value<T: TextValue>(&self, name: &'static str) -> Result<Option<T>, ConfigError> {
        self.text(name)?
            .map(value::parse)
            .transpose()
            .map_err(|message| ConfigError::Variable { name, message })
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        Self(pairs.map(|(k, v)| (k.into(), v.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_variable_is_refused_by_name_without_its_value() {
        let env: Environment = [("BRANCHYARD_LISEN", "s3cret"), ("OTHER", "x"), (URL, "x")]
            .into_iter()
            .collect();
        assert_eq!(
            env.check_names().unwrap_err().to_string(),
            "unknown environment variable BRANCHYARD_LISEN; known are BRANCHYARD_CONFIG, \
             BRANCHYARD_LISTEN, BRANCHYARD_WORKSPACES, BRANCHYARD_KEY_FILE, \
             BRANCHYARD_SESSION_KEY, BRANCHYARD_REPOS, BRANCHYARD_LOG, BRANCHYARD_URL, \
             BRANCHYARD_CA_FILE"
        );
    }

    #[test]
    fn a_build_may_start_a_daemon_of_its_own() {
        let inside: Environment = [(RUN_ID, "1"), ("BRANCHYARD_REPO", "a")]
            .into_iter()
            .collect();
        assert!(inside.check_names().is_ok());
        let misspelt: Environment = [("BRANCHYARD_REPO", "a=b")].into_iter().collect();
        assert!(misspelt.check_names().is_err());
    }

    #[test]
    fn an_empty_variable_of_ours_is_a_mistake() {
        let env: Environment = [(LISTEN, ""), ("HOME", "")].into_iter().collect();
        assert_eq!(
            env.text(LISTEN).unwrap_err().to_string(),
            "BRANCHYARD_LISTEN: it is set but empty; give it a value or unset it"
        );
        assert_eq!(env.get("HOME"), None);
    }
}
