//! The note that a run or a group is to stop, in its directory. It is there before a cancel is answered, so that a daemon
//! that is killed right after does not let the next one forget it. The record is no place for it: it has other writers.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use branchyard_runtime::disk::{if_there, write_private};

const NOTE: &str = "cancel";
/// Says the same without a reason, and takes no room: the sticky bit of the directory, which nothing else uses there. On
/// a full disk the run that fills it must be stopped all the more.
const BARE: u32 = 0o1000;

pub fn write(home: &Path, reason: &str) -> io::Result<()> {
    let Err(error) = write_private(&home.join(NOTE), reason.as_bytes()) else {
        return Ok(());
    };
    tracing::warn!(dir = %home.display(), %error, "a cancel is noted without its reason");
    let mode = fs::metadata(home)?.mode();
    fs::set_permissions(home, Permissions::from_mode(mode | BARE))
}

/// Why it is to stop, where that was promised.
pub fn read(home: &Path) -> Option<String> {
    let is_bare = || fs::metadata(home).is_ok_and(|meta| meta.mode() & BARE != 0);
    fs::read_to_string(home.join(NOTE))
        .ok()
        .or_else(|| is_bare().then(|| "cancelled".to_owned()))
}

/// Takes the note back.
pub fn remove(home: &Path) -> io::Result<()> {
    if_there(fs::remove_file(home.join(NOTE)))?;
    let mode = fs::metadata(home)?.mode();
    match mode & BARE {
        0 => Ok(()),
        _ => fs::set_permissions(home, Permissions::from_mode(mode & !BARE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_that_cannot_be_written_is_still_known() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(read(home.path()), None);
        fs::create_dir(home.path().join(format!("{NOTE}.new"))).unwrap();
        write(home.path(), "cancelled by ann").unwrap();
        assert_eq!(read(home.path()).as_deref(), Some("cancelled"));

        fs::remove_dir(home.path().join(format!("{NOTE}.new"))).unwrap();
        write(home.path(), "cancelled by ann").unwrap();
        assert_eq!(read(home.path()).as_deref(), Some("cancelled by ann"));
    }
}
