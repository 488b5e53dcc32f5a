//! One workspace's worktree: registered, recognised, taken away; what is in it is the business of `contents`. The caller
//! holds the repo's registry lock for `add` and `forget`, and the workspace's files for whatever moves files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::fixed_file::{is_exactly, write_whole};
use super::marks::PREPARING;
use super::plain_file::read_plain;
use super::register::register;
use super::store::{open_store, quoted, refuse_link};
use super::submodule::record::{SUBMODULES, SubmoduleRecord};
use super::{Error, Git, Store};
use crate::Repository;
use branchyard_model::{BranchName, CommitId};
use branchyard_runtime::disk::{Moment, if_there};

/// No path is longer, nor what says where a registration is.
const LONGEST_LINK: u64 = 8 << 10;

#[derive(Debug, Clone)]
pub struct Worktree {
    path: PathBuf,
    admin: PathBuf,
    branch: BranchName,
}

const CONFIGURATION: &str = "config.worktree";
/// No ref or HEAD is longer.
const MAX_REF: u64 = 4096;

impl Worktree {
    /// The worktree of `branch` at `path`, registered in `store` under the directory's own name.
    pub fn new(store: &Store, path: PathBuf, branch: BranchName) -> Self {
        let admin = store.path().join("worktrees").join(branch.dir().as_str());
        Self {
            path,
            admin,
            branch,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn admin(&self) -> &Path {
        &self.admin
    }

    pub fn branch(&self) -> &BranchName {
        &self.branch
    }

    /// A handle that knows nothing of the worktree's files, so that libgit2 never opens one of them: a build may put
    /// a FIFO in the place of any of them. [`files_of`] tells where they are.
    ///
    /// A FIFO, a socket, a device or a link among git's own files of this worktree or its store goes: git and libgit2 open those by
    /// name, and nothing of ours is any of them.
    pub fn open(&self) -> Result<Repository, Error> {
        let store = self.store();
        refuse_link(store)?;
        for dir in [self.admin.as_path(), store, &store.join("info")] {
            if_there(clear_special(dir)).map_err(Error::io("look at git's own files"))?;
        }
        Ok(Repository::open_bare(&self.admin)?)
    }

    /// Whether HEAD is plainly at `commit`: on its branch, whose ref is a file of its own. It takes two reads, where opening
    /// the repository takes a look at all of git's own files; in doubt it is not.
    pub fn is_plainly_at(&self, commit: &CommitId) -> bool {
        let branch = self.branch.local_ref();
        let says = |path: &Path, text: &str| {
            let read = read_plain(path, MAX_REF);
            read.is_ok_and(|read| read.is_some_and(|read| read.trim_ascii() == text.as_bytes()))
        };
        says(&self.admin.join("HEAD"), &format!("ref: {branch}"))
            && says(&self.store().join(&branch), commit.as_str())
    }

    /// Registered and whole. The link to the registration may be missing: it is known, and put back.
    pub fn is_ready(&self) -> bool {
        self.has_directory() && self.admin.join("HEAD").is_file() && self.mark().is_none()
    }

    /// There is something where its files belong. What a link leads to is not its own.
    pub fn has_directory(&self) -> bool {
        let is_own = fs::symlink_metadata(&self.path).is_ok_and(|meta| meta.is_dir());
        is_own && fs::read_dir(&self.path).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Whether something that is no directory stands where its files belong.
    pub fn is_replaced(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|meta| !meta.is_dir())
    }

    /// When it was registered; `None` where it is not, or where that cannot be told.
    pub fn begun(&self) -> Option<Moment> {
        let mark = fs::symlink_metadata(self.admin.join("locked")).ok()?;
        Some(Moment::of_write(&mark))
    }

    /// The store that it is registered in.
    pub fn open_store(&self) -> Result<Repository, Error> {
        open_store(self.store())
    }

    pub(super) fn store(&self) -> &Path {
        self.admin.ancestors().nth(2).unwrap_or(&self.admin)
    }

    /// Registers the worktree, without files yet. The branch is created at `start` unless it exists.
    pub async fn add(
        &self,
        git: &Git,
        store: &Store,
        start: &CommitId,
        exists: bool,
    ) -> Result<(), Error> {
        if exists {
            return self.add_existing(git, store).await;
        }
        let (this, store, start, git) = (self.clone(), store.clone(), start.clone(), git.clone());
        let register = move || {
            let repo = Repository::open_bare(store.path())?;
            register(&this, &repo, &start, git.settings())
        };
        tokio::task::spawn_blocking(register).await?
    }

    async fn add_existing(&self, git: &Git, store: &Store) -> Result<(), Error> {
        git.at(store.path())
            .args(["worktree", "add", "--quiet", "--no-checkout", "--lock"])
            .args(["--reason", PREPARING, "--end-of-options"])
            .arg(&self.path)
            .arg(self.branch.as_str())
            .output()
            .await?;
        let upstream = self.admin.join(CONFIGURATION);
        write_whole(&upstream, self.configuration()).map_err(Error::io("set the upstream"))
    }

    /// The worktree's own configuration: its upstream, and that `git submodule` takes those that are filled for filled.
    fn configuration(&self) -> String {
        format!("{}[submodule]\n\tactive = .\n", self.upstream())
    }

    /// `git pull`, `push` and `@{u}` work without a lock on the shared file. There was nothing else in it before submodules
    /// were filled.
    fn upstream(&self) -> String {
        format!(
            "[branch {}]\n\tremote = origin\n\tmerge = {}\n",
            quoted(self.branch.as_str()),
            quoted(&self.branch.local_ref())
        )
    }

    /// What the `.git` file of the workspace says.
    fn link(&self) -> String {
        link_to(self.store(), self.branch.dir().as_str().as_ref())
    }

    /// What the registration says of where the worktree is. By its name alone: what stands there may be a link.
    fn link_back(&self) -> String {
        let home = self.path.parent().unwrap_or(&self.path);
        let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        let link = home.join(self.branch.dir().as_str()).join(".git");
        format!("{}\n", link.display())
    }

    /// The name of another registration of the same store that this directory says to belong to, as it does after two
    /// directories changed places.
    pub fn claimed_by_another(&self) -> Option<String> {
        let link = read_plain(&self.path.join(".git"), LONGEST_LINK).ok()??;
        let link = String::from_utf8(link).ok()?;
        let own = self.link();
        let (registrations, _) = own.rsplit_once('/')?;
        let (there, name) = link.trim_end().rsplit_once('/')?;
        let is_another = there == registrations && name != self.branch.dir().as_str();
        (is_another && self.admin.with_file_name(name).is_dir()).then(|| name.to_owned())
    }

    /// The number that the file system has for the directory.
    pub fn inode(&self) -> Option<u64> {
        use std::os::unix::fs::MetadataExt;
        fs::symlink_metadata(&self.path).ok().map(|meta| meta.ino())
    }

    /// The files that decide which repository git takes this directory for and how it treats it: the
    /// configuration, and the way from here to the store and back.
    fn fixed_files(&self) -> [(&'static str, PathBuf, String); 4] {
        [
            (".git", self.path.join(".git"), self.link()),
            ("gitdir", self.admin.join("gitdir"), self.link_back()),
            (
                "commondir",
                self.admin.join("commondir"),
                "../..\n".to_owned(),
            ),
            (
                CONFIGURATION,
                self.admin.join(CONFIGURATION),
                self.configuration(),
            ),
        ]
    }

    /// The names of those of git's files that are not as we wrote them.
    pub fn altered(&self) -> Vec<&'static str> {
        let mut altered = self.changed();
        altered.retain(|name| *name != CONFIGURATION || !self.is_of_before());
        altered
    }

    fn changed(&self) -> Vec<&'static str> {
        let files = self.fixed_files().into_iter();
        files
            .filter(|(_, path, expected)| !is_exactly(path, expected))
            .map(|(name, ..)| name)
            .collect()
    }

    /// Whether an earlier version of ours wrote the configuration.
    fn is_of_before(&self) -> bool {
        is_exactly(&self.admin.join(CONFIGURATION), &self.upstream())
    }

    /// Puts those files back. Whoever controls one of these has git start programs. Returns the names
    /// of what had to be put back. A directory in the place of a file is the caller's to move away.
    pub fn guard(&self) -> io::Result<Vec<&'static str>> {
        let (altered, changed) = (self.altered(), self.changed());
        for (name, path, expected) in self.fixed_files() {
            if changed.contains(&name) {
                write_whole(&path, &expected)?;
            }
        }
        Ok(altered)
    }

