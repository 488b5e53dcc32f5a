//! The quarantine: what is broken or nobody's, and may hold something that somebody would miss. It is
//! moved here with a note that says what it was, and nothing of ours ever deletes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{if_there, read_json};

const NOTE: &str = "branchyard.json";
const VERSION: u32 = 1;

/// Cheap to clone. It must be on the file system of what is to go there.
#[derive(Debug, Clone)]
pub struct Quarantine {
    dir: PathBuf,
}

/// Why something is in quarantine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Note {
    version: u32,
    pub at: Timestamp,
    /// Where it stood before.
    pub was: PathBuf,
    pub why: String,
}

impl Quarantine {
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Makes room for something that stood at `was`: a directory of its own, with a note in it.
    pub fn make_room(&self, name: &str, was: &Path, why: &str) -> io::Result<PathBuf> {
        let room = self.dir.join(format!("{name}-{}", Uuid::now_v7()));
        fs::create_dir_all(&room)?;
        let note = Note {
            version: VERSION,
            at: Timestamp::now(),
            was: was.to_owned(),
            why: why.to_owned(),
        };
        fs::write(room.join(NOTE), serde_json::to_vec_pretty(&note)?)?;
        Ok(room)
    }

    /// Moves `path` into a room of its own; where it is now.
    pub fn take(&self, path: &Path, name: &str, why: &str) -> io::Result<PathBuf> {
        let room = self.make_room(name, path, why)?;
        let own_name = path.file_name().unwrap_or_default();
        // Out of sight of git, which would take the room for a repository's work tree.
        let moved = room.join(own_name.to_string_lossy().trim_start_matches('.'));
        fs::rename(path, &moved)?;
        Ok(moved)
    }

    /// Everything in it, oldest first, with its note where that can be read.
    pub fn contents(&self) -> io::Result<Vec<(PathBuf, Option<Note>)>> {
        let mut rooms: Vec<_> = if_there(fs::read_dir(&self.dir))?
            .into_iter()
            .flatten()
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        rooms.sort();
        let with_note = |room: PathBuf| {
            let note = read_json(&room.join(NOTE)).ok().flatten();
            (room, note)
        };
        Ok(rooms.into_iter().map(with_note).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_kept_with_a_note() {
        let home = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::at(home.path().join("quarantine"));
        assert!(quarantine.contents().unwrap().is_empty());
        let broken = home.path().join(".git");
        fs::create_dir(&broken).unwrap();
        fs::write(broken.join("file"), "x").unwrap();
        let moved = quarantine.take(&broken, "demo-main", "in the way").unwrap();
        assert!(!broken.exists());
        assert_eq!(fs::read_to_string(moved.join("file")).unwrap(), "x");
        let [(room, Some(note))] = &quarantine.contents().unwrap()[..] else {
            panic!("one room with a note");
        };
        assert!(moved.starts_with(room));
        assert_eq!(
            (note.was.as_path(), note.why.as_str()),
            (broken.as_path(), "in the way")
        );
    }
}
