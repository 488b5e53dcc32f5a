//! Where programs are.

use std::ffi::OsStr;
use std::path::PathBuf;

use rustix::fs::{Access, access};

/// The program that a shell would start for `name`, by the directories of `path`.
pub fn find_program(name: &str, path: impl AsRef<OsStr>) -> Option<PathBuf> {
    if name.contains('/') {
        return None;
    }
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_absolute() && file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_that_can_be_started_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let places = ["a", "b", "c"].map(|name| dir.path().join(name));
        for (place, mode) in places.iter().zip([0o644, 0o755, 0o755]) {
            fs::create_dir(place).unwrap();
            fs::write(place.join("tool"), "").unwrap();
            fs::set_permissions(place.join("tool"), fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths(&places).unwrap();
        assert_eq!(find_program("tool", &path), Some(places[1].join("tool")));
        assert_eq!(find_program("a/tool", &path), None);
        assert_eq!(find_program("other", &path), None);
    }
}
