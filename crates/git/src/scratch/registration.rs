//! Git's own files of a scratch worktree. In a sandbox a build cannot change them; without one it can.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::bin::{Bin, FILE as BIN};
use super::{ScratchWorktree, known};
use crate::worktree::{is_exactly, link_to, write_whole};

/// All that there is in a registration of ours.
const OWN: [&str; 7] = [
    "HEAD",
    "commondir",
    "config.worktree",
    "gitdir",
    "index",
    known::FILE,
    BIN,
];

impl ScratchWorktree {
    /// The files that decide which repository git takes the directory for, and how it treats it.
    fn fixed_files(&self) -> [(PathBuf, String); 4] {
        let name = self.path.file_name().unwrap_or_default();
        let home = self.path.parent().unwrap_or(&self.path);
        let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        let back = home.join(name).join(".git");
        [
            (self.path.join(".git"), link_to(&self.store, name.as_ref())),
            (self.admin.join("gitdir"), format!("{}\n", back.display())),
            (self.admin.join("commondir"), "../..\n".to_owned()),
            (self.admin.join("config.worktree"), String::new()),
        ]
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
    pub(super) fn clean_registration(&self, bin: &mut Bin) -> io::Result<()> {
        let admin = bin.open(&self.admin)?;
        for entry in fs::read_dir(&self.admin)? {
            let (name, kind) =
                entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)))?;
            let is_own = OWN.iter().any(|own| name == *own) && (kind.is_file() || name == BIN);
            if !is_own {
                bin.take(&admin, name.as_bytes())?;
            }
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