    /// Puts the registration of a directory that is gone out of the way, without losing what it knew: an
    /// index, a rebase under way, commits of a detached HEAD. Returns whether there was one.
    pub fn set_aside(&self, store: &Repository) -> Result<bool, Error> {
        if !self.admin.exists() {
            return Ok(false);
        }
        let name = format!("{}-{}", self.branch.dir(), uuid::Uuid::now_v7());
        if let Some(head) = detached_head(&self.admin) {
            store.git2().reference(
                &format!("refs/branchyard/set-aside/{name}"),
                head,
                true,
                "branchyard",
            )?;
        }
        let aside = store.path().join("set-aside");
        fs::create_dir_all(&aside)
            .and_then(|()| fs::rename(&self.admin, aside.join(name)))
            .map_err(Error::io("set a worktree's registration aside"))?;
        Ok(true)
    }

    /// Removes a registration by name, never by `prune`, which also takes half-made and momentarily
    /// absent worktrees of others.
    pub fn forget(&self) -> Result<(), Error> {
        if_there(fs::remove_dir_all(&self.admin)).map_err(Error::io("forget the worktree"))?;
        Ok(())
    }
}

/// Removes what is neither a file nor a directory from a directory of git's own.
pub(super) fn clear_special(dir: &Path) -> io::Result<bool> {
    let mut is_cleared = false;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if !kind.is_file() && !kind.is_dir() {
            tracing::warn!(path = %entry.path().display(), "removed: it is neither a file nor a directory");
            fs::remove_file(entry.path())?;
            is_cleared = true;
        }
    }
    Ok(is_cleared)
}

