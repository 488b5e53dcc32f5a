//! What a path or a variable means where it was written: `~/` is the home directory, and a relative path starts from the
//! directory of the file that it stands in.

use std::path::{Path, PathBuf};

use super::document::{Document, Fault};
use super::environment::Environment;
use super::known_variables::{SESSION_KEY, SESSION_KEY_FILE, WORKSPACES};
use super::{AuthConfig, ConfigError, Flags, SessionKey};

/// The file and what it is read in.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub document: &'a Document,
    pub env: &'a Environment,
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
    /// What is wrong with the value of a key.
    pub(crate) fn error(&self, key: &[&str], rule: impl Into<String>) -> ConfigError {
        self.document.error(&Fault::new(key, rule))
    }

    /// The absolute path that a path in the file means.
    pub(crate) fn resolve(&self, path: &Path) -> Result<PathBuf, String> {
        resolve(path, self.document.dir(), self.home)
    }

    /// The same of the path that is the value of a key.
    pub(crate) fn path(&self, key: &[&str], path: &Path) -> Result<PathBuf, ConfigError> {
        self.resolve(path).map_err(|rule| self.error(key, rule))
    }

    pub(crate) fn workspaces(&self, flags: &Flags) -> Result<PathBuf, ConfigError> {
        let (written, path) = if let Some(path) = &flags.workspaces {
            (WrittenKey::Flag("--workspaces"), path.clone())
        } else if let Some(path) = self.env.path(WORKSPACES)? {
            (WrittenKey::Variable(WORKSPACES), path)
        } else {
            let path = self.document.values().workspaces.clone();
            (WrittenKey::Key("workspaces"), path)
        };
        self.written(written, &path)
    }

    pub(crate) fn socket(&self) -> Result<Option<PathBuf>, ConfigError> {
        let path = self.document.values().socket.as_deref();
        path.map(|path| self.path(&["socket"], path)).transpose()
    }

    /// `[auth]`, with its paths as they are meant here.
    pub(crate) fn auth(&self) -> Result<AuthConfig, ConfigError> {
        let mut auth = self.document.values().auth.clone();
        if let Some(jwt) = &mut auth.jwt {
            jwt.key_file = self.path(&["auth", "jwt", "key_file"], &jwt.key_file)?;
        }
        if let Some(ca_file) = auth.oauth.as_mut().and_then(|oauth| oauth.ca_file.as_mut()) {
            *ca_file = self.path(&["auth", "oauth", "ca_file"], ca_file)?;
        }
        Ok(auth)
    }

    /// The session key, and the file that it comes from, where it comes from one.
    pub(crate) fn session_key(
        &self,
        flags: &Flags,
    ) -> Result<(SessionKey, Option<PathBuf>), ConfigError> {
        let (written, path) = if let Some(path) = &flags.key_file {
            (WrittenKey::Flag("--key-file"), path.clone())
        } else if let Some(path) = self.env.path(SESSION_KEY_FILE)? {
            (WrittenKey::Variable(SESSION_KEY_FILE), path)
        } else if let Some(key) = self.env.text(SESSION_KEY)? {
            let refused = |rule| self.fault(WrittenKey::Variable(SESSION_KEY), rule);
            return Ok((SessionKey::parse(key).map_err(refused)?, None));
        } else if let Some(path) = &self.document.values().key_file {
            (WrittenKey::Key("key_file"), path.clone())
        } else {
            return Ok((SessionKey::generate().map_err(ConfigError::Random)?, None));
        };
        let path = self.written(written, &path)?;
        let key = SessionKey::from_file(&path).map_err(|rule| self.fault(written, rule))?;
        Ok((key, Some(path)))
    }

    fn written(&self, written: WrittenKey, path: &Path) -> Result<PathBuf, ConfigError> {
        let base = match written {
            WrittenKey::Key(_) => self.document.dir(),
            WrittenKey::Flag(_) | WrittenKey::Variable(_) => Path::new(""),
        };
        resolve(path, base, self.home).map_err(|message| self.fault(written, message))
    }

    fn fault(&self, written: WrittenKey, message: String) -> ConfigError {
        match written {
            WrittenKey::Flag(flag) => ConfigError::Flag { flag, message },
            WrittenKey::Variable(name) => ConfigError::Variable { name, message },
            WrittenKey::Key(key) => self.error(&[key], message),
        }
    }
}

/// The absolute path that is meant by `path`, written in `base` (empty: the current directory).
pub(super) fn resolve(path: &Path, base: &Path, home: Option<&Path>) -> Result<PathBuf, String> {
    if path.as_os_str().is_empty() {
        return Err("the path is empty".to_owned());
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err("the path holds a NUL".to_owned());
    }
    let joined = match path.components().next().map(|first| first.as_os_str()) {
        Some(first) if first == "~" => match (home, path.strip_prefix("~")) {
            (Some(home), Ok(rest)) => home.join(rest),
            _ => return Err(format!("{path:?} needs HOME, which is not set")),
        },
        Some(first) if first.as_encoded_bytes().starts_with(b"~") => {
            return Err(format!(
                "{path:?}: only \"~/\" is understood, not another's home"
            ));
        }
        _ => base.join(path),
    };
    std::path::absolute(joined).map_err(|error| error.to_string())
}

/// Whether a repo's URL is a path relative to where it was written.
pub(super) fn is_relative_url(url: &str) -> bool {
    ["./", "../", "~/"]
        .iter()
        .any(|start| url.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(path: &str, home: Option<&str>) -> Result<PathBuf, String> {
        resolve(Path::new(path), Path::new("/etc/yard"), home.map(Path::new))
    }

    #[test]
    fn paths_start_from_where_they_were_written() {
        for (path, expected) in [
            ("/abs", "/abs"),
            ("./x/y", "/etc/yard/x/y"),
            ("x", "/etc/yard/x"),
            ("../x", "/etc/yard/../x"),
            ("~/x", "/home/me/x"),
            ("~", "/home/me"),
            ("./~x", "/etc/yard/~x"),
        ] {
            assert_eq!(
                resolved(path, Some("/home/me")),
                Ok(PathBuf::from(expected))
            );
        }
    }

    #[test]
    fn a_path_that_cannot_be_meant_is_refused() {
        assert!(resolved("", None).is_err());
        assert!(resolved("a\0b", None).is_err());
        assert!(resolved("~other/x", Some("/home/me")).is_err());
        assert_eq!(
            resolved("~/x", None),
            Err("\"~/x\" needs HOME, which is not set".to_owned())
        );
    }

    #[test]
    fn without_a_base_the_current_directory_counts() {
        let path = resolve(Path::new("x"), Path::new(""), None).unwrap();
        assert_eq!(path, std::env::current_dir().unwrap().join("x"));
    }
}
