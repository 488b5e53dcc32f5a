//! Submodules of a workspace that have files. Each is a detached worktree with refs of its own: a commit that a person makes in
//! one is that workspace's alone. Its objects are lent by a store that all workspaces share.

mod look;
pub(crate) mod record;
mod state;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::confined::is_directory_within;
use super::detached::{DetachedWorktree, SwitchRules, UntrackedFiles, is_heeded};
use super::{CommitTree, Error, Git, Store, Worktree, object_id};
use branchyard_config::crash_point;
use branchyard_model::CommitId;
use branchyard_runtime::disk::{Moment, Trash, if_there};
pub use look::{LookedSubmodule, look_at_submodules};
pub use record::submodule_store;
use record::{MovingFrom, SUBMODULES, SubmoduleRecord, is_submodule_registration};
pub use state::{SubmoduleState, submodule_states};

#[derive(Debug, Clone)]
pub struct Submodule {
    /// From the root of the workspace.
    path: PathBuf,
    url: String,
    workspace: PathBuf,
    worktree: DetachedWorktree,
}

/// What is where a submodule is to be.
enum SubmodulePlace {
    Free,
    Directory(PathBuf),
    Taken,
}

impl Submodule {
    /// The one at `path`, filled or not.
    pub fn new(workspace: &Worktree, path: &Path, url: &str) -> Self {
        let store = submodule_store(workspace.store(), url);
        let store = Store::at(store, url.to_owned());
        Self {
            path: path.to_owned(),
            url: url.to_owned(),
            workspace: workspace.path().to_owned(),
            worktree: DetachedWorktree::in_workspace(workspace, path, &store),
        }
    }

