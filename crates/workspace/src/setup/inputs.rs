//! The files that decide what a set-up makes.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::files::regular;
use crate::{Error, Workspace};
use branchyard_config::{InputPaths, Setup};
use branchyard_git::verbs::conflicts::Working;
use branchyard_git::{IndexFile, read_plain};
use branchyard_model::{Globs, Problem, Stars, sha256, sha256_of};

/// A list that finds more files is no list of what decides.
const MOST: usize = 10_000;
/// A longer file of a branch is not read.
const MOST_BYTES: u64 = 64 << 10;

/// What a branch says of its set-up, if it has such a file. Blocks.
pub(super) fn branch_file(workspace: &Workspace, path: &str) -> Result<Option<String>, Error> {
    let file = workspace.path().join(path);
    if file.symlink_metadata().is_err() {
        return Ok(None);
    }
    let refused = |why: &str| Problem::unprocessable(path, why.to_owned());
    // A link could lead anywhere.
    regular::open_unfollowed(workspace, Path::new(path))?;
    let text = read_plain(&file, MOST_BYTES).map_err(Error::io("read a file of the branch"))?;
    let text = text.ok_or_else(|| refused("the file has more than 64 KiB, or is no plain file"))?;
    let text = String::from_utf8(text).map_err(|_| refused("the file is not UTF-8"))?;
    Ok(Some(text))
}

/// A digest of the names and contents of the inputs, as they are in the workspace. Blocks.
pub(super) fn digest(workspace: &Workspace, setup: &Setup) -> Result<String, Error> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let (globs, plain): (Vec<_>, Vec<_>) =
        setup.inputs.iter().partition(|p| InputPaths::is_glob(p));
    paths.extend(plain.iter().map(|path| PathBuf::from(path.as_str())));
    if !globs.is_empty() {
        let globs = globs.iter().map(|glob| glob.as_str());
        let globs = Globs::all(globs, Stars::WithinSegment)
            .map_err(|why| Problem::unprocessable("setup.inputs", why))?;
        let index = workspace.worktree().admin().join("index");
        let index = IndexFile::read_any(&index).map_err(Error::io("read the index"))?;
        for entry in index.iter().flat_map(|index| index.entries()) {
            let path = index.as_ref().map(|index| index.path(entry));
            let path = Path::new(OsStr::from_bytes(path.unwrap_or_default()));
            if globs.matches(path) {
                paths.push(path.to_owned());
            }
        }
    }
    paths.sort();
    paths.dedup();
    if paths.len() > MOST {
        let detail = format!("inputs are {} files, and may be {MOST}", paths.len());
        return Err(Problem::unprocessable("setup.inputs", detail).into());
    }
    let (files, mut all) = (Working::open(workspace.path())?, String::new());
    for path in paths {
        let content = content(&files, &path).map_err(Error::io("read an input of the set-up"))?;
        all += &format!("{path:?} {content}\n");
    }
    Ok(sha256(all.as_bytes()))
}

/// What is at a path, in few bytes. A link is what it says, as to git; a directory or a submodule is no input.
fn content(files: &Working, path: &Path) -> io::Result<String> {
    if let Some(target) = files.link(path) {
        return Ok(format!("link {}", sha256(&target)));
    }
    let Some(file) = files.open_file(path)? else {
        return Ok("no file".to_owned());
    };
    let is_executable = file.metadata()?.mode() & 0o111 != 0;
    Ok(format!("{} {is_executable}", sha256_of(file)?))
}
