//! Paths that several sources can name: the one that counts, and what it means where it was written.

use std::path::{Path, PathBuf};

use super::document::{Document, Fault};
use super::environment::Environment;
use super::flags::Flags;
use super::known_variables::{KEY_FILE, SESSION_KEY, WORKSPACES};
use super::path::resolve;
use super::{AuthConfig, ConfigError, SessionKey};

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
    pub(crate) fn workspaces(
        &self,
        env: &Environment,
        flags: &Flags,
    ) -> Result<PathBuf, ConfigError> {
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

    pub(crate) fn socket(&self) -> Result<Option<PathBuf>, ConfigError> {
        let path = self.document.values.socket.as_deref();
        path.map(|path| self.resolve(Written::Key("socket"), path))
            .transpose()
    }

    pub(crate) fn session_key(
        &self,
        env: &Environment,
        flags: &Flags,
    ) -> Result<SessionKey, ConfigError> {
        let Some((written, path)) = self.written_key_file(env, flags)? else {
            return match env.text(SESSION_KEY)? {
                Some(key) => SessionKey::parse(key)
                    .map_err(|message| self.error(Written::Variable(SESSION_KEY), message)),
                None => SessionKey::generate().map_err(ConfigError::Random),
            };
        };
        let path = self.resolve(written, &path)?;
        SessionKey::from_file(&path).map_err(|message| self.error(written, message))
    }

    /// `[auth]`, with its paths as they are meant here.
    pub(crate) fn auth(&self) -> Result<AuthConfig, ConfigError> {
        let mut auth = self.document.values.auth.clone();
        let absolute = |key: &[&str], path: &mut PathBuf| {
            let found = resolve(path, self.document.dir(), self.home);
            let refused = |rule| self.document.error(&Fault::new(key, rule));
            found.map(|found| *path = found).map_err(refused)
        };
        if let Some(jwt) = &mut auth.jwt {
            absolute(&["auth", "jwt", "key_file"], &mut jwt.key_file)?;
        }
        if let Some(ca_file) = auth.oauth.as_mut().and_then(|oauth| oauth.ca_file.as_mut()) {
            absolute(&["auth", "oauth", "ca_file"], ca_file)?;
        }
        Ok(auth)
    }

    /// The file that the session key comes from, where it comes from one.
    pub(crate) fn key_file(
        &self,
        env: &Environment,
        flags: &Flags,
    ) -> Result<Option<PathBuf>, ConfigError> {
        self.written_key_file(env, flags)?
            .map(|(written, path)| self.resolve(written, &path))
            .transpose()
    }

    fn written_key_file(
        &self,
        env: &Environment,
        flags: &Flags,
    ) -> Result<Option<(Written, PathBuf)>, ConfigError> {
        Ok(if let Some(path) = &flags.key_file {
            Some((Written::Flag("--key-file"), path.clone()))
        } else if let Some(path) = env.path(KEY_FILE)? {
            Some((Written::Variable(KEY_FILE), path))
        } else if env.text(SESSION_KEY)?.is_some() {
            None
        } else {
            let path = self.document.values.key_file.clone();
            path.map(|path| (Written::Key("key_file"), path))
        })
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
