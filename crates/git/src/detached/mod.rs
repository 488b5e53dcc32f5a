//! A detached worktree: one without a branch, at a commit. Those of jobs (scratch worktrees) never hold a user's work, and
//! that of a submodule is moved only while it holds none. So in doubt all of it is thrown away and made anew.
//!
//! The build before may have left anything in it. Only files that the index of ours vouches for by inode and
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
use super::fixed_file::is_exactly;
use super::index_file::NewIndex;
use super::store::open_store;
use super::submodule::record::submodule_registration;
use super::{Error, Git, Store, Worktree, has_commit};
use crate::{Repository, object_id};
use bin::Bin;
use branchyard_model::CommitId;
use branchyard_runtime::disk::{Amount, Moment, Trash};
pub(super) use clear::is_heeded;
use filled::FilledSubmodules;
use known::Known;

const PREFIX: &str = "@scratch-";

/// What becomes of files that git does not track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UntrackedFiles {
    /// They go, ignored ones too.
    Discard,
    /// They stay where they are in nobody's way, and tracked files that the commit does not have go.
    Keep,
    /// They stay, and if one is in the way, nothing goes but what was tracked: that is an error.
    Spare,
}

/// What a move has to heed.
#[derive(Debug, Clone, Copy)]
pub struct SwitchRules<'a> {
    pub untracked: UntrackedFiles,
    /// Those that are filled are left as they are.
    pub submodules: &'a [DetachedWorktree],
    /// What was written since is kept in the quarantine.
    pub looked_at: Option<Moment>,
}

/// Whose refs it has, and where objects go that are made in it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Refs {
    /// Those of the store.
    Shared,
    /// Its own, as git itself has it in submodules. The store at this URL lends its objects.
    Own { url: String },
}

#[derive(Debug, Clone)]
pub struct DetachedWorktree {
    /// What it is called in the trash.
    name: String,
    path: PathBuf,
    /// Where its objects are.
    store: PathBuf,
    /// Of a submodule that of the repo all the same.
    registered_in: PathBuf,
    /// From there.
    registration: PathBuf,
    admin: PathBuf,
    refs: Refs,
}

impl DetachedWorktree {
    /// The scratch worktree with this number, beside `store` and registered in it under the directory's own name.
    pub fn scratch(store: &Store, number: u32) -> Self {
        let dir = format!("{PREFIX}{number}");
        let store = store.path();
        let registration = Path::new("worktrees").join(&dir);
        Self {
            name: format!("scratch-{number}"),
            path: store.parent().unwrap_or(store).join(dir),
            store: store.to_owned(),
            registered_in: store.to_owned(),
            admin: store.join(&registration),
            registration,
            refs: Refs::Shared,
        }
    }

    /// That of the submodule at `path` of a scratch worktree, whose objects are in `store`. It is moved after this one, and
    /// goes with it.
    #[must_use]
    pub fn submodule(&self, path: &Path, store: &Store) -> Self {
        let registration = self.registration.join(submodule_registration(path));
        Self {
            name: self.name.clone(),
            path: self.path.join(path),
            store: store.path().to_owned(),
            registered_in: self.registered_in.clone(),
            admin: self.registered_in.join(&registration),
            registration,
            refs: Refs::Shared,
        }
    }

    /// That of the submodule at `path` of a workspace, whose objects are in `store`.
    pub(super) fn in_workspace(workspace: &Worktree, path: &Path, store: &Store) -> Self {
        let name = workspace.branch().dir();
        let registration = Path::new("worktrees").join(name.as_str());
        let registration = registration.join(submodule_registration(path));
        Self {
            name: name.to_string(),
            path: workspace.path().join(path),
            store: store.path().to_owned(),
            registered_in: workspace.store().to_owned(),
            admin: workspace.store().join(&registration),
            registration,
            refs: Refs::Own {
                url: store.url().to_owned(),
            },
        }
    }

