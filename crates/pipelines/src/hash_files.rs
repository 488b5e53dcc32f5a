//! `hashFiles`: the digest of the files in a worktree that match some patterns, as GitHub computes it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::regular::open_regular;
use branchyard_model::{Globs, Stars};
use branchyard_workflow::HashFiles;

/// More are not looked through.
const MAX_FILES: usize = 100_000;
/// Of all files together.
const MAX_BYTES: u64 = 1 << 30;

/// The worktree whose files are hashed.
pub(crate) struct WorktreeFiles<'a>(pub(crate) &'a Path);

impl HashFiles for WorktreeFiles<'_> {
    fn hash_files(&self, patterns: &[String]) -> Result<String, String> {
        let (mut wanted, mut left_out) = (Vec::new(), Vec::new());
        for pattern in patterns.iter().flat_map(|pattern| pattern.lines()) {
            let pattern = pattern.trim();
            let (list, glob) = match pattern.strip_prefix('!') {
                Some(rest) => (&mut left_out, rest),
                None => (&mut wanted, pattern),
            };
            let glob = glob.strip_prefix("./").unwrap_or(glob);
            if glob.is_empty() || glob.starts_with('#') {
                continue;
            }
            let parsed = Globs::one(glob, Stars::WithinSegment);
            list.push(parsed.map_err(|rule| format!("{pattern:?} is no glob of files: {rule}"))?);
        }
        let is_wanted = |path: &Path| {
            let any = |globs: &[Globs]| globs.iter().any(|glob| glob.matches(path));
            any(&wanted) && !any(&left_out)
        };
        let mut found = self.matching(is_wanted)?;
        if found.is_empty() {
            return Ok(String::new());
        }
        found.sort();
        let mut all = Sha256::new();
        let mut left = MAX_BYTES;
        for path in found {
            all.update(
                digest(&self.0.join(&path), &mut left)
                    .map_err(|error| format!("{} cannot be read: {error}", path.display()))?,
            );
        }
        Ok(all
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect())
    }
}

impl WorktreeFiles<'_> {
    /// The regular files that are wanted, by their paths within the worktree.
    pub(crate) fn matching(
        &self,
        is_wanted: impl Fn(&Path) -> bool,
    ) -> Result<Vec<PathBuf>, String> {
        let (mut looked, mut found) = (0, Vec::new());
        walk(self.0, Path::new(""), &mut looked, &is_wanted, &mut found)?;
        Ok(found)
    }
}

/// Gathers regular files. What is behind a link is not of the worktree.
fn walk(
    root: &Path,
    dir: &Path,
    looked: &mut usize,
    is_wanted: &impl Fn(&Path) -> bool,
    found: &mut Vec<PathBuf>,
) -> Result<(), String> {
    let entries = fs::read_dir(root.join(dir));
    for entry in entries.into_iter().flatten().flatten() {
        *looked += 1;
        if *looked > MAX_FILES {
            return Err(format!("the worktree has more than {MAX_FILES} files"));
        }
        let path = dir.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => {
                walk(root, &path, looked, is_wanted, found)?;
            }
            Ok(kind) if kind.is_file() && is_wanted(&path) => found.push(path),
            _ => {}
        }
    }
    Ok(())
}

fn digest(path: &Path, left: &mut u64) -> io::Result<Vec<u8>> {
    let mut hash = Sha256::new();
    let mut file = open_regular(path)?;
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(hash.finalize().to_vec());
        }
        let room = left.checked_sub(read as u64);
        *left = room.ok_or_else(|| io::Error::other("the files have more than 1 GiB together"))?;
        hash.update(&piece[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_hashed_as_on_github() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("Cargo.lock"), "a").unwrap();
        fs::write(dir.path().join("sub/Cargo.lock"), "b").unwrap();
        std::os::unix::fs::symlink("Cargo.lock", dir.path().join("other.lock")).unwrap();
        let files = WorktreeFiles(dir.path());
        let of = |patterns: &[&str]| {
            let patterns: Vec<_> = patterns.iter().map(|text| (*text).to_owned()).collect();
            files.hash_files(&patterns).unwrap()
        };
        // sha256(sha256("a"))
        let one = "bf5d3affb73efd2ec6c36ad3112dd933efed63c4e1cbffcfa88e2759c144f2d8";
        assert_eq!(of(&["Cargo.lock"]), one);
        assert_ne!(of(&["**/Cargo.lock"]), one);
        assert_eq!(of(&["**/*.lock", "!sub/**"]), one);
        assert_eq!(of(&["none"]), "");
        assert!(files.hash_files(&["[".to_owned()]).is_err());
    }
}
