//! Paths as callers give them, and the files that they may lead to.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::file_copy::or_dot;
use crate::included::IncludedFiles;
use crate::scratch::HeldScratch;
use crate::{Error, Workspace, standing};
use branchyard_model::{About, ErrorKind, Problem};

/// Checks that each path, if it exists, resolves to something beneath the workspace.
pub async fn check_beneath(workspace: &Arc<Workspace>, paths: Vec<String>) -> Result<(), Error> {
    workspace
        .looking(move |this| {
            let root = open_root(this)?;
            for path in &paths {
                let reached = if_reached(open_beneath(&root, &relative(this, path)?));
                reached.map_err(|problem| problem.field("args"))?;
            }
            Ok(())
        })
        .await
}

/// Whether a file of the workspace is there; what leads out of it is not.
pub async fn is_there(workspace: &Arc<Workspace>, path: String) -> bool {
    let looked = workspace.looking(move |this| {
        let root = open_root(this)?;
        Ok(open_beneath(&root, &relative(this, &path)?).is_ok())
    });
    looked.await.unwrap_or(false)
}

/// Status of the whole tree would cost more than the read itself, so `dirty` is left to the
/// file's own `modified` and to the workspace's description.
pub(super) fn standing_for_read(workspace: &Workspace) -> Result<About, Error> {
    standing::standing(workspace, &workspace.worktree().open()?, None)
}

/// Refuses a path whose directory, as far as there is one, is reached through a link that leads out.
/// The file itself may be such a link: git keeps it as one.
pub(crate) fn check_parent(root: &OwnedFd, path: &Path) -> Result<(), Problem> {
    if_reached(open_beneath(root, path.parent().unwrap_or(Path::new(""))))
}

/// A path need not lead to anything.
fn if_reached(opened: Result<OwnedFd, Problem>) -> Result<(), Problem> {
    match opened {
        Err(problem) if problem.kind != ErrorKind::NotFound => Err(problem),
        _ => Ok(()),
    }
}

pub(crate) fn open_root(workspace: &Workspace) -> Result<OwnedFd, Error> {
    open_dir_itself(workspace.path())
}

/// Opens the directory of a worktree, and nothing that a link leads to in its place.
pub(crate) fn open_dir_itself(dir: &Path) -> Result<OwnedFd, Error> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(dir, flags, Mode::empty())
        .map_err(|errno| Error::io("open the workspace")(errno.into()))
}

/// What paths of callers are beneath: the files of a workspace, or of a held worktree.
pub(super) struct FileRoot {
    dir: OwnedFd,
    yard: PathBuf,
    included: IncludedFiles,
}

impl FileRoot {
    pub(super) fn of(workspace: &Workspace) -> Result<Self, Error> {
        Ok(Self {
            dir: open_root(workspace)?,
            yard: yard_of(workspace).to_owned(),
            included: IncludedFiles::of(workspace)?,
        })
    }

    /// The operator supplies files to workspaces alone.
    pub(super) fn of_held(held: &HeldScratch) -> Result<Self, Error> {
        let home = held.repo().home();
        Self::at(held.path(), home.parent().unwrap_or(home))
    }

    pub(super) fn at(dir: &Path, yard: &Path) -> Result<Self, Error> {
        Ok(Self {
            dir: open_dir_itself(dir)?,
            yard: yard.to_owned(),
            included: IncludedFiles::default(),
        })
    }

    pub(super) fn dir(&self) -> &OwnedFd {
        &self.dir
    }

    /// What of it is not to be told.
    pub(super) fn included(&self) -> &IncludedFiles {
        &self.included
    }

    pub(super) fn relative(&self, path: &str) -> Result<PathBuf, Problem> {
        relative_in(&self.yard, path)
    }

    pub(super) fn open(&self, path: &Path) -> Result<OwnedFd, Problem> {
        open_beneath(&self.dir, path)
    }
}

fn yard_of(workspace: &Workspace) -> &Path {
    let home = workspace.repo().home();
    home.parent().unwrap_or(home)
}

/// A path as the caller gave it, relative and inside; `.` and empty mean the workspace itself.
pub(crate) fn relative(workspace: &Workspace, path: &str) -> Result<PathBuf, Problem> {
    relative_in(yard_of(workspace), path)
}

fn relative_in(yard: &Path, path: &str) -> Result<PathBuf, Problem> {
    let given = Path::new(path);
    if path.contains('\0') {
        return Err(Problem::bad("path", "a path cannot hold a NUL character"));
    }
    if given.is_absolute() {
        return Err(if given.starts_with(yard) {
            outside(path)
        } else {
            Problem::bad("path", format!("{path:?} is absolute"))
                .help("give a path relative to the workspace")
        });
    }
    let mut clean = PathBuf::new();
    for component in given.components() {
        match component {
            Component::Normal(name) if name == ".git" => {
                return Err(git_directory());
            }
            Component::Normal(name) => clean.push(name),
            Component::ParentDir if !clean.pop() => return Err(outside(path)),
            _ => {}
        }
    }
    Ok(clean)
}

pub(super) fn git_directory() -> Problem {
    let detail = "git's own files are not served";
    Problem::new(ErrorKind::Forbidden, "git_directory", detail).field("path")
}

/// Whether a link led to git's own files. The kernel knows where what it opened lies.
fn leads_to_git(root: &OwnedFd, found: &OwnedFd) -> bool {
    let place = |fd: &OwnedFd| fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok();
    let (Some(root), Some(found)) = (place(root), place(found)) else {
        return true;
    };
    // It was opened beneath the root: where it is not there any more, a change has just replaced it.
    let inside = found.strip_prefix(root);
    inside.is_ok_and(|inside| inside.components().any(|part| part.as_os_str() == ".git"))
}

fn outside(path: &str) -> Problem {
    Problem::new(
        ErrorKind::Forbidden,
        "outside_workspace",
        format!("{path:?} leads out of the workspace"),
    )
    .field("path")
}

pub(super) fn not_found(path: &Path) -> Problem {
    let detail = format!("there is no {} in the workspace", shown(path));
    Problem::new(ErrorKind::NotFound, "file_not_found", detail).field("path")
}

/// Names a file beneath `root` without opening it for anything.
pub(super) fn open_beneath(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Problem> {
    name_beneath(root, path, OFlags::empty())
}

/// The same, of a link the link itself.
pub(super) fn open_unfollowed(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Problem> {
    name_beneath(root, path, OFlags::NOFOLLOW)
}

fn name_beneath(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Problem> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | flags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, or_dot(path), flags, Mode::empty(), resolve) {
        Ok(fd) if leads_to_git(root, &fd) => Err(git_directory()),
        Ok(fd) => Ok(fd),
        Err(Errno::XDEV | Errno::LOOP) => Err(outside(&shown(path))),
        Err(Errno::NOENT | Errno::NOTDIR) => Err(not_found(path)),
        Err(Errno::NAMETOOLONG) => Err(Problem::bad("path", "the path is too long")),
        Err(errno) => Err(Problem::bad(
            "path",
            format!("{} cannot be read: {errno}", shown(path)),
        )),
    }
}

pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
