//! What the command line, a variable or the file may say: the nearest counts.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::known_variables::{SESSION_KEY, SESSION_KEY_FILE, WORKSPACES};
use super::place::{Place, resolve};
use super::{ConfigError, SessionKey};

/// What the command line says. Relative paths start from the current directory.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--listen`
    pub listen: Option<SocketAddr>,
    /// `--workspaces`
    pub workspaces: Option<PathBuf>,
    /// `--key-file`
    pub key_file: Option<PathBuf>,
}

/// Where a path was written, and so what it starts from and how a fault in it is shown.
#[derive(Clone, Copy)]
enum WrittenKey {
    Flag(&'static str),
    Variable(&'static str),
    Key(&'static str),
}

/// The directory of stores, workspaces and state. `path` is what the file says.
pub(super) fn workspaces(
    place: &Place<'_>,
    flags: &Flags,
    path: PathBuf,
) -> Result<PathBuf, ConfigError> {
    let (written, path) = if let Some(path) = &flags.workspaces {
        (WrittenKey::Flag("--workspaces"), path.clone())
    } else if let Some(path) = place.env.path(WORKSPACES)? {
        (WrittenKey::Variable(WORKSPACES), path)
    } else {
        (WrittenKey::Key("workspaces"), path)
    };
    written.resolve(place, &path)
}

/// The session key, and the file that it comes from, where it comes from one. `path` is what the file says.
pub(super) fn session_key(
    place: &Place<'_>,
    flags: &Flags,
    path: Option<PathBuf>,
) -> Result<(SessionKey, Option<PathBuf>), ConfigError> {
    let (written, path) = if let Some(path) = &flags.key_file {
        (WrittenKey::Flag("--key-file"), path.clone())
    } else if let Some(path) = place.env.path(SESSION_KEY_FILE)? {
        (WrittenKey::Variable(SESSION_KEY_FILE), path)
    } else if let Some(key) = place.env.text(SESSION_KEY)? {
        let refused = |rule| WrittenKey::Variable(SESSION_KEY).error(place, rule);
        return Ok((SessionKey::parse(key).map_err(refused)?, None));
    } else if let Some(path) = path {
        (WrittenKey::Key("key_file"), path)
    } else {
        return Ok((SessionKey::generate().map_err(ConfigError::Random)?, None));
    };
    let path = written.resolve(place, &path)?;
    let key = SessionKey::from_file(&path).map_err(|rule| written.error(place, rule))?;
    Ok((key, Some(path)))
}

impl WrittenKey {
    fn resolve(self, place: &Place<'_>, path: &Path) -> Result<PathBuf, ConfigError> {
        let base = match self {
            Self::Key(_) => place.file.dir(),
            Self::Flag(_) | Self::Variable(_) => Path::new(""),
        };
        resolve(path, base, place.home).map_err(|message| self.error(place, message))
    }

    fn error(self, place: &Place<'_>, message: String) -> ConfigError {
        match self {
            Self::Flag(flag) => ConfigError::Flag { flag, message },
            Self::Variable(name) => ConfigError::Variable { name, message },
            Self::Key(key) => place.error(&[key], message),
        }
    }
}
