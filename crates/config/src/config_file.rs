//! The configuration file as it was written, and where in it a fault stands.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, InFile};

/// A file that was read, or the absence of one.
#[derive(Default)]
pub(super) struct ConfigFile {
    path: PathBuf,
    text: String,
}

impl ConfigFile {
    pub(crate) fn new(path: &Path, text: String) -> Self {
        let path = path.to_owned();
        Self { path, text }
    }

    /// The file itself, where there is one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let is_there = !self.path.as_os_str().is_empty();
        is_there.then(|| std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()))
    }

    /// The directory that relative paths in the file start from.
    pub(crate) fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// The error that shows a fault where it stands, or by its key where no file sets it.
    pub(crate) fn error(&self, fault: &Fault) -> ConfigError {
        let tree = DeTable::parse(&self.text).ok();
        let span = tree.as_ref().and_then(|tree| {
            let mut keys = fault.keys().iter();
            keys.find_map(|key| span_of(tree.get_ref(), key))
        });
        match span {
            Some(span) => ConfigError::InFile(Box::new(InFile::new(
                &self.path,
                &self.text,
                span,
                fault.message(),
            ))),
            None => ConfigError::Default {
                key: fault
                    .keys()
                    .first()
                    .map_or_else(String::new, |key| key.join(".")),
                message: fault.message().to_owned(),
            },
        }
    }
}

fn span_of(table: &DeTable<'_>, key: &[String]) -> Option<Range<usize>> {
    let (first, rest) = key.split_first()?;
    let value = table.get(first.as_str())?;
    match value.get_ref() {
        DeValue::Table(table) if !rest.is_empty() => span_of(table, rest),
        _ => rest.is_empty().then(|| value.span()),
    }
}

/// A value that is wrong only beside others: the keys to blame, the first that the file has being shown.
pub(super) struct Fault {
    keys: Vec<Vec<String>>,
    message: String,
}

impl Fault {
    pub(crate) fn new(key: &[&str], message: impl Into<String>) -> Self {
        let message = message.into();
        let keys = Vec::new();
        Self { keys, message }.or_at(key)
    }

    #[must_use]
    pub(crate) fn or_at(mut self, key: &[&str]) -> Self {
        self.keys
            .push(key.iter().map(|part| (*part).to_owned()).collect());
        self
    }

    pub(crate) fn keys(&self) -> &[Vec<String>] {
        &self.keys
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}
