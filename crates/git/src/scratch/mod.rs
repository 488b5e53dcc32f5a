//! A scratch worktree: one without a branch, detached at a commit, for a job that has it to itself. It never holds a
//! user's work, so in doubt all of it is thrown away and made anew.
//!
//! The build of the job before may have left anything in it. Only files that the index of ours vouches for by inode and
//! change time stay; everything else is renamed into the trash, and what is missing is written.

mod bin;
mod clear;
mod conversions;
mod filled;
mod known;
mod registration;
mod switch;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::confined::gitlinks;
use super::store::open_store;
use super::submodule::submodule_registration;
use super::worktree::is_exactly;
use super::{Error, Git, Store, has_commit};
use crate::{Repository, object_id};
use branchyard_model::CommitId;
use branchyard_runtime::disk::{Amount, Trash};
use filled::FilledSubmodules;
use known::Known;

const PREFIX: &str = "@scratch-";

/// What becomes of files that git does not track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untracked {
    /// They go, ignored ones too.
    Discard,
    /// They stay where they are in nobody's way, and tracked files that the commit does not have go.
    Keep,
}

#[derive(Debug, Clone)]
pub struct ScratchWorktree {
    number: u32,
    path: PathBuf,
    /// Where its objects are.
    store: PathBuf,
    /// Of a submodule that of the repo all the same.
    registered_in: PathBuf,
    /// From there.
    registration: PathBuf,
    admin: PathBuf,
}

impl ScratchWorktree {
    /// The one with this number, beside `store` and registered in it under the directory's own name.
    pub fn new(store: &Store, number: u32) -> Self {
        let dir = format!("{PREFIX}{number}");
        let store = store.path();
        let registration = Path::new("worktrees").join(&dir);
        Self {
            number,
            path: store.parent().unwrap_or(store).join(dir),
            store: store.to_owned(),
            registered_in: store.to_owned(),
            admin: store.join(&registration),
            registration,
        }
    }

    /// That of the submodule at `path`, whose objects are in `store`. It is moved after this one, and goes with it.
    #[must_use]
    pub fn submodule(&self, path: &Path, store: &Store) -> Self {
        let registration = self.registration.join(submodule_registration(path));
        Self {
            number: self.number,
            path: self.path.join(path),
            store: store.path().to_owned(),
            registered_in: self.registered_in.clone(),
            admin: self.registered_in.join(&registration),
            registration,
        }
    }

    /// The number of the scratch worktree whose directory has this name. No branch's directory begins like it, and git takes it for part of a ref's name.
    pub fn number_of(dir: &str) -> Option<u32> {
        let number = dir.strip_prefix(PREFIX)?.parse().ok()?;
        (dir == format!("{PREFIX}{number}")).then_some(number)
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn admin(&self) -> &Path {
        &self.admin
    }

    /// There is something of it, be it half made.
    pub fn is_there(&self) -> bool {
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        is_there(&self.path) || is_there(&self.admin)
    }

    /// Its files were completed, as far as can be told without a look at them.
    pub fn is_whole(&self) -> bool {
        Known::load(&self.admin).is_some() && self.is_linked()
    }

    /// Whether its directory is there and leads to its registration: that of a submodule may have been emptied.
    fn is_linked(&self) -> bool {
        let is_dir = fs::symlink_metadata(&self.path).is_ok_and(|meta| meta.is_dir());
        is_dir && is_exactly(&self.path.join(".git"), &self.link())
    }

    /// The commit that it was last moved to, if it is whole.
    pub fn commit(&self) -> Option<CommitId> {
        Some(Known::load(&self.admin)?.commit)
    }

    /// When it was last used, in the count of the caller of [`ScratchWorktree::switch`].
    pub fn used(&self) -> Option<u64> {
        Some(Known::load(&self.admin)?.used)
    }

    /// An error if the store lacks the commit, or it is more than a checkout may take.
    pub fn check(&self, commit: &CommitId) -> Result<(), Error> {
        let (store, goal) = (self.open_store()?, object_id(commit)?);
        if !has_commit(&store, goal) {
            let why = io::Error::other(format!("the store has no commit {commit}"));
            return Err(Error::io("prepare a scratch worktree")(why));
        }
        let from = self.commit().and_then(|commit| object_id(&commit).ok());
        let from = from.and_then(|from| store.tree_of(from.git2()).ok());
        let from = from.map(|tree| crate::ObjectId::of(tree.id()));
        super::check_checkout(&store, from, goal)
    }

    /// What the files of `commit` take besides those that are there.
    pub fn need(&self, commit: &CommitId) -> Result<Amount, Error> {
        let from = self.commit().map(|commit| object_id(&commit)).transpose()?;
        super::checkout_need(&self.open_store()?, from, object_id(commit)?)
    }

    /// Throws away what there is of it, and registers it without files. The caller holds the registry lock.
    pub fn make_anew(&self, trash: &Trash) -> Result<(), Error> {
        self.discard(trash)?;
        let made = || -> io::Result<()> {
            fs::create_dir_all(&self.admin)?;
            fs::create_dir(self.admin.join("refs"))?;
            fs::create_dir(&self.path)?;
            self.guard()
        };
        made().map_err(Error::io("register a scratch worktree"))
    }

    /// Moves its files and its registration to the trash, as whole directories.
    pub fn discard(&self, trash: &Trash) -> Result<(), Error> {
        for path in [&self.path, &self.admin] {
            if fs::symlink_metadata(path).is_err() {
                continue;
            }
            trash
                .take(path, &format!("scratch-{}", self.number))
                .map_err(Error::io("move a scratch worktree to the trash"))?;
        }
        Ok(())
    }

    /// Has its files be exactly those of `commit`; after an error nothing is known of them. The directories of `submodules`
    /// are left as they are, if they are filled. The caller has it for itself, and has guarded the store.
    pub async fn switch(
        &self,
        git: &Git,
        commit: &CommitId,
        (untracked, submodules): (Untracked, &[ScratchWorktree]),
        used: u64,
    ) -> Result<(), Error> {
        let (this, trash, to) = (self.clone(), git.trash().clone(), commit.clone());
        let filled = FilledSubmodules::of(self, submodules);
        let write = move || switch::write_files(&this, &trash, &to, (untracked, &filled));
        if !tokio::task::spawn_blocking(write).await?? {
            switch::have_git_write(self, git, commit).await?;
        }
        let (this, commit) = (self.clone(), commit.clone());
        let mark = move || Known::save(this.admin(), commit, used);
        let marked = tokio::task::spawn_blocking(mark).await?;
        marked.map_err(Error::io("mark a scratch worktree as whole"))
    }

    /// Paths of all submodules that its commit has.
    pub fn gitlinks(&self) -> Result<Vec<PathBuf>, Error> {
        gitlinks(&self.admin.join("index")).map_err(Error::io("read the index"))
    }

    fn open_store(&self) -> Result<Repository, Error> {
        open_store(&self.store)
    }
}

#[cfg(test)]
mod tests;
