//! Git's own files of a scratch worktree. In a sandbox a build cannot change them; without one it can.

use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::bin::{Bin, FILE as BIN};
use super::filled::FilledSubmodules;
use super::{ScratchWorktree, known};
use crate::submodule::SUBMODULES;
use crate::worktree::{is_exactly, write_whole};

/// All files that there are in a registration of ours.
const OWN: [&str; 6] = [
    "HEAD",
    "commondir",
    "config.worktree",
    "gitdir",
    "index",
    known::FILE,
];
/// `git submodule` is to take those that are filled for filled.
const CONFIG: &str = "[submodule]\n\tactive = .\n";
/// And the directories.
const OWN_DIRECTORIES: [&str; 2] = [BIN, SUBMODULES];

impl ScratchWorktree {
    /// The files that decide which repository git takes the directory for, and how it treats it.
    fn fixed_files(&self) -> [(PathBuf, String); 4] {
        let name = self.path.file_name().unwrap_or_default();
        let objects = match self.store == self.registered_in {
            true => "../..\n".to_owned(),
            false => format!("{}\n", real(&self.store).display()),
        };
        let home = self.path.parent().unwrap_or(&self.path);
        let back = real(home).join(name).join(".git");
        [
            (self.path.join(".git"), self.link()),
            (self.admin.join("gitdir"), format!("{}\n", back.display())),
            (self.admin.join("commondir"), objects),
            (self.admin.join("config.worktree"), CONFIG.to_owned()),
        ]
    }

    /// What its `.git` says.
    pub(super) fn link(&self) -> String {
        let admin = real(&self.registered_in).join(&self.registration);
        format!("gitdir: {}\n", admin.display())
    }

    /// Puts those files back.
    pub(super) fn guard(&self) -> io::Result<()> {
        for (path, expected) in self.fixed_files() {
            if !is_exactly(&path, &expected) {
                write_whole(&path, &expected)?;
            }
        }
        Ok(())
    }

    /// Throws away what does not belong into the registration: an operation under way, locks, rules of its own. Then the
    /// rest is as we wrote it.
    pub(super) fn clean_registration(
        &self,
        bin: &mut Bin,
        filled: &FilledSubmodules,
    ) -> io::Result<()> {
        let is_own = |name: &OsStr, kind: FileType| {
            let own: &[&str] = match kind.is_dir() {
                true => &OWN_DIRECTORIES,
                false => &OWN,
            };
            !kind.is_symlink() && own.iter().any(|own| name == *own)
        };
        take_unless(bin, &self.admin, is_own)?;
        let submodules = self.admin.join(SUBMODULES);
        if submodules.is_dir() {
            take_unless(bin, &submodules, |name, _| filled.is_registered(name))?;
            // Stays if one is left in it.
            let _ = fs::remove_dir(submodules);
        }
        fs::create_dir(self.admin.join("refs"))?;
        let link = self.path.join(".git");
        if fs::symlink_metadata(&link).is_ok_and(|meta| !meta.is_file()) {
            bin.take(&bin.open(&self.path)?, b".git")?;
        }
        // Written aside first, under a name that a build may have made something else of.
        let aside = self.path.join(".branchyard");
        if fs::symlink_metadata(aside).is_ok() {
            bin.take(&bin.open(&self.path)?, b".branchyard")?;
        }
        self.guard()
    }
}

/// Takes what is in a directory, but what is to stay.
fn take_unless(
    bin: &mut Bin,
    dir: &Path,
    stays: impl Fn(&OsStr, FileType) -> bool,
) -> io::Result<()> {
    let opened = bin.open(dir)?;
    for entry in fs::read_dir(dir)? {
        let (name, kind) = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)))?;
        if !stays(&name, kind) {
            bin.take(&opened, name.as_bytes())?;
        }
    }
    Ok(())
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
