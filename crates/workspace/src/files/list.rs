//! Listing a directory of a workspace.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, statat};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::{FileRoot, open_beneath, shown};
use crate::files::beneath;
use crate::{Error, Workspace};
use branchyard_model::{About, ErrorKind};

const MAX_ENTRIES: usize = 10_000;

/// What `ls` takes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListRequest {
    /// A directory or file in the workspace; the workspace itself if left out.
    pub path: String,
    pub recursive: bool,
    /// Also names that start with a dot; `.git` never.
    pub all: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    pub path: String,
    pub entries: Vec<Entry>,
    /// There are more entries than an answer holds.
    pub truncated: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Relative to the workspace.
    pub path: String,
    pub kind: EntryKind,
    pub size: u64,
    /// Permission bits, in octal.
    pub mode: String,
    /// Where a symlink points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    File,
    Dir,
    Symlink,
    Other,
}

/// Lists files, with what the answer is about. The caller shares the files.
pub async fn list(
    workspace: &Arc<Workspace>,
    request: ListRequest,
) -> Result<(About, Listing), Error> {
    workspace
        .looking(move |this| {
            let listing = list_in(&FileRoot::of(this)?, &request)?;
            Ok((beneath::standing_for_read(this)?, listing))
        })
        .await
}

pub(super) fn list_in(root: &FileRoot, request: &ListRequest) -> Result<Listing, Error> {
    let path = root.relative(&request.path)?;
    let fd = root.open(&path)?;
    let mut listing = Listing {
        path: shown(&path),
        entries: Vec::new(),
        truncated: false,
    };
    let stat = rustix::fs::fstat(&fd).map_err(io)?;
    if kind_of(FileType::from_raw_mode(stat.st_mode)) == EntryKind::Dir {
        walk(root.dir(), &path, request, &mut listing)?;
    } else if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
        listing
            .entries
            .extend(entry(&root.open(parent)?, name, &path));
    }
    Ok(listing)
}

fn io(errno: Errno) -> Error {
    Error::io("list a directory")(errno.into())
}

fn walk(
    root: &OwnedFd,
    dir: &Path,
    request: &ListRequest,
    listing: &mut Listing,
) -> Result<(), Error> {
    let fd = open_beneath(root, dir)?;
    let mut names = Vec::new();
    // The descriptor only names the directory; reading it needs one that is open.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::openat(&fd, ".", flags, Mode::empty()).map_err(io)?;
    for item in rustix::fs::Dir::new(open).map_err(io)? {
        let name = OsStr::from_bytes(item.map_err(io)?.file_name().to_bytes()).to_owned();
        let hidden = name.as_bytes().starts_with(b".");
        if name != "." && name != ".." && name != ".git" && (request.all || !hidden) {
            names.push(name);
        }
    }
    names.sort();
    for name in names {
        if listing.entries.len() >= MAX_ENTRIES {
            listing.truncated = true;
            return Ok(());
        }
        let path = dir.join(&name);
        let Some(entry) = entry(&fd, &name, &path) else {
            continue;
        };
        let descend = request.recursive && entry.kind == EntryKind::Dir;
        listing.entries.push(entry);
        if descend {
            match walk(root, &path, request, listing) {
                // Gone since it was listed, as happens beside a build.
                Err(Error::Refused(problem)) if problem.kind == ErrorKind::NotFound => {}
                outcome => outcome?,
            }
        }
    }
    Ok(())
}

/// What stands at `name` itself; a symlink is not followed. `None` if it vanished meanwhile.
fn entry(dir: &OwnedFd, name: &OsStr, path: &Path) -> Option<Entry> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
    let target = (kind == EntryKind::Symlink)
        .then(|| rustix::fs::readlinkat(dir, name, Vec::new()).ok())
        .flatten()
        .map(|target| target.to_string_lossy().into_owned());
    Some(Entry {
        path: shown(path),
        kind,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mode: format!("{:04o}", stat.st_mode & 0o7777),
        target,
    })
}

fn kind_of(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Dir,
        FileType::Symlink => EntryKind::Symlink,
        _ => EntryKind::Other,
    }
}
