//! The process environment, read once. Whoever needs something of it finds it in the `Config`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::ConfigError;
use super::crash;
use super::known_variables::KNOWN;
use super::value::{self, TextValue};

/// What the daemon tells each build about itself, so that a daemon started within a build has it.
const RUN_ID: &str = "BRANCHYARD_RUN_ID";
const IN_BUILDS: [&str; 6] = [
    RUN_ID,
    "BRANCHYARD_REPO",
    "BRANCHYARD_BRANCH",
    "BRANCHYARD_COMMIT",
    "BRANCHYARD_SLUG",
    "BRANCHYARD_PORT",
];
/// And the rest of its ports, which are numbered.
const PORTS: &str = "BRANCHYARD_PORT_";

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

    /// The variables with our prefix that mean nothing to us.
    pub(super) fn unknown_names(&self) -> Vec<String> {
        let in_build = self.get(RUN_ID).is_some();
        self.0
            .keys()
            .map(|name| name.to_string_lossy())
            .filter(|name| name.starts_with("BRANCHYARD_"))
            .filter(|name| KNOWN.iter().all(|(known, _)| known != name))
            .filter(|name| {
                let is_told = IN_BUILDS.contains(&&**name) || name.starts_with(PORTS);
                !(in_build && is_told)
            })
            .filter(|name| !(cfg!(debug_assertions) && name == crash::VARIABLE))
            .map(|name| name.into_owned())
            .collect()
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
    use crate::known_variables::LISTEN;

    fn unknown(names: &[&str]) -> Vec<String> {
        let env: Environment = names.iter().map(|name| (*name, "s3cret")).collect();
        env.unknown_names()
    }

    #[test]
    fn unknown_variables_are_told_apart_by_name() {
        let names = [
            "BRANCHYARD_LISEN",
            "OTHER",
            "BRANCHYARD_URL",
            "BRANCHYARD_PORT",
        ];
        assert_eq!(unknown(&names), ["BRANCHYARD_LISEN", "BRANCHYARD_PORT"]);
        assert!(unknown(&KNOWN.map(|(name, _)| name)).is_empty());
    }

    /// A variable of ours with such a name would be set to an address that the operator never wrote.
    #[test]
    fn no_variable_of_ours_is_one_that_kubernetes_sets_for_a_service() {
        for (name, _) in KNOWN {
            let rest = name.strip_prefix("BRANCHYARD_").unwrap();
            let is_injected = |rest: &str| {
                rest == "PORT" || rest.starts_with("PORT_") || rest.starts_with("SERVICE_")
            };
            // Of a service named branchyard, or branchyard-something.
            assert!(!is_injected(rest), "{name}");
            let inner = rest.match_indices('_').map(|(at, _)| &rest[at + 1..]);
            for inner in inner {
                assert!(!is_injected(inner), "{name}");
            }
        }
    }

    #[test]
    fn a_build_may_start_a_daemon_of_its_own() {
        assert!(unknown(&[RUN_ID, "BRANCHYARD_REPO", "BRANCHYARD_PORT_3"]).is_empty());
        assert_eq!(unknown(&["BRANCHYARD_REPO"]), ["BRANCHYARD_REPO"]);
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
