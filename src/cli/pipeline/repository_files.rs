//! The files of the repository that a workflow file is in, as they are on disk.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use branchyard_workflow::ActionFiles;

/// Beyond what the file of an action may have, so that the check says so.
const MOST_READ: u64 = 1 << 20;

pub(super) struct RepositoryFiles {
    /// None where the file is in no repository.
    root: Option<PathBuf>,
}

impl RepositoryFiles {
    pub(super) fn around(file: &Path) -> Self {
        let file = file.canonicalize().ok();
        let root = file.and_then(|file| {
            let mut around = file.ancestors().skip(1);
            around
                .find(|dir| dir.join(".git").exists())
                .map(Path::to_owned)
        });
        Self { root }
    }
}

impl ActionFiles for RepositoryFiles {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        let Some(root) = &self.root else {
            return Err("the workflow file is in no git repository".to_owned());
        };
        read_plain(root, path).map_err(|error| error.to_string())
    }
}

/// As a commit would have it: nothing behind a link, and nothing but a regular file.
fn read_plain(root: &Path, path: &str) -> io::Result<Option<String>> {
    let mut found = root.to_owned();
    for part in path.split('/') {
        found.push(part);
        match found.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => return Ok(None),
            Ok(_) => {}
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    if !fs::symlink_metadata(&found)?.is_file() {
        return Ok(None);
    }
    let mut text = String::new();
    File::open(&found)?
        .take(MOST_READ)
        .read_to_string(&mut text)?;
    Ok(Some(text))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
