//! What has to happen for a workspace to have the files that it is to have, and no others of the operator's.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::sources::{self, SuppliedFile};
use super::{IncludedFile, IncludedFiles, LIST};
use crate::{Error, Workspace};
use branchyard_git::verbs::conflicts::{Read, Standing, Working};
use branchyard_git::{self as git, IgnoreRules, IndexFile};
use branchyard_model::Warning;

/// A file to put into the workspace.
pub(super) struct FileToCopy {
    pub(super) path: PathBuf,
    pub(super) content: Vec<u8>,
    pub(super) mode: u32,
    /// An earlier copy is there.
    pub(super) replaces: bool,
}

#[derive(Default)]
pub(super) struct CopyPlan {
    /// Which files are the operator's when it is done.
    pub(super) after: IncludedFiles,
    pub(super) place: Vec<FileToCopy>,
    /// Copies that are not for this workspace any more.
    pub(super) remove: Vec<PathBuf>,
    pub(super) warning: Option<Warning>,
    is_noted: bool,
}

/// Whether all is as it is to be.
pub(super) fn is_done(plan: &CopyPlan) -> bool {
    plan.is_noted && plan.place.is_empty() && plan.remove.is_empty()
}

/// Compares what the branch asks for, and may have, with what is there. Blocks.
pub(super) fn plan(workspace: &Workspace) -> Result<CopyPlan, Error> {
    let (before, is_known) = match IncludedFiles::of(workspace) {
        Ok(before) => (before, true),
        Err(error) => {
            // Until it is written anew no file of the workspace is read to callers.
            tracing::error!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "which files the operator supplied is found out again, by their content");
            (IncludedFiles::default(), false)
        }
    };
    let (wanted, warning) = wanted(workspace)?;
    let mut plan = CopyPlan {
        after: IncludedFiles {
            root: workspace.path().to_owned(),
            ..IncludedFiles::default()
        },
        warning,
        ..CopyPlan::default()
    };
    let files = Working::open(workspace.path())?;
    let from = workspace.repo().config().include.as_ref();
    let from = from
        .map(|include| Working::open(&include.from))
        .transpose()?;
    for source in wanted {
        if let Some(from) = &from {
            want(&mut plan, &before, (from, &files), source)?;
        }
    }
    for (path, known) in &before.files {
        if plan.after.files.contains_key(path) || files.standing(path)? == Standing::Nothing {
            continue;
        }
        if before.is_unchanged(path) {
            plan.remove.push(path.clone());
        } else {
            // What is in it may still be the operator's.
            plan.after.files.insert(path.clone(), known.clone());
        }
    }
    plan.is_noted = is_known && plan.after.files == before.files;
    Ok(plan)
}

fn want(
    plan: &mut CopyPlan,
    before: &IncludedFiles,
    (from, files): (&Working, &Working),
    source: SuppliedFile,
) -> Result<(), Error> {
    let standing = files.standing(&source.path)?;
    let known = before.files.get(&source.path);
    if let Some(known) = known
        && standing == Standing::File
        && (known.source == source.stamp || !before.is_unchanged(&source.path))
    {
        // It is there, as it was copied or changed since.
        plan.after.files.insert(source.path, known.clone());
        return Ok(());
    }
    if standing == Standing::Other {
        let detail = format!(
            "what is in the place of {} in the workspace is no file, or lies behind a link",
            source.path.display()
        );
        return Err(sources::invalid(&detail).into());
    }
    let Read::Whole(content) = from.read(&source.path, sources::MOST_BYTES) else {
        // It went, or grows.
        return Ok(());
    };
    let file = IncludedFile {
        blob: git::blob_id(&content)?.to_string(),
        size: content.len() as u64,
        source: source.stamp,
    };
    if standing == Standing::File && known.is_none() {
        // The branch's own file stays; where a note was lost, the copy is known by what is in it.
        let read = files.read(&source.path, sources::MOST_BYTES);
        if matches!(read, Read::Whole(found) if found == content) {
            plan.after.files.insert(source.path, file);
        }
        return Ok(());
    }
    plan.after.files.insert(source.path.clone(), file);
    plan.place.push(FileToCopy {
        path: source.path,
        content,
        mode: source.mode,
        replaces: standing == Standing::File,
    });
    Ok(())
}

/// What the branch asks for and may have, as far as git ignores it.
fn wanted(workspace: &Workspace) -> Result<(Vec<SuppliedFile>, Option<Warning>), Error> {
    let Some(include) = &workspace.repo().config().include else {
        return Ok((Vec::new(), None));
    };
    let (files, path) = (Working::open(workspace.path())?, Path::new(LIST));
    let failed = || Error::io("read what a branch asks for");
    if files.link(path).is_some() {
        return Err(sources::invalid("it is a link").into());
    }
    let Some(list) = files.open_file(path).map_err(failed())? else {
        return Ok((Vec::new(), None));
    };
    if !include.branches.matches(workspace.branch()) {
        let message = format!(
            "nothing of {LIST} is supplied to {}: the operator supplies files to {}",
            workspace.branch(),
            include.branches.patterns().join(", ")
        );
        return Ok((Vec::new(), Some(Warning::new("include_refused", message))));
    }
    let mut text = Vec::new();
    let mut list = list.take(sources::MOST_BYTES);
    list.read_to_end(&mut text).map_err(failed())?;
    let mut found = sources::find(&include.from, &sources::parse(&text)?)?;
    let repo = workspace.worktree().open()?;
    let (rules, tracked) = (IgnoreRules::of(&repo)?, tracked(workspace, &found)?);
    found.retain(|source| rules.is_ignored(&source.path) && !tracked.contains(&source.path));
    // Names that are no text are none that a list could hold.
    found.retain(|source| source.path.to_str().is_some());
    Ok((found, None))
}

fn tracked(workspace: &Workspace, found: &[SuppliedFile]) -> Result<HashSet<PathBuf>, Error> {
    let wanted: HashSet<&Path> = found.iter().map(|source| source.path.as_path()).collect();
    let index = workspace.worktree().admin().join("index");
    let index = IndexFile::read_any(&index).map_err(Error::io("read the index"))?;
    let Some(index) = index.filter(|_| !wanted.is_empty()) else {
        return Ok(HashSet::new());
    };
    let paths = index.entries().iter().map(|entry| index.path(entry));
    let paths = paths.map(|path| Path::new(OsStr::from_bytes(path)));
    Ok(paths
        .filter(|path| wanted.contains(path))
        .map(Path::to_owned)
        .collect())
}
