//! Which files to compare: libgit2 would look at all of them, by one thread, and takes long even to read a large
//! index. Metadata mostly tells which ones may differ. Where it does not, because something is staged, the command is
//! asked from some thousand files on: it knows of whole directories that nothing is staged in them.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{ObjectType, Oid};

use super::person::text;
use crate::{Error, FEW, Git, IndexFile, MetadataStatus, Repository, refuse_traps, small_index};

/// About where the command's lead over libgit2 makes up for starting a process.
const LARGE: u32 = 3_000;
/// Signature, version, number of entries.
const HEADER: usize = 12;
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
    let index = IndexFile::read(&repo.path().join("index"));
    !matches!(index, Ok(Some(_)))
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
    paths: Vec<PathBuf>,
    entries: Vec<(u32, Oid, Vec<u8>)>,
    /// The index has several sides of one of them, or only its name: nothing less than all of it will do.
    needs_index: bool,
}

impl Suspects {
    /// Those of all files, as far as metadata tells.
    pub fn against(status: &MetadataStatus, against: Against) -> Option<Self> {
        match against {
            Against::Tree { tree, .. } if !status.has_staged(crate::ObjectId::of(tree)) => None,
            Against::Tree { staged: true, .. } => Some(Self::default()),
            Against::Index | Against::Tree { .. } => Self::of(status),
        }
    }

    /// `None` where there are too many.
    pub fn of(status: &MetadataStatus) -> Option<Self> {
        (status.suspects().len() <= FEW).then(|| Self {
            paths: status.suspects().to_owned(),
            entries: status
                .entries_of_suspects()
                .map(|(mode, id, path)| (mode, id, path.to_vec()))
                .collect(),
            needs_index: false,
        })
    }

    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Those of them that are one of `paths` or in one of them.
    pub fn within(mut self, paths: &[PathBuf]) -> Self {
        self.paths.retain(|path| is_within(path, paths));
        self
    }

    /// Those at `paths`.
    pub async fn ask(
        git: &Git,
        dir: &Path,
        against: Against,
        paths: &[PathBuf],
    ) -> Result<Self, Error> {
        refuse_traps(dir, paths).await?;
        let command = git.in_worktree(dir).read_only(PATIENCE).literal_paths();
        let command = match against {
            Against::Index => command.arg("diff-files"),
            Against::Tree { tree, staged } => {
                let cached: &[&str] = if staged { &["--cached"] } else { &[] };
                command.arg("diff-index").args(cached).arg(tree.to_string())
            }
        };
        let output = command
            .args(["--raw", "--no-abbrev", "-z", "--"])
            .args(paths)
            .output()
            .await?;
        Self::parsed(&output, against)
    }

    /// `:<mode> <mode> <id> <id> <status> NUL <path> NUL`
    fn parsed(output: &[u8], against: Against) -> Result<Self, Error> {
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
        let id = |id: Oid| if id.is_zero() { nothing } else { id };
        let entries = self.entries.iter();
        let mut index = small_index(entries.map(|(mode, oid, path)| (*mode, id(*oid), &path[..])))?;
        Ok(repo.git2().set_index(&mut index)?)
    }
}

/// Whether a path is one of `paths` or in one of them; they are everything where there are none.
pub fn is_within(path: &Path, paths: &[PathBuf]) -> bool {
    let is_root = |root: &PathBuf| root == Path::new(".");
    let covers = |root: &PathBuf| is_root(root) || path.starts_with(root);
    paths.is_empty() || paths.iter().any(covers)
}

#[cfg(test)]
mod tests {
    use super::*;

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
