//! What a commit means to be in its workspace and is not there: the content of submodules, and of files that git-lfs
//! keeps elsewhere. A build goes on without it, and its caller is told.

pub(crate) mod found;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::lfs::{self, LfsPlace};
use crate::submodules::{self, left_empty};
use crate::{Error, Report, Reporter, Workspace};
use branchyard_git::{GITLINK, IndexFile, Submodule};
use branchyard_model::{Phase, Warning};
use branchyard_runtime::disk::if_there;
use found::{IndexMark, Unfilled, UnfilledMark};

/// A sync would fill it.
const NOT_YET: &str = "it was not filled yet";

/// What callers who build here should know. The caller shares the files.
pub async fn warnings(workspace: &Arc<Workspace>) -> Result<Vec<Warning>, Error> {
    let unfilled = of(workspace).await?;
    let mut warnings = Vec::new();
    if !unfilled.submodules.is_empty() {
        let message = submodules::empty(&unfilled.submodules);
        warnings.push(Warning::new("submodules_empty", message));
    }
    warnings.extend(lfs::warning(workspace.repo(), &unfilled.pointers));
    Ok(warnings)
}

/// Has LFS files of a workspace be there, as far as the repository's configuration wants it. The caller shares the files.
pub async fn fill(workspace: &Arc<Workspace>, report: &Reporter) -> Result<(), Error> {
    if !workspace.repo().config().lfs.is_wanted() {
        return Ok(());
    }
    let unfilled = of(workspace).await?;
    if unfilled.pointers.is_empty() {
        return Ok(());
    }
    report(Report::Phase(Phase::Checkout, None));
    let left = lfs::fill(workspace.repo(), &unfilled.pointers).await?;
    if let Some(warning) = left {
        report(Report::Warning(warning));
    }
    Ok(())
}

/// What is missing in a workspace.
async fn of(workspace: &Arc<Workspace>) -> Result<Arc<Unfilled>, Error> {
    let filled = Submodule::all(workspace.worktree())?;
    // Most often nothing has changed, and that takes no thread to see.
    match workspace.unfilled().get(&marks(workspace, &filled)?) {
        Some(known) => Ok(known),
        None => workspace.looking(move |this| look(this, &filled)).await,
    }
}

fn look(workspace: &Workspace, filled: &[Submodule]) -> Result<Arc<Unfilled>, Error> {
    let marks = marks(workspace, filled)?;
    workspace
        .unfilled()
        .get_or(marks, || search(workspace, filled).map(Arc::new))
}

fn marks(workspace: &Workspace, filled: &[Submodule]) -> Result<UnfilledMark, Error> {
    let admins = filled.iter().map(|submodule| submodule.worktree().admin());
    let own = std::iter::once(workspace.worktree().admin());
    own.chain(admins).map(mark).collect()
}

fn mark(admin: &Path) -> Result<IndexMark, Error> {
    let meta = if_there(fs::metadata(admin.join("index")));
    let meta = meta.map_err(Error::io("look at the index"))?;
    Ok(meta.map(|meta| (meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec())))
}

fn search(workspace: &Workspace, filled: &[Submodule]) -> Result<Unfilled, Error> {
    let worktree = workspace.worktree();
    let root = LfsPlace::of(worktree.path(), worktree.admin());
    let within = filled.iter().filter_map(|submodule| {
        let store = workspace.repo().submodules().store_of(submodule.url())?;
        let (path, worktree) = (submodule.path(), submodule.worktree());
        Some(LfsPlace::of_submodule(worktree, path, store))
    });
    let mut pointers = Vec::new();
    for place in std::iter::once(root).chain(within) {
        pointers.extend(place.look()?);
    }
    Ok(Unfilled {
        submodules: empty_submodules(workspace)?,
        pointers,
    })
}

fn empty_submodules(workspace: &Workspace) -> Result<Vec<(PathBuf, String)>, Error> {
    let index = workspace.worktree().admin().join("index");
    let index = IndexFile::read_any(&index).map_err(Error::io("read the index"))?;
    let is_wanted = workspace.repo().submodules().rule().is_wanted();
    // An index that cannot be read here is of a kind that nothing else here makes.
    let Some(index) = index.filter(|_| is_wanted) else {
        return Ok(Vec::new());
    };
    let links = index.entries().iter().filter(|it| it.mode() == GITLINK);
    let paths = links.map(|entry| PathBuf::from(OsStr::from_bytes(index.path(entry))));
    let is_empty = |path: &PathBuf| {
        let link = workspace.path().join(path).join(".git");
        link.symlink_metadata().is_err()
    };
    let empty = paths.filter(is_empty).map(|path| {
        let why = left_empty(workspace, &path);
        (path, why.unwrap_or_else(|| NOT_YET.to_owned()))
    });
    Ok(empty.collect())
}