    /// The number of the scratch worktree whose directory has this name. No branch's directory begins like it, and git takes it for part of a ref's name.
    pub fn number_of(dir: &str) -> Option<u32> {
        let number = dir.strip_prefix(PREFIX)?.parse().ok()?;
        (dir == format!("{PREFIX}{number}")).then_some(number)
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
    pub(super) fn is_linked(&self) -> bool {
        let is_dir = fs::symlink_metadata(&self.path).is_ok_and(|meta| meta.is_dir());
        is_dir && is_exactly(&self.path.join(".git"), &self.link())
    }

    pub(super) fn has_store(&self) -> bool {
        self.store.is_dir()
    }

    /// Whether its HEAD is at `commit`, and on no branch.
    pub(super) fn says_head(&self, commit: &CommitId) -> bool {
        is_exactly(&self.admin.join("HEAD"), &format!("{commit}\n"))
    }

    /// Takes its index for one of ours: it was found to have nothing but the files of `commit`.
    pub(super) fn vouch_for(&self, commit: CommitId, used: u64) -> Result<(), Error> {
        let vouched = Known::save(&self.admin, commit, used);
        vouched.map_err(Error::io("mark a detached worktree as whole"))
    }

    /// The commit that it was last moved to, if it is whole.
    pub fn commit(&self) -> Option<CommitId> {
        Some(Known::load(&self.admin)?.commit)
    }

    /// When it was last used, in the count of the caller of [`DetachedWorktree::switch`].
    pub fn used(&self) -> Option<u64> {
        Some(Known::load(&self.admin)?.used)
    }

    /// An error if the store lacks the commit, or it is more than a checkout may take.
    pub fn check(&self, commit: &CommitId) -> Result<(), Error> {
        let (store, goal) = (self.open_store()?, object_id(commit)?);
        if !has_commit(&store, goal) {
            let why = io::Error::other(format!("the store has no commit {commit}"));
            return Err(Error::io("prepare a detached worktree")(why));
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

    /// Whether it can be moved without git's help, which spares nothing. Blocks.
    pub(super) fn can_be_moved_to(&self, commit: &CommitId) -> Result<bool, Error> {
        switch::is_plain(self, commit)
    }

    /// Throws away what there is of it, and registers it without files. The caller holds the registry lock.
    pub fn make_anew(&self, trash: &Trash) -> Result<(), Error> {
        self.discard(trash)?;
        self.make()
    }

    /// Registers it without files, where nothing is left of it.
    pub(super) fn make(&self) -> Result<(), Error> {
        let made = || -> io::Result<()> {
            fs::create_dir_all(self.admin.join("refs"))?;
            fs::create_dir_all(&self.path)?;
            self.guard()
        };
        made().map_err(Error::io("register a detached worktree"))
    }

    /// Registers it around the files that are there. The move that follows spares them.
    pub(super) fn make_beside(
        &self,
        commit: &CommitId,
        trash: &Trash,
        used: u64,
    ) -> Result<(), Error> {
        let made = || -> io::Result<()> {
            if fs::symlink_metadata(&self.admin).is_ok() {
                trash.take_seen(&self.admin, &self.name, Moment::EPOCH)?;
            }
            fs::create_dir_all(self.admin.join("refs"))?;
            self.guard()?;
            NewIndex::new().write(&self.admin.join("index"), None)?;
            Known::save(&self.admin, commit.clone(), used)
        };
        made().map_err(Error::io("register a detached worktree"))
    }

    /// Moves its files and its registration to the trash, as whole directories.
    pub fn discard(&self, trash: &Trash) -> Result<(), Error> {
        for path in [&self.path, &self.admin] {
            if fs::symlink_metadata(path).is_err() {
                continue;
            }
            trash
                .take(path, &self.name)
                .map_err(Error::io("move a detached worktree to the trash"))?;
        }
        Ok(())
    }

    /// Has its files be exactly those of `commit`; after an error nothing is known of them. The caller has it for itself, and
    /// has guarded the store.
    pub async fn switch(
        &self,
        git: &Git,
        commit: &CommitId,
        rules: SwitchRules<'_>,
        used: u64,
    ) -> Result<(), Error> {
        let (this, trash, to) = (self.clone(), git.trash().clone(), commit.clone());
        let (untracked, looked_at) = (rules.untracked, rules.looked_at);
        let filled = FilledSubmodules::of(self, rules.submodules);
        let write = move || {
            let bin = Bin::new(this.admin(), &trash, looked_at);
            let bin = bin.map_err(Error::io("move a detached worktree"))?;
            switch::write_files(&this, (bin, &trash), &to, (untracked, &filled))
        };
        if !tokio::task::spawn_blocking(write).await?? {
            switch::have_git_write(self, git, commit).await?;
        }
        let (this, commit) = (self.clone(), commit.clone());
        let mark = move || Known::save(this.admin(), commit, used);
        let marked = tokio::task::spawn_blocking(mark).await?;
        marked.map_err(Error::io("mark a detached worktree as whole"))
    }

    /// Paths of all submodules that its commit has.
    pub fn gitlinks(&self) -> Result<Vec<PathBuf>, Error> {
        gitlinks(&self.admin.join("index")).map_err(Error::io("read the index"))
    }

    pub(super) fn open_store(&self) -> Result<Repository, Error> {
        open_store(&self.store)
    }
}

#[cfg(test)]
mod tests;
