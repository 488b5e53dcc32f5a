//! Where a secret is kept: in a variable of the daemon's environment, which was read once, or in a file,
//! which is read each time, so that it can be renewed under a daemon that runs. Never in our own file.

use std::path::{Path, PathBuf};

use super::ConfigError;
use super::place::Place;
use super::secret_file;

/// What can be kept, and the rules that it is read by.
pub(super) trait Keepable: Clone {
    /// Such as "a token".
    const WHAT: &'static str;
    const MAX_BYTES: usize;

    /// The value, or the rule that the text breaks, without a word of it.
    fn parse(text: &str) -> Result<Self, String>;
}

#[derive(Debug, Clone)]
pub(super) enum Kept<T> {
    /// In the environment.
    Here(T),
    File(PathBuf),
}

/// The two keys of a section by which it may say where a value is kept, and what it says.
pub(super) struct Keys<'a> {
    pub variable: (&'static str, Option<&'a str>),
    pub file: (&'static str, Option<&'a Path>),
}

impl<T: Keepable> Kept<T> {
    /// In the file that the key at `key` names, with a value there that can be used now.
    pub(super) fn in_file(
        file: &Path,
        place: &Place<'_>,
        key: &[&str],
    ) -> Result<Self, ConfigError> {
        Self::readable(file, place).map_err(|rule| place.error(key, rule))
    }

    fn readable(file: &Path, place: &Place<'_>) -> Result<Self, String> {
        let kept = Self::File(place.resolve(file)?);
        kept.read()?;
        Ok(kept)
    }

    /// Where the keys of `section` say, with a value there that can be used now.
    pub(super) fn find(
        keys: &Keys<'_>,
        place: &Place<'_>,
        section: &[&str],
    ) -> Result<Self, ConfigError> {
        Self::found(keys, place).map_err(|(key, rule)| {
            let mut at = section.to_vec();
            at.extend(key);
            place.error(&at, rule)
        })
    }

    /// Or the key that is at fault, unless it is the section, and why.
    fn found(keys: &Keys<'_>, place: &Place<'_>) -> Result<Self, (Option<&'static str>, String)> {
        let (by_variable, by_file) = (keys.variable.0, keys.file.0);
        match (keys.variable.1, keys.file.1) {
            (Some(name), None) => {
                // Not quoted: who wrote the secret itself here must not find it in a log.
                let missing = format!(
                    "the environment variable that {by_variable} names is not set, or is not text"
                );
                let text = place.env.get(name).and_then(|value| value.to_str());
                text.ok_or(missing)
                    .and_then(T::parse)
                    .map(Self::Here)
                    .map_err(|rule| (Some(by_variable), rule))
            }
            (None, Some(path)) => Self::readable(path, place).map_err(|rule| (Some(by_file), rule)),
            (None, None) => {
                let rule = format!("{} needs {by_variable} or {by_file}", T::WHAT);
                Err((None, rule))
            }
            (Some(_), Some(_)) => {
                let what = T::WHAT;
                let rule = format!("{what} comes from {by_variable} or from {by_file}: choose one");
                Err((Some(by_file), rule))
            }
        }
    }

    /// The value as it is now, or why it cannot be had.
    pub(super) fn read(&self) -> Result<T, String> {
        match self {
            Self::Here(value) => Ok(value.clone()),
            Self::File(path) => {
                let text = secret_file::read_own(path, T::MAX_BYTES, T::WHAT)?;
                T::parse(&text).map_err(|rule| format!("{}: {rule}", path.display()))
            }
        }
    }

    /// The value, where it stands in the environment.
    pub(super) fn in_environment(&self) -> Option<&T> {
        match self {
            Self::Here(value) => Some(value),
            Self::File(_) => None,
        }
    }

    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::Here(_) => None,
            Self::File(path) => Some(path),
        }
    }
}
