//! Which yard this is. A yard has a random name, which stays with the directory that it was given to: one that was moved
//! keeps it, and a copy, whose directory is another, gets its own. What an original had under way is not a copy's to
//! go on with, nor to end.

use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use branchyard_runtime::disk::{DiskGuard, if_there, write_private};

const FILE: &str = "yard.json";

/// A directory that cannot be taken for a copy of it. Not the device: file systems may have another number after each
/// boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Directory {
    inode: u64,
    /// Not every file system knows it.
    born: Option<SystemTime>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    yard: Uuid,
    directory: Directory,
}

#[derive(Debug)]
pub(super) struct Identity {
    known: Known,
    is_copy: bool,
}

impl Identity {
    /// Of the yard whose state is in `state`, a directory of the yard's. Where that is a copy, its files are made its own:
    /// with hard links a change of one would be a change of the other.
    pub(super) fn of(state: &Path) -> io::Result<Self> {
        let meta = fs::symlink_metadata(state)?;
        let directory = Directory {
            inode: meta.ino(),
            born: meta.created().ok(),
        };
        let json = if_there(fs::read(state.join(FILE)))?;
        // What cannot be read says nothing of another yard.
        let known: Option<Known> = json.and_then(|json| serde_json::from_slice(&json).ok());
        let other = known.as_ref().filter(|known| known.directory != directory);
        let is_copy = other.is_some();
        if is_copy {
            part_from_hard_links(state.parent().unwrap_or(state))?;
        }
        let known = known.filter(|_| !is_copy);
        let yard = known.map_or_else(Uuid::new_v4, |known| known.yard);
        Ok(Self {
            known: Known { yard, directory },
            is_copy,
        })
    }

    pub(super) fn yard(&self) -> Uuid {
        self.known.yard
    }

    pub(super) fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// To be written once nothing of the original is under way here any more: until then every start finds a copy.
    pub(super) fn save(&self, state: &Path, margin: &DiskGuard) -> io::Result<()> {
        let file = state.join(FILE);
        let json = serde_json::to_vec(&self.known)?;
        if fs::read(&file).is_ok_and(|written| written == json) {
            return Ok(());
        }
        margin.spend(|| write_private(&file, &json))
    }
}

/// Has every file below `dir` that another yard may share be a file of its own. Git's objects never change, and may
/// be shared.
fn part_from_hard_links(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let (path, meta) = (entry.path(), entry.metadata()?);
        if meta.is_dir() && !path.ends_with(".git/objects") {
            part_from_hard_links(&path)?;
        } else if meta.is_file() && meta.nlink() > 1 {
            let mut fresh = path.as_os_str().to_owned();
            fresh.push(".parted");
            fs::copy(&path, &fresh)?;
            let times = FileTimes::new().set_modified(meta.modified()?);
            let file = File::options().append(true).open(&fresh)?;
            file.set_times(times)?;
            fs::rename(&fresh, &path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yard_that_was_moved_is_the_same_and_a_copy_another() {
        let dir = tempfile::tempdir().unwrap();
        let margin = DiskGuard::of(dir.path(), dir.path());
        let [first, moved, copied] = ["first", "moved", "copied"].map(|name| dir.path().join(name));
        let state = |yard: &Path| yard.join(".branchyard");
        fs::create_dir_all(state(&first)).unwrap();
        let fresh = Identity::of(&state(&first)).unwrap();
        assert!(!fresh.is_copy());
        fresh.save(&state(&first), &margin).unwrap();

        fs::rename(&first, &moved).unwrap();
        let found = Identity::of(&state(&moved)).unwrap();
        assert_eq!((found.yard(), found.is_copy()), (fresh.yard(), false));

        fs::create_dir_all(state(&copied)).unwrap();
        fs::create_dir_all(copied.join("demo/main")).unwrap();
        fs::hard_link(state(&moved).join(FILE), state(&copied).join(FILE)).unwrap();
        fs::write(moved.join("shared"), "shared").unwrap();
        fs::hard_link(moved.join("shared"), copied.join("demo/main/shared")).unwrap();
        let copy = Identity::of(&state(&copied)).unwrap();
        assert!(copy.is_copy() && copy.yard() != fresh.yard());
        let parted = copied.join("demo/main/shared");
        let changed = |file: &Path| fs::metadata(file).unwrap().modified().unwrap();
        assert_eq!(changed(&parted), changed(&moved.join("shared")));
        fs::write(parted, "its own").unwrap();
        assert_eq!(fs::read(moved.join("shared")).unwrap(), b"shared");
        // Until it is written down it stays one.
        assert!(Identity::of(&state(&copied)).unwrap().is_copy());
        copy.save(&state(&copied), &margin).unwrap();
        let again = Identity::of(&state(&copied)).unwrap();
        assert_eq!((again.yard(), again.is_copy()), (copy.yard(), false));
        assert_eq!(Identity::of(&state(&moved)).unwrap().yard(), fresh.yard());
    }
}
