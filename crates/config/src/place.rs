//! What a path or a variable means where it was written: `~/` is the home directory, and a relative path starts from the
//! directory of the file that it stands in.

use std::path::{Path, PathBuf};

use super::ConfigError;
use super::config_file::{ConfigFile, Fault};
use super::environment::Environment;

/// The file and what it is read in.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub file: &'a ConfigFile,
    pub env: &'a Environment,
    pub home: Option<&'a Path>,
}

impl Place<'_> {
    /// What is wrong with the value of a key.
    pub(crate) fn error(&self, key: &[&str], rule: impl Into<String>) -> ConfigError {
        self.file.error(&Fault::new(key, rule))
    }

    /// The absolute path that a path in the file means.
    pub(crate) fn resolve(&self, path: &Path) -> Result<PathBuf, String> {
        resolve(path, self.file.dir(), self.home)
    }

    /// The same of the path that is the value of a key.
    pub(crate) fn path(&self, key: &[&str], path: &Path) -> Result<PathBuf, ConfigError> {
        self.resolve(path).map_err(|rule| self.error(key, rule))
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
