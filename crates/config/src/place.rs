//! Paths that several sources can name: the one that counts, and what it means where it was written.

use std::path::{Path, PathBuf};

use super::document::Document;
use super::environment::Environment;
use super::fault::Fault;
use super::flags::Flags;
use super::known_variables::{SESSION_KEY, SESSION_KEY_FILE, WORKSPACES};
use super::path::resolve;
use super::{AuthConfig, ConfigError, SessionKey};

/// The file and what its paths mean here.
pub(super) struct Place<'a> {
    pub document: Document,
    pub home: Option<&'a Path>,
}

/// Where a path was written, and so what it starts from and how a fault in it is shown.
#[derive(Clone, Copy)]
enum WrittenKey {
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
            (WrittenKey::Flag("--workspaces"), path.clone())
        } else if let Some(path) = env.path(WORKSPACES)? {
            (WrittenKey::Variable(WORKSPACES), path)
        } else {
            let path = self.document.values().workspaces.clone();
            (WrittenKey::Key("workspaces"), path)
        };
        self.resolve(written, &path)
    }

    pub(crate) fn socket(&self) -> Result<Option<PathBuf>, ConfigError> {
        let path = self.document.values().socket.as_deref();
        path.map(|path| self.resolve(WrittenKey::Key("socket"), path))
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
                    .map_err(|message| self.error(WrittenKey::Variable(SESSION_KEY), message)),
                None => SessionKey::generate().map_err(ConfigError::Random),
            };
        };
        let path = self.resolve(written, &path)?;
        SessionKey::from_file(&path).map_err(|message| self.error(written, message))
    }

    /// `[auth]`, with its paths as they are meant here.
    pub(crate) fn auth(&self) -> Result<AuthConfig, ConfigError> {
        let mut auth = self.document.values().auth.clone();
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
    ) -> Result<Option<(WrittenKey, PathBuf)>, ConfigError> {
        Ok(if let Some(path) = &flags.key_file {
            Some((WrittenKey::Flag("--key-file"), path.clone()))
        } else if let Some(path) = env.path(SESSION_KEY_FILE)? {
            Some((WrittenKey::Variable(SESSION_KEY_FILE), path))
        } else if env.text(SESSION_KEY)?.is_some() {
            None
        } else {
            let path = self.document.values().key_file.clone();
            path.map(|path| (WrittenKey::Key("key_file"), path))
        })
    }

    fn resolve(&self, written: WrittenKey, path: &Path) -> Result<PathBuf, ConfigError> {
        let base = match written {
            WrittenKey::Key(_) => self.document.dir(),
            WrittenKey::Flag(_) | WrittenKey::Variable(_) => Path::new(""),
        };
        resolve(path, base, self.home).map_err(|message| self.error(written, message))
    }

    fn error(&self, written: WrittenKey, message: String) -> ConfigError {
        match written {
            WrittenKey::Flag(flag) => ConfigError::Flag { flag, message },
            WrittenKey::Variable(name) => ConfigError::Variable { name, message },
            WrittenKey::Key(key) => self.document.error(&Fault::new(&[key], message)),
        }
    }
}
