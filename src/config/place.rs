//! Paths that several sources can name: the one that counts, and what it means where it was written.

use std::path::{Path, PathBuf};

use super::document::{Document, Fault};
use super::environment::{Environment, KEY_FILE, SESSION_KEY, WORKSPACES};
use super::load::Flags;
use super::path::resolve;
use super::{ConfigError, SessionKey};

/// The file and what its paths mean here.
pub(super) struct Place<'a> {
    pub document: Document,
    pub home: Option<&'a Path>,
}

/// Where a path was written, and so what it starts from and how a fault in it is shown.
#[derive(Clone, Copy)]
enum Written {
    Flag(&'static str),
    Variable(&'static str),
    Key(&'static str),
}

impl Place<'_> {
    pub fn workspaces(&self, env: &Environment, flags: &Flags) -> Result<PathBuf, ConfigError> {
        let (written, path) = if let Some(path) = &flags.workspaces {
            (Written::Flag("--workspaces"), path.clone())
        } else if let Some(path) = env.path(WORKSPACES)? {
            (Written::Variable(WORKSPACES), path)
        } else {
            let path = self.document.values.workspaces.clone();
            (Written::Key("workspaces"), path)
        };
        self.resolve(written, &path)
    }

    pub fn session_key(&self, env: &Environment, flags: &Flags) -> Result<SessionKey, ConfigError> {
        let (written, path) = if let Some(path) = &flags.key_file {
            (Written::Flag("--key-file"), path.clone())
        } else if let Some(path) = env.path(KEY_FILE)? {
            (Written::Variable(KEY_FILE), path)
        } else if let Some(key) = env.text(SESSION_KEY)? {
            return SessionKey::parse(key)
                .map_err(|message| self.error(Written::Variable(SESSION_KEY), message));
        } else if let Some(path) = &self.document.values.key_file {
            (Written::Key("key_file"), path.clone())
        } else {
            return SessionKey::generate().map_err(ConfigError::Random);
        };
        let path = self.resolve(written, &path)?;
        SessionKey::from_file(&path).map_err(|message| self.error(written, message))
    }

    fn resolve(&self, written: Written, path: &Path) -> Result<PathBuf, ConfigError> {
        let base = match written {
            Written::Key(_) => self.document.dir(),
            Written::Flag(_) | Written::Variable(_) => Path::new(""),
        };
        resolve(path, base, self.home).map_err(|message| self.error(written, message))
    }

    fn error(&self, written: Written, message: String) -> ConfigError {
        match written {
            Written::Flag(flag) => ConfigError::Flag { flag, message },
            Written::Variable(name) => ConfigError::Variable { name, message },
            Written::Key(key) => self.document.error(&Fault::new(&[key], message)),
        }
    }
}
