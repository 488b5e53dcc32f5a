//! Has the files that git-lfs keeps be there with their contents, in a worktree and its submodules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::blocking::blocking;
use crate::error::conflict;
use crate::repos::{LfsRemote, Repo, SubmoduleStore};
use crate::room::check_room;
use branchyard_git::DetachedWorktree;
use branchyard_git::lfs::{LfsPointer, PointerFile, PointerFiles, fill_pointers, pointer_files};
use branchyard_model::Warning;
use branchyard_runtime::disk::Amount;

/// How to go on where contents are not to be had.
const HELP: &str = "`lfs = \"off\"` of the repository goes on with pointers";

/// So many paths are named; the others are counted.
const NAMED: usize = 5;

/// A worktree, and where its registration is.
#[derive(Debug, Clone)]
pub(crate) struct LfsPlace {
    root: PathBuf,
    admin: PathBuf,
    /// Its path and its store, if it is that of a submodule.
    submodule: Option<(PathBuf, Arc<SubmoduleStore>)>,
}

/// The files there that are still pointers.
#[derive(Debug, Clone)]
pub(crate) struct LfsPointers {
    place: LfsPlace,
    found: PointerFiles,
}

impl LfsPlace {
    pub(crate) fn of(root: &Path, admin: &Path) -> Self {
        Self {
            root: root.to_owned(),
            admin: admin.to_owned(),
            submodule: None,
        }
    }

    /// That of the submodule at `path`.
    pub(crate) fn of_submodule(
        worktree: &DetachedWorktree,
        path: &Path,
        store: Arc<SubmoduleStore>,
    ) -> Self {
        Self {
            submodule: Some((path.to_owned(), store)),
            ..Self::of(worktree.path(), worktree.admin())
        }
    }

    /// `None` where no file is one. Blocks.
    pub(crate) fn look(self) -> Result<Option<LfsPointers>, Error> {
        let found = pointer_files(&self.root, &self.admin)?;
        let found = found.filter(|found| !found.files.is_empty());
        Ok(found.map(|found| LfsPointers { place: self, found }))
    }
}

/// Puts contents in the place of these. Where nothing can be asked for them they stay, unless they are required. Returns those
/// that no commit has and whose content is nowhere to be found, which is somebody's doing.
pub(crate) async fn fill(
    repo: &Arc<Repo>,
    pointers: &[LfsPointers],
) -> Result<Option<Warning>, Error> {
    if let Some(warning) = warning(repo, pointers) {
        required(repo, &warning)?;
    }
    let mut left = Vec::new();
    for pointers in pointers {
        if pointers.remote(repo).why_not().is_none() {
            left.extend(pointers.fill(repo).await?);
        }
    }
    if left.is_empty() {
        return Ok(None);
    }
    let message = format!(
        "files are pointers in place of their content, which the store does not have and HEAD does not name: {}",
        named(&left)
    );
    let warning = Warning::new("lfs_pointers", message);
    required(repo, &warning)?;
    Ok(Some(warning))
}

/// An error where no pointer may stay.
fn required(repo: &Repo, warning: &Warning) -> Result<(), Error> {
    match repo.config().lfs.is_required() {
        true => {
            let problem = conflict("lfs_required", warning.message.clone());
            Err(problem
                .help("mend that, or say `lfs = \"auto\"` of the repository")
                .into())
        }
        false => Ok(()),
    }
}

/// What is to be known of those that stay as they are.
pub(crate) fn warning(repo: &Repo, pointers: &[LfsPointers]) -> Option<Warning> {
    let stay = pointers.iter().filter_map(|pointers| {
        let why = pointers.remote(repo).why_not()?;
        Some((why, pointers))
    });
    let stay: Vec<_> = stay.collect();
    let (why, _) = *stay.first().filter(|_| repo.config().lfs.is_wanted())?;
    let paths: Vec<_> = stay
        .iter()
        .flat_map(|(_, pointers)| pointers.paths())
        .collect();
    let message = format!(
        "files are pointers in place of their content, for {why}: {}",
        named(&paths)
    );
    Some(Warning::new("lfs_pointers", message))
}

impl LfsPointers {
    fn remote<'a>(&'a self, repo: &'a Repo) -> &'a Arc<LfsRemote> {
        match &self.place.submodule {
            Some((_, store)) => store.lfs(),
            None => repo.lfs(),
        }
    }

    /// The paths of those that stay, which HEAD does not have.
    async fn fill(&self, repo: &Arc<Repo>) -> Result<Vec<PathBuf>, Error> {
        let remote = self.remote(repo);
        let mut left = self.found.files.clone();
        // What proves to be damaged in the store is fetched once more.
        for _ in 0..2 {
            let wanted: Vec<LfsPointer> = left.iter().map(|file| file.pointer.clone()).collect();
            let (this, of, asked) = (self.clone(), repo.clone(), wanted.clone());
            blocking(move || this.check(&of, &asked)).await?;
            let brought = remote.bring(&self.found.commits, &wanted).await;
            let committed = left.iter().filter(|file| file.is_committed);
            let committed: Vec<_> = committed.map(|file| file.pointer.clone()).collect();
            if let Err(error) = brought
                && remote.lacks(&committed).next().is_some()
            {
                let mut problem = error.problem();
                problem.detail = format!("LFS files: {}", problem.detail);
                return Err(problem.help(HELP).into());
            }
            let (place, from) = (self.place.clone(), remote.clone());
            let filled = blocking(move || {
                let at = (&*place.root, &*place.admin);
                Ok(fill_pointers(at, &left, &from.objects(), from.writing())?)
            });
            left = filled.await?;
            if !left.iter().any(|file| file.is_committed) {
                return Ok(left.iter().map(|file| self.path_of(file)).collect());
            }
        }
        let left = left.iter().filter(|file| file.is_committed);
        let left = left.map(|file| self.path_of(file));
        let left = named(&left.collect::<Vec<_>>());
        let detail = format!("the remote does not have the LFS content of {left}");
        Err(conflict("lfs_missing", detail).help(HELP).into())
    }

    /// Puts the store's own files back, and refuses what does not fit.
    fn check(&self, repo: &Repo, wanted: &[LfsPointer]) -> Result<(), Error> {
        match &self.place.submodule {
            Some((_, store)) => store.guard()?,
            None => drop(repo.guard_store()?),
        }
        let size = |pointers: &mut dyn Iterator<Item = &LfsPointer>| -> u64 {
            pointers.map(LfsPointer::size).fold(0, u64::saturating_add)
        };
        let fetched = size(&mut self.remote(repo).lacks(wanted));
        let need = Amount {
            bytes: size(&mut wanted.iter()).saturating_add(fetched),
            inodes: 2 * wanted.len() as u64,
        };
        match self.found.commits.first() {
            Some(commit) => check_room(repo, commit, need),
            None => Ok(()),
        }
    }

    fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.found.files.iter().map(|file| self.path_of(file))
    }

    /// From the root of the outermost worktree.
    fn path_of(&self, file: &PointerFile) -> PathBuf {
        let submodule = self.place.submodule.as_ref();
        submodule
            .map_or_else(PathBuf::new, |(path, _)| path.clone())
            .join(&file.path)
    }
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
