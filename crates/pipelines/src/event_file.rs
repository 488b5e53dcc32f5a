//! The event that started a pipeline, as a file for the steps of a job.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use branchyard_model::RunId;

/// Among the temporary files of the job.
const NAME: &str = "_github_event.json";

/// Where steps find it that find their temporary files in `tmp`.
pub(crate) fn path(tmp: &Path) -> PathBuf {
    tmp.join(NAME)
}

/// Writes the event. An earlier daemon may have done so, and steps have begun since: nothing that one of them put there is
/// written to.
pub(crate) fn write(tmp: &Path, event: &str) -> io::Result<()> {
    let fresh = tmp.join(format!("{NAME}.{}", RunId::new()));
    let mut file = File::create_new(&fresh)?;
    file.write_all(event.as_bytes())?;
    match fs::rename(&fresh, path(tmp)) {
        // A step that an earlier daemon started made a directory of it, which is its own loss.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => fs::remove_file(fresh),
        renamed => renamed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (tmp, outside) = (dir.path().join("tmp"), dir.path().join("outside"));
        fs::create_dir(&tmp).unwrap();
        fs::write(&outside, "mine").unwrap();
        std::os::unix::fs::symlink(&outside, path(&tmp)).unwrap();
        for event in ["{}", "{\"again\": true}"] {
            write(&tmp, event).unwrap();
            assert_eq!(fs::read_to_string(path(&tmp)).unwrap(), event);
        }
        assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
        fs::remove_file(path(&tmp)).unwrap();
        fs::create_dir_all(path(&tmp).join("x")).unwrap();
        write(&tmp, "{}").unwrap();
        assert_eq!(fs::read_dir(&tmp).unwrap().count(), 1);
    }
}