/// The directory of the files that a repository's handle is about: where the yard puts them. What the registration says
/// (`gitdir`) may be a copy of another yard's, and lead to files of that one.
pub fn files_of(repo: &Repository) -> Option<PathBuf> {
    if let Some(files) = repo.git2().workdir() {
        return Some(files.to_owned());
    }
    files_by_registration(repo.path())
}

fn files_by_registration(admin: &Path) -> Option<PathBuf> {
    let registrations = admin.parent()?;
    if registrations.ends_with(SUBMODULES) {
        let outer = files_by_registration(registrations.parent()?)?;
        return Some(outer.join(SubmoduleRecord::load(admin)?.path));
    }
    let store = registrations
        .parent()
        .filter(|_| registrations.ends_with("worktrees"))?;
    Some(store.parent()?.join(admin.file_name()?))
}

/// A handle on the worktree at `dir`, as [`Worktree::open`] gives it: what `.git` says there is not read.
pub(super) fn open_at(dir: &Path) -> Result<Repository, Error> {
    let admin = dir.parent().zip(dir.file_name());
    let admin = admin.map(|(home, name)| home.join(".git/worktrees").join(name));
    match admin.filter(|admin| admin.is_dir()) {
        Some(admin) => Ok(Repository::open_bare(&admin)?),
        None => Ok(Repository::open(dir)?),
    }
}

fn detached_head(admin: &Path) -> Option<Oid> {
    Oid::from_str(fs::read_to_string(admin.join("HEAD")).ok()?.trim()).ok()
}

/// What the `.git` file of a workspace says whose registration is `dir`; that one may be gone.
pub(super) fn link_to(store: &Path, dir: &Path) -> String {
    let store = store.canonicalize().unwrap_or_else(|_| store.to_owned());
    let admin = store.join("worktrees").join(dir);
    format!("gitdir: {}\n", admin.display())
}
