//! The paths that a caller named, and which files they cover.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::Index;

/// Paths relative to the workspace. None means all of it.
#[derive(Debug, Clone, Default)]
pub struct Named(Vec<PathBuf>);

impl Named {
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self(paths)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }

    /// Whether `path` is one of them, or in one of them.
    pub fn covers(&self, path: &Path) -> bool {
        self.is_all() || self.iter().any(|named| path.starts_with(named))
    }

    /// Whether one of them lies in `dir`.
    pub fn reaches_into(&self, dir: &Path) -> bool {
        self.iter()
            .any(|named| named.starts_with(dir) && named != dir)
    }

    /// Whether all of the workspace is meant.
    pub fn is_all(&self) -> bool {
        self.0.is_empty() || self.iter().any(is_all)
    }

    /// Whether `path` itself was named.
    pub fn has(&self, path: &Path) -> bool {
        self.iter().any(|named| named == path)
    }
}

fn is_all(named: &Path) -> bool {
    named == Path::new(".")
}

/// Whether the index has `path`, or something in it.
pub(super) fn is_tracked(index: &Index, path: &Path) -> bool {
    is_all(path)
        || index.get_path(path, 0).is_some()
        || index.conflict_get(path).is_ok()
        || index
            .find_prefix(path.join("").as_os_str().as_bytes())
            .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_covers_what_is_in_it() {
        let named = Named::new(vec!["a/b".into(), "c".into()]);
        for (path, is_covered) in [
            ("a/b", true),
            ("a/b/x", true),
            ("c", true),
            ("a", false),
            ("a/bc", false),
        ] {
            assert_eq!(named.covers(Path::new(path)), is_covered, "{path}");
        }
        assert!(named.reaches_into(Path::new("a")) && !named.reaches_into(Path::new("c")));
        assert!(Named::default().covers(Path::new("x")));
        assert!(Named::new(vec![".".into()]).covers(Path::new("x")));
    }
}