    /// All that were filled, each after the one that it is in.
    pub fn all(workspace: &Worktree) -> Result<Vec<Self>, Error> {
        let mut all = Vec::new();
        for name in registrations(workspace)? {
            let admin = workspace.admin().join(SUBMODULES).join(&name);
            let Some(record) = SubmoduleRecord::load(&admin) else {
                continue;
            };
            let submodule = Self::new(workspace, &record.path, &record.url);
            // Another name, and it was not written by us.
            if submodule.worktree.admin() == admin {
                all.push(submodule);
            }
        }
        all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn worktree(&self) -> &DetachedWorktree {
        &self.worktree
    }

    /// Its name among the registrations.
    pub fn registration(&self) -> &Path {
        let name = self.worktree.admin().file_name();
        Path::new(name.unwrap_or_default())
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The commit at which the daemon put it last, unless that was cut off. A person may have moved it since.
    pub fn commit(&self) -> Option<CommitId> {
        let record = SubmoduleRecord::load(self.worktree.admin());
        let record = record.filter(|record| record.url == self.url && record.moving.is_none());
        record.map(|record| record.commit)
    }

    /// Whether its last move was cut off.
    pub fn is_half_moved(&self) -> bool {
        let record = SubmoduleRecord::load(self.worktree.admin());
        record.is_none_or(|record| record.moving.is_some())
    }

    /// Whether its HEAD is at `commit`, and on no branch.
    pub fn is_at(&self, commit: &CommitId) -> bool {
        self.worktree.says_head(commit)
    }

    /// Whether a person or a build deleted its directory.
    pub fn is_deleted(&self) -> io::Result<bool> {
        Ok(matches!(self.place()?, SubmodulePlace::Free))
    }

    /// Whether the store that lends its objects is there.
    pub fn has_store(&self) -> bool {
        self.worktree.has_store()
    }

    /// Whether nothing is where its files are to be, but for an empty directory.
    pub fn is_free(&self) -> io::Result<bool> {
        Ok(match self.place()? {
            SubmodulePlace::Free => true,
            SubmodulePlace::Directory(at) => fs::read_dir(at)?.next().is_none(),
            SubmodulePlace::Taken => false,
        })
    }

    /// Whether the files of `commit` can be put where theirs is to be, with nothing in their way or heeded by git.
    pub fn has_room_for(&self, commit: &CommitId) -> Result<bool, Error> {
        let failed = || Error::io("look for the place of a submodule");
        let root = match self.place().map_err(failed())? {
            SubmodulePlace::Free => return Ok(true),
            SubmodulePlace::Taken => return Ok(false),
            SubmodulePlace::Directory(root) => root,
        };
        let store = self.worktree.open_store()?;
        let tree = CommitTree::of(&store, object_id(commit)?)?;
        let mut pending = vec![PathBuf::new()];
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(root.join(&dir)).map_err(failed())? {
                let entry = entry.map_err(failed())?;
                let path = dir.join(entry.file_name());
                let is_dir = entry.file_type().map_err(failed())?.is_dir();
                let is_own = path == Path::new(".git") && self.worktree.is_linked();
                let is_fine = match is_dir {
                    _ if is_own => true,
                    true => entry.file_name() != ".git",
                    false => !is_heeded(&entry.file_name()) && !tree.takes_place_of(&path),
                };
                match (is_fine, is_dir) {
                    (false, _) => return Ok(false),
                    (true, true) => pending.push(path),
                    (true, false) => {}
                }
            }
        }
        Ok(true)
    }

    /// What there is now. Behind a link lies another place.
    fn place(&self) -> io::Result<SubmodulePlace> {
        let mut at = self.workspace.clone();
        for part in self.path.components() {
            at.push(part);
            match if_there(fs::symlink_metadata(&at))? {
                Some(meta) if meta.is_dir() => {}
                Some(_) => return Ok(SubmodulePlace::Taken),
                None => return Ok(SubmodulePlace::Free),
            }
        }
        Ok(SubmodulePlace::Directory(at))
    }

    /// Whether its directory is there, and leads to its registration.
    pub fn is_linked(&self) -> bool {
        self.is_within() && self.worktree.is_linked()
    }

    fn is_within(&self) -> bool {
        is_directory_within(&self.workspace, &self.path)
    }

    /// Whether it can be moved to `commit` with all that is not tracked in its place: else git would have to do it, which
    /// spares nothing.
    pub fn can_be_moved_to(&self, commit: &CommitId) -> Result<bool, Error> {
        self.worktree.can_be_moved_to(commit)
    }

    /// Has its files be those of `commit`; after an error it counts as half made. The caller found no work in it when it was
    /// `looked_at`, and those of `others` that are in it stay as they are. The caller has the workspace for itself, and has
    /// guarded the store.
    pub async fn put_at(
        &self,
        git: &Git,
        commit: &CommitId,
        (others, looked_at): (&[DetachedWorktree], Moment),
        used: u64,
    ) -> Result<(), Error> {
        let (this, trash, to) = (self.clone(), git.trash().clone(), commit.clone());
        let begin = move || this.begin(&trash, &to, (used, looked_at));
        let untracked = tokio::task::spawn_blocking(begin).await??;
        crash_point("submodule-begun");
        let rules = SwitchRules {
            untracked,
            submodules: others,
            looked_at: Some(looked_at),
        };
        self.worktree.switch(git, commit, rules, used).await?;
        crash_point("submodule-moved");
        let (this, commit) = (self.clone(), commit.clone());
        tokio::task::spawn_blocking(move || this.record(commit, None)).await?
    }

    /// Takes note of the commit that a person put it at, where that is the one that the workspace records.
    pub fn adopt(&self, commit: &CommitId) -> Result<(), Error> {
        self.record(commit.clone(), None)
    }

    /// Returns what is to become of files that are not tracked.
    fn begin(
        &self,
        trash: &Trash,
        commit: &CommitId,
        (used, looked_at): (u64, Moment),
    ) -> Result<UntrackedFiles, Error> {
        let failed = || Error::io("look for the place of a submodule");
        let before = SubmoduleRecord::load(self.worktree.admin());
        if let Some(before) = &before {
            let is_known = before.moving.is_none() && before.url == self.url && self.is_linked();
            if is_known && self.can_be_moved_to(commit)? {
                if !self.is_left_alone()? {
                    return Err(failed()(io::Error::other("somebody began to work there")));
                }
                // It was looked at: what git wrote of the files since is as true as what we wrote.
                self.worktree.vouch_for(before.commit.clone(), used)?;
                self.record(commit.clone(), Some(MovingFrom::Something))?;
                return Ok(UntrackedFiles::Spare);
            }
            let looked_at = match before.moving {
                // Files may be somebody's, and nothing tells which those are any more.
                Some(_) => Moment::EPOCH,
                None => looked_at,
            };
            self.discard(trash, looked_at)?;
        }
        match self.is_free().map_err(failed())? {
            true => {
                // What is registered without a record may be a repository that somebody worked in.
                self.discard(trash, Moment::EPOCH)?;
                self.worktree.make()?;
                self.record(commit.clone(), Some(MovingFrom::Nothing))?;
                Ok(UntrackedFiles::Discard)
            }
            false => {
                self.worktree.make_beside(commit, trash, used)?;
                self.record(commit.clone(), Some(MovingFrom::Something))?;
                Ok(UntrackedFiles::Spare)
            }
        }
    }

    /// Whether nobody made a commit or so since it was looked at, and no git is at work there.
    fn is_left_alone(&self) -> Result<bool, Error> {
        let admin = self.worktree.admin();
        if admin.join("index.lock").exists() || admin.join("HEAD.lock").exists() {
            return Ok(false);
        }
        look::has_no_work_in_repository(self)
    }

    fn record(&self, commit: CommitId, moving: Option<MovingFrom>) -> Result<(), Error> {
        let record = SubmoduleRecord {
            path: self.path.clone(),
            url: self.url.clone(),
            commit,
            moving,
        };
        let saved = record.save(self.worktree.admin());
        saved.map_err(Error::io("record a submodule"))
    }

    /// Ties its directory to its registration again, where that was put back from elsewhere.
    pub fn mend_link(&self) -> Result<(), Error> {
        if self.is_within() {
            let mended = self.worktree.guard();
            mended.map_err(Error::io("put a submodule's link back"))?;
        }
        Ok(())
    }

    /// Moves its files and its registration out of the workspace; what was written after it was looked at is kept.
    pub fn discard(&self, trash: &Trash, looked_at: Moment) -> Result<(), Error> {
        let failed = || Error::io("move a submodule to the trash");
        if self.is_within() {
            let path = self.workspace.join(&self.path);
            if_there(trash.take_seen(&path, &"submodule", looked_at)).map_err(failed())?;
        }
        let gone = trash.take_seen(self.worktree.admin(), &"submodule", looked_at);
        if_there(gone).map_err(failed())?;
        Ok(())
    }

    /// Removes its directory, and those around it, as far as they are empty.
    pub fn prune(&self) {
        for dir in self.path.ancestors() {
            let is_real = dir != Path::new("") && is_directory_within(&self.workspace, dir);
            // One that is not empty stays, and so do those around it.
            if is_real && fs::remove_dir(self.workspace.join(dir)).is_err() {
                return;
            }
        }
    }
}

/// The names, among the registrations, of repositories of submodules that we did not make: git itself puts them there.
pub fn other_submodules(workspace: &Worktree) -> Result<Vec<PathBuf>, Error> {
    let is_ours = |name: &PathBuf| {
        let is_named = name.to_str().is_some_and(is_submodule_registration);
        let admin = workspace.admin().join(SUBMODULES).join(name);
        // One that was never begun has no HEAD.
        is_named && (SubmoduleRecord::load(&admin).is_some() || !admin.join("HEAD").exists())
    };
    let mut others = registrations(workspace)?;
    others.retain(|name| !is_ours(name));
    Ok(others)
}

fn registrations(workspace: &Worktree) -> Result<Vec<PathBuf>, Error> {
    let failed = || Error::io("look for submodules");
    let entries = if_there(fs::read_dir(workspace.admin().join(SUBMODULES))).map_err(failed())?;
    let names = entries.into_iter().flatten();
    names
        .map(|entry| Ok(PathBuf::from(entry.map_err(failed())?.file_name())))
        .collect()
}
