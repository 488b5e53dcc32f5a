//! What a commit means to be in its workspace and is not there: the content of submodules, and of files that git-lfs
//! keeps elsewhere. A build goes on without it, and its caller is told.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::regular;
use crate::submodules::{self, left_empty};
use crate::{Error, Workspace};
use branchyard_git::IndexFile;
use branchyard_model::Warning;

const SUBMODULE: u32 = 0o160_000;
const ATTRIBUTES: &[u8] = b".gitattributes";
/// What a line of attributes says of files that git-lfs keeps.
const LFS: &str = "filter=lfs";
/// How a file begins that stands for one of those, and what its length may be.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
const POINTER_SIZES: std::ops::RangeInclusive<u32> = 100..=1024;
/// No real file of attributes is longer.
const ATTRIBUTES_SIZE: u64 = 1 << 20;
/// A sync would fill it.
const NOT_YET: &str = "it was not filled yet";
/// So many paths are named; the others are counted.
const NAMED: usize = 5;
/// So many small files are looked into.
const LOOKED_INTO: usize = 10_000;

/// What callers who build here should know. The caller shares the files.
pub async fn warnings(workspace: &Arc<Workspace>) -> Result<Vec<Warning>, Error> {
    // Most often nothing has changed, and that takes no thread to see.
    match workspace.unfilled().get(&mark(workspace)?) {
        Some(known) => Ok(known),
        None => workspace.looking(look).await,
    }
}

fn look(workspace: &Workspace) -> Result<Vec<Warning>, Error> {
    let mark = mark(workspace)?;
    workspace
        .unfilled()
        .get_or(mark, || search(workspace, &index(workspace)))
}

/// Git writes the index anew whenever it changes.
fn mark(workspace: &Workspace) -> Result<(u64, u64, i64, i64), Error> {
    let meta = fs::metadata(index(workspace)).map_err(Error::io("look at the index"))?;
    Ok((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
}

fn index(workspace: &Workspace) -> PathBuf {
    workspace.worktree().admin().join("index")
}

fn search(workspace: &Workspace, index: &Path) -> Result<Vec<Warning>, Error> {
    // One that cannot be read here is of a kind that nothing else here makes.
    let Some(index) = IndexFile::read_any(index).map_err(Error::io("read the index"))? else {
        return Ok(Vec::new());
    };
    let is_wanted = workspace.repo().submodules().are_wanted();
    let (mut modules, mut small, mut has_lfs) = (Vec::new(), Vec::new(), false);
    for entry in index.entries() {
        let bytes = index.path(entry);
        let path = || PathBuf::from(OsStr::from_bytes(bytes));
        if entry.mode() == SUBMODULE {
            let link = workspace.path().join(path()).join(".git");
            if is_wanted && link.symlink_metadata().is_err() {
                let why = left_empty(workspace, &path());
                modules.push((path(), why.unwrap_or_else(|| NOT_YET.to_owned())));
            }
        } else if bytes.rsplit(|byte| *byte == b'/').next() == Some(ATTRIBUTES) {
            has_lfs = has_lfs || keeps_lfs(workspace, &path());
        } else if POINTER_SIZES.contains(&index.stat(entry).size()) {
            small.push(path());
        }
    }
    let mut pointers = Vec::new();
    if has_lfs {
        small.truncate(LOOKED_INTO);
        pointers = small;
        pointers.retain(|path| is_pointer(workspace, path));
    }
    let mut warnings = Vec::new();
    if !modules.is_empty() {
        let message = submodules::empty(&modules);
        warnings.push(Warning::new("submodules_empty", message));
    }
    if !pointers.is_empty() {
        let message = format!(
            "git-lfs is not supported yet, these files are pointers in place of their content: {}",
            named(&pointers)
        );
        warnings.push(Warning::new("lfs_pointers", message));
    }
    Ok(warnings)
}

fn keeps_lfs(workspace: &Workspace, attributes: &Path) -> bool {
    let text = begin(workspace, attributes, ATTRIBUTES_SIZE);
    text.is_some_and(|text| String::from_utf8_lossy(&text).contains(LFS))
}

fn is_pointer(workspace: &Workspace, path: &Path) -> bool {
    begin(workspace, path, POINTER.len() as u64).is_some_and(|begin| begin == POINTER)
}

/// How a file begins; `None` if it cannot be read.
fn begin(workspace: &Workspace, path: &Path, most: u64) -> Option<Vec<u8>> {
    let file = regular::open_unfollowed(workspace, path).ok()?;
    let mut begin = Vec::new();
    file.take(most).read_to_end(&mut begin).ok()?;
    Some(begin)
}

/// The first paths, and how many more there are.
fn named(paths: &[PathBuf]) -> String {
    let shown = paths.iter().take(NAMED);
    let shown: Vec<_> = shown.map(|path| path.to_string_lossy()).collect();
    let more = match paths.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}
