//! The outputs of a set-up in a worktree: what its commands make there, or what is copied there in its place.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::kept::{Keeping, KeptSetup, KeptSetups};
use crate::error::conflict;
use crate::file_copy::open_dir;
use crate::files::beneath::open_dir_itself;
use crate::record::MadeAt;
use crate::repos::Repo;
use crate::{Error, fits};
use branchyard_config::{Setup, crash_point};
use branchyard_git::IndexFile;
use branchyard_git::verbs::conflicts::Working;
use branchyard_model::{BranchName, Problem};
use branchyard_runtime::disk::{Moment, Trash, if_there};

/// Where copies are made before they take their places, beside what git keeps of the worktree.
const STAGING: &str = "branchyard-setup";

/// The outputs of `setup` in the worktree at `root`.
pub(crate) struct Outputs<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) root: &'a Path,
    /// What git keeps of the worktree.
    pub(crate) admin: &'a Path,
    pub(crate) trash: &'a Trash,
}

impl<'a> Outputs<'a> {
    fn paths(&self) -> Vec<&'a Path> {
        let outputs = self.setup.outputs.iter();
        outputs.map(|output| Path::new(output.as_str())).collect()
    }

    fn is_there(&self, path: &Path) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    pub(crate) fn there(&self) -> Vec<&'a Path> {
        let mut paths = self.paths();
        paths.retain(|path| self.is_there(path));
        paths
    }

    pub(crate) fn missing(&self) -> Option<&'a Path> {
        let paths = self.paths().into_iter();
        paths.into_iter().find(|path| !self.is_there(path))
    }

    pub(crate) fn check_whole(&self) -> Result<(), Problem> {
        let Some(missing) = self.missing() else {
            return Ok(());
        };
        let detail = format!("its commands succeeded, and made no {}", missing.display());
        Err(conflict("setup_incomplete", detail)
            .help("outputs of the set-up names what its commands make"))
    }

    pub(crate) fn check_untracked(&self) -> Result<(), Error> {
        let index = self.admin.join("index");
        let Some(index) = IndexFile::read_any(&index).map_err(Error::io("read the index"))? else {
            return Ok(());
        };
        let outputs = self.paths();
        for entry in index.entries() {
            let path = index.path(entry);
            if outputs.iter().any(|output| is_at_or_in(path, output)) {
                let path = String::from_utf8_lossy(path);
                return Err(in_the_way(Path::new(&*path), "git tracks it").into());
            }
        }
        Ok(())
    }

    /// Takes away what is at `outputs`, unless it changed since it was looked at.
    pub(crate) fn discard(&self, outputs: &[&Path], looked_at: Moment) -> Result<(), Error> {
        let failed = || Error::io("make room for the set-up");
        let root = open_dir_itself(self.root)?;
        for output in outputs {
            // By the directory that it is in, which no link can lead away from.
            let parent = output.parent().unwrap_or(Path::new(""));
            let parent = open_dir(&root, parent).map_err(failed())?;
            let name = output.file_name().unwrap_or_default();
            let place = PathBuf::from(format!("/proc/self/fd/{}", parent.as_raw_fd()));
            let real = fs::read_link(&place).map_err(failed())?.join(name);
            let taken = self.trash.take_seen(&real, &"setup", looked_at);
            if_there(taken).map_err(failed())?;
        }
        Ok(())
    }

    /// Copies what is kept into a directory outside of the worktree, and moves each to its place once all are whole; false if
    /// it has gone meanwhile.
    pub(crate) fn bring(&self, kept: &KeptSetups, chosen: &KeptSetup) -> Result<bool, Error> {
        let failed = || Error::io("copy the outputs of the set-up");
        let staging = self.admin.join(STAGING);
        if_there(self.trash.take(&staging, &"setup")).map_err(failed())?;
        fs::create_dir(&staging).map_err(failed())?;
        let paths = self.paths();
        let put = || {
            if !kept.copy_to(chosen, &paths, &staging).map_err(failed())? {
                return Ok(false);
            }
            crash_point("setup-copied");
            let (files, copies) = (Working::open(self.root)?, Working::open(&staging)?);
            for path in &paths {
                if staging.join(path).symlink_metadata().is_ok()
                    && !files.take_in(&copies, path).map_err(failed())?
                {
                    let why = "something else stands there, or a link on the way";
                    return Err(in_the_way(path, why).into());
                }
            }
            Ok(true)
        };
        let done = put();
        if let Err(error) = self.trash.take(&staging, &"setup") {
            tracing::warn!(%error, "what is left of a copy stays until the next one");
        }
        done
    }

    /// Keeps what is there for others under the key.
    pub(crate) fn keep(
        &self,
        kept: &KeptSetups,
        (repo, branch): (&Repo, &BranchName),
        by: (&str, &MadeAt),
    ) -> Keeping {
        let has_room = |amount| fits::has_plenty_beside(repo, amount);
        let place = (repo.name(), branch);
        let keeping = kept.keep(place, by, &self.paths(), self.root, has_room);
        if let Err(error) = kept.prune(self.trash, false) {
            tracing::warn!(repo = %repo.name(), %error, "outputs of set-ups that are not used stay");
        }
        keeping.unwrap_or_else(|error| Keeping::No(error.to_string()))
    }
}

pub(super) fn in_the_way(path: &Path, why: &str) -> Problem {
    let detail = format!("the set-up would replace {}: {why}", path.display());
    conflict("setup_in_the_way", detail)
        .help("outputs of the set-up names what its commands make, and nothing else")
}

fn is_at_or_in(path: &[u8], output: &Path) -> bool {
    let output = output.as_os_str().as_encoded_bytes();
    let rest = path.strip_prefix(output);
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}
