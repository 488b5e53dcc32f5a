//! Git's own files of a detached worktree. In a sandbox a build cannot change them; without one it can.

use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::bin::{Bin, FILE as BIN};
use super::filled::FilledSubmodules;
use super::{DetachedWorktree, Refs, known};
use crate::fixed_file::{is_exactly, write_whole};
use crate::store::{LFS_VERSION, quoted};
use crate::submodule::record::{RECORD, SUBMODULES};
use crate::worktree::clear_special;
use branchyard_runtime::disk::if_there;

/// All files that there are in a registration of ours, with refs of the store or of its own.
const SHARING: [&str; 6] = [
    "HEAD",
    "commondir",
    "config.worktree",
    "gitdir",
    "index",
    known::FILE,
];
const OWNING: [&str; 5] = ["HEAD", "config", "index", known::FILE, RECORD];
/// And the directories.
const SHARING_DIRECTORIES: [&str; 2] = [BIN, SUBMODULES];
const OWNING_DIRECTORIES: [&str; 2] = [BIN, OBJECTS];
const OBJECTS: &str = "objects";
const ALTERNATES: &str = "objects/info/alternates";
/// What nothing of ours writes where refs are its own, and git or libgit2 would heed.
const PLANTED: [&str; 6] = [
    "commondir",
    "config.worktree",
    "hooks",
    "info/attributes",
    "info/grafts",
    "objects/info/http-alternates",
];
/// `git submodule` is to take those that are filled for filled.
const ACTIVE: &str = "[submodule]\n\tactive = .\n";

impl DetachedWorktree {
    /// The files of the registration that decide which repository git takes the directory for, and how it treats it.
    fn fixed_files(&self) -> Vec<(PathBuf, String)> {
        match &self.refs {
            Refs::Shared => {
                let name = self.path.file_name().unwrap_or_default();
                let objects = match self.store == self.registered_in {
                    true => "../..\n".to_owned(),
                    false => format!("{}\n", real(&self.store).display()),
                };
                let home = self.path.parent().unwrap_or(&self.path);
                let back = real(home).join(name).join(".git");
                vec![
                    (self.admin.join("gitdir"), format!("{}\n", back.display())),
                    (self.admin.join("commondir"), objects),
                    (self.admin.join("config.worktree"), ACTIVE.to_owned()),
                ]
            }
            Refs::Own { url } => {
                let url = quoted(url);
                let config = format!(
                    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogAllRefUpdates = true\n\
                     {LFS_VERSION}{ACTIVE}[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n\
                     [remote \"origin\"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
                );
                let objects = self.store.strip_prefix(&self.registered_in);
                let objects = objects.unwrap_or(&self.store).join(OBJECTS);
                let up = "../".repeat(self.registration.components().count() + 1);
                let objects = format!("{up}{}\n", objects.display());
                vec![
                    (self.admin.join("config"), config),
                    (self.admin.join(ALTERNATES), objects),
                ]
            }
        }
    }

    /// What its `.git` says. In a workspace it is relative, as git itself has it: the yard may be moved.
    pub(super) fn link(&self) -> String {
        if self.refs != Refs::Shared {
            let home = self.registered_in.parent().unwrap_or(&self.path);
            let within = self.path.strip_prefix(home).unwrap_or(&self.path);
            let up = "../".repeat(within.components().count());
            let registration = self.registration.display();
            return format!("gitdir: {up}.git/{registration}\n");
        }
        let admin = real(&self.registered_in).join(&self.registration);
        format!("gitdir: {}\n", admin.display())
    }

    /// Puts those files back, and the link to them.
    pub(crate) fn guard(&self) -> io::Result<()> {
        self.guard_registration()?;
        put_back(&self.path.join(".git"), &self.link())
    }

    /// Puts those files back, but not the link in the worktree: from that the daemon tells whether a build changed it.
    pub(crate) fn guard_registration(&self) -> io::Result<()> {
        if self.refs != Refs::Shared {
            fs::create_dir_all(self.admin.join("objects/info"))?;
            for dir in [&self.admin, &self.admin.join("info")] {
                if_there(clear_special(dir))?;
            }
            for name in PLANTED {
                let path = self.admin.join(name);
                let gone = match fs::symlink_metadata(&path) {
                    Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path),
                    Ok(_) => fs::remove_file(&path),
                    Err(error) => Err(error),
                };
                if_there(gone)?;
            }
        }
        for (path, expected) in self.fixed_files() {
            put_back(&path, &expected)?;
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
        let is_sharing = self.refs == Refs::Shared;
        let is_own = |name: &OsStr, kind: FileType| {
            let own: &[&str] = match (is_sharing, kind.is_dir()) {
                (true, true) => &SHARING_DIRECTORIES,
                (true, false) => &SHARING,
                (false, true) => &OWNING_DIRECTORIES,
                (false, false) => &OWNING,
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
        let aside = self.path.join(".git.branchyard");
        if fs::symlink_metadata(aside).is_ok() {
            bin.take(&bin.open(&self.path)?, b".git.branchyard")?;
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

fn put_back(path: &Path, expected: &str) -> io::Result<()> {
    match is_exactly(path, expected) {
        true => Ok(()),
        false => write_whole(path, expected),
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
