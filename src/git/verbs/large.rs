//! Working trees with many files. The command looks at them from several threads and knows of whole
//! directories that nothing is staged in them, and libgit2 does not, which takes long even to read a
//! large index: from some thousand files on it is quicker to ask the command which files to look at.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{Index, IndexEntry, IndexTime, ObjectType, Oid, Repository};

use super::person::text;
use crate::git::status::{ASSUME_UNCHANGED, SKIP_WORKTREE};
use crate::git::{Error, Git};

/// About where the command's lead over libgit2 makes up for starting a process.
const LARGE: u32 = 3_000;
/// Signature, version, number of entries.
const HEADER: usize = 12;
/// Where an entry's flags are, after its times, modes and id.
const FLAGS_AT: usize = 60;
/// The flag that more flags follow, and the bits with the length of the name.
const EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;
/// How long git may take to look at one.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Whether the index has so many entries that the command is quicker.
pub fn is_large(repo: &Repository) -> bool {
    let mut header = [0; HEADER];
    let read = File::open(repo.path().join("index")).and_then(|mut index| {
        index.read_exact(&mut header)?;
        let [.., a, b, c, d] = header;
        Ok(u32::from_be_bytes([a, b, c, d]))
    });
    // Whatever is wrong with it is told by whoever reads all of it.
    read.is_ok_and(|entries| entries >= LARGE)
}

/// Whether some files may be flagged `assume-unchanged` or `skip-worktree`; certain if there are none.
pub fn may_have_flagged_files(repo: &Repository) -> bool {
    let index = std::fs::read(repo.path().join("index"));
    index.map_or(true, |index| has_flags(&index).unwrap_or(true))
}

/// Goes through the flags of an index's entries alone; `None` where they are not laid out as expected.
fn has_flags(index: &[u8]) -> Option<bool> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let flags = |at: usize| Some(u16::from_be_bytes(index.get(at..at + 2)?.try_into().ok()?));
    if !index.starts_with(b"DIRC") || !matches!(number(4)?, 2 | 3) {
        return None;
    }
    let mut at = HEADER;
    for _ in 0..number(8)? {
        let first = flags(at + FLAGS_AT)?;
        let is_extended = first & EXTENDED != 0;
        let more = if is_extended {
            flags(at + FLAGS_AT + 2)?
        } else {
            0
        };
        if first & ASSUME_UNCHANGED != 0 || more & SKIP_WORKTREE != 0 {
            return Some(true);
        }
        let name_at = FLAGS_AT + if is_extended { 4 } else { 2 };
        let name = match usize::from(first & NAME_LENGTH) {
            // Too long to be told there.
            0xfff => index
                .get(at + name_at..)?
                .iter()
                .position(|byte| *byte == 0)?,
            length => length,
        };
        // At least one NUL, up to a multiple of eight.
        at += (name_at + name + 8) & !7;
    }
    Some(false)
}

/// What the files, or the index, are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    Index,
    Tree { tree: Oid, staged: bool },
}

/// Files that may differ, with what the index has of them; no others do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Suspects {
    pub paths: Vec<PathBuf>,
    entries: Vec<(u32, Oid, Vec<u8>)>,
    /// The index has several sides of one of them, or only its name: nothing less than all of it will do.
    needs_index: bool,
}

impl Suspects {
    /// Those at `paths`.
    pub async fn ask(
        git: &Git,
        dir: &Path,
        against: Against,
        paths: &[PathBuf],
    ) -> Result<Self, Error> {
        let command = git.at(dir).read_only(PATIENCE).literal_paths();
        let command = match against {
            Against::Index => command.args(["diff-files", "--raw", "--no-abbrev", "-z"]),
            Against::Tree { tree, staged } => {
                let cached: &[&str] = if staged { &["--cached"] } else { &[] };
                command
                    .args(["diff-index", "--raw", "--no-abbrev", "-z"])
                    .args(cached)
                    .arg(tree.to_string())
            }
        };
        let output = command.arg("--").args(paths).output().await?;
        Self::parsed(&output, against)
    }

    /// `:<mode> <mode> <id> <id> <status> NUL <path> NUL`
    fn parsed(output: &[u8], against: Against) -> Result<Self, Error> {
        use std::os::unix::ffi::OsStrExt;
        let mut found = Self::default();
        let mut records = output.split(|byte| *byte == 0);
        while let (Some(record), Some(path)) = (records.next(), records.next()) {
            let record = text(record);
            let words: Vec<_> = record.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old_id, new_id, status] = words[..] else {
                break;
            };
            let is_gone = status == "D";
            let (mode, id) = match against {
                Against::Index => (old_mode, old_id),
                Against::Tree { staged: true, .. } => (new_mode, new_id),
                // Only that it is in the index counts, for it is passed through.
                Against::Tree { .. } if is_gone => ("0", old_id),
                Against::Tree { .. } => (new_mode, old_id),
            };
            let mode = u32::from_str_radix(mode, 8).unwrap_or_default();
            found.needs_index |= status == "U" || (mode == 0 && !is_gone);
            if mode != 0 {
                found
                    .entries
                    .push((mode, Oid::from_str(id)?, path.to_vec()));
            }
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
            found.paths.push(path);
        }
        Ok(found)
    }

    /// Makes the repository, as it is open here, have an index of these files alone.
    pub fn stand_for_index(&self, repo: &Repository) -> Result<(), Error> {
        if self.needs_index {
            return Ok(());
        }
        let nothing = Oid::hash_object(ObjectType::Blob, b"")?;
        let mut index = Index::new()?;
        for (mode, id, path) in &self.entries {
            index.add(&IndexEntry {
                // Times of no file: each is compared by its content.
                ctime: IndexTime::new(0, 0),
                mtime: IndexTime::new(0, 0),
                dev: 0,
                ino: 0,
                mode: *mode,
                uid: 0,
                gid: 0,
                file_size: 0,
                id: if id.is_zero() { nothing } else { *id },
                flags: 0,
                flags_extended: 0,
                path: path.clone(),
            })?;
        }
        Ok(repo.set_index(&mut index)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_is_not_understood_may_have_flags() {
        for (index, expected) in [
            (&b"DIRC\0\0\0\x02\0\0\0\0"[..], Some(false)),
            (b"DIRC\0\0\0\x04\0\0\0\0", None),
            (b"DIRC\0\0\0\x02\0\0\0\x01", None),
            (b"", None),
        ] {
            assert_eq!(has_flags(index), expected);
        }
    }

    #[test]
    fn what_the_index_has_is_read_from_the_right_side() {
        let (a, b, zero) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let output = format!(
            ":100644 100755 {a} {b} M\0one\0:100644 000000 {a} {zero} D\0two\0\
             :000000 100644 {zero} {b} A\0three\0"
        );
        let tree = Oid::from_str(&a).unwrap();
        let entries = |against| {
            let found = Suspects::parsed(output.as_bytes(), against).unwrap();
            assert_eq!(found.paths.len(), 3);
            let ids = found.entries.iter().map(|(_, id, _)| id.to_string());
            (ids.collect::<Vec<_>>(), found.needs_index)
        };
        // A name without content needs the whole index.
        let (ids, needs_index) = entries(Against::Index);
        assert_eq!((ids, needs_index), (vec![a.clone(), a.clone()], true));
        let staged = entries(Against::Tree { tree, staged: true });
        assert_eq!(staged, (vec![b.clone(), b], false));
        let through = entries(Against::Tree {
            tree,
            staged: false,
        });
        assert_eq!(through, (vec![a, zero], false));
    }
}
