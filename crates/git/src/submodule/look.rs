//! What a person could miss of a submodule. In doubt it is work.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::Submodule;
use super::record::{MovingFrom, SubmoduleRecord};
use crate::detached::is_heeded;
use crate::salvage::ids_in;
use crate::scan::scan_beside;
use crate::status::head_if_born;
use crate::strangers::strangers_to;
use crate::{
    CommitTree, Error, GITLINK, IgnoreRules, IndexFile, Repository, UntrackedEntry, UntrackedKind,
    Worktree, commit_id, object_id, read_plain, submodules, untracked_in,
};
use branchyard_model::CommitId;
use branchyard_runtime::disk::if_there;

/// A log of more bytes tells of work for sure.
const MAX_LOG: u64 = 4 << 20;
const MAX_HEAD: u64 = 4096;
const ELSEWHERE: &str = "another commit or branch is checked out";

/// A submodule, and what is in it.
#[derive(Debug)]
pub struct LookedSubmodule {
    submodule: Submodule,
    work: Option<String>,
    is_cut_off: bool,
    untracked: Vec<UntrackedEntry>,
    /// What it ignores, from its own root.
    rules: IgnoreRules,
}

/// Looks at all submodules that are filled, each after the one that it is in. Blocks.
pub fn look_at_submodules(workspace: &Worktree) -> Result<Vec<LookedSubmodule>, Error> {
    let all = Submodule::all(workspace)?;
    let mut looked: Vec<LookedSubmodule> = Vec::new();
    for submodule in all.into_iter().rev() {
        let inner = looked.iter().filter_map(|inner| {
            let path = inner.submodule.path.strip_prefix(&submodule.path).ok()?;
            Some((path.to_owned(), inner.work.is_some()))
        });
        let inner: Vec<_> = inner.collect();
        looked.push(submodule.look(workspace, &inner));
    }
    looked.reverse();
    Ok(looked)
}

/// Whether nothing was done in a submodule that its files do not tell.
pub(super) fn has_no_work_in_repository(submodule: &Submodule) -> Result<bool, Error> {
    let worktree = &submodule.worktree;
    let (repo, store) = (
        Repository::open_bare(worktree.admin())?,
        worktree.open_store()?,
    );
    Ok(work_in_repository(worktree.admin(), &repo, &store)?.is_none())
}

impl Submodule {
    /// `inner` are the submodules in it, from its root, and whether there is work in them.
    fn look(self, workspace: &Worktree, inner: &[(PathBuf, bool)]) -> LookedSubmodule {
        let mut looked = LookedSubmodule {
            submodule: self,
            work: None,
            is_cut_off: false,
            untracked: Vec::new(),
            rules: IgnoreRules::default(),
        };
        let found = looked.find(workspace, inner);
        looked.work = found.unwrap_or_else(|error| Some(format!("it cannot be read: {error}")));
        if let Some((within, _)) = inner.iter().find(|(_, has_work)| *has_work) {
            let within = looked.submodule.path.join(within);
            looked.work = Some(format!("work in {}", within.display()));
        }
        looked
    }

    /// The commit that is recorded of it, in the index of whatever it is in.
    pub(super) fn recorded(&self, workspace: &Worktree) -> Result<Option<CommitId>, Error> {
        let all = Self::all(workspace)?;
        let mut outer = all.iter().rev();
        let outer =
            outer.find(|outer| outer.path != self.path && self.path.starts_with(&outer.path));
        let (admin, within) = match outer {
            Some(outer) => {
                let within = self.path.strip_prefix(&outer.path);
                (outer.worktree.admin(), within.unwrap_or(&self.path))
            }
            None => (workspace.admin(), &*self.path),
        };
        let index = IndexFile::read_any(&admin.join("index"));
        let index = index.map_err(Error::io("read the index"))?;
        let Some(index) = index else {
            return Ok(None);
        };
        let entry = index.find(within.as_os_str().as_bytes());
        let entry = entry.filter(|entry| entry.mode() == GITLINK);
        entry
            .and_then(|entry| index.id(entry))
            .map(commit_id)
            .transpose()
    }
}

impl LookedSubmodule {
    pub fn submodule(&self) -> &Submodule {
        &self.submodule
    }

    /// What of it is neither in its store nor among its untracked files.
    pub fn work(&self) -> Option<&str> {
        self.work.as_deref()
    }

    /// Whether its last move was cut off, so that nothing tells which of its untracked files were there before.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// What its commit does not have, from the root of the workspace.
    pub fn untracked(&self) -> &[UntrackedEntry] {
        &self.untracked
    }

    fn find(
        &mut self,
        workspace: &Worktree,
        inner: &[(PathBuf, bool)],
    ) -> Result<Option<String>, Error> {
        let this = &self.submodule;
        let worktree = &this.worktree;
        let guarded = worktree.guard_registration();
        guarded.map_err(Error::io("check a submodule"))?;
        let Some(record) = SubmoduleRecord::load(worktree.admin()) else {
            return Ok(Some("nothing tells where it was".to_owned()));
        };
        let is_linked = this.is_linked();
        let is_gone = || this.is_free().map_err(Error::io("look for a submodule"));
        if !is_linked && !is_gone()? {
            return Ok(Some("its directory is not as it was made".to_owned()));
        }
        let store = worktree.open_store()?;
        if let Some(from) = record.moving {
            let work = half_moved(&record, this, &store)?;
            self.is_cut_off = from == MovingFrom::Something;
            return Ok(work);
        }
        let repo = Repository::open_bare(worktree.admin())?;
        let is_there = worktree.says_head(&record.commit)
            || this
                .recorded(workspace)?
                .is_some_and(|recorded| worktree.says_head(&recorded));
        let in_repository = match is_there {
            true => work_in_repository(worktree.admin(), &repo, &store)?,
            false => Some(ELSEWHERE.to_owned()),
        };
        let is_changed = match is_linked {
            true => self.scan(&repo, inner)?,
            false => {
                let staged = repo.diff_to_index(&repo.head_tree()?, &repo.fresh_index()?)?;
                staged.deltas().len() > 0
            }
        };
        let is_changed = is_changed.then(|| "changes to tracked files".to_owned());
        Ok(in_repository.or(is_changed))
    }

    /// Whether tracked files or the index differ from HEAD. Takes note of what is not tracked.
    fn scan(&mut self, repo: &Repository, inner: &[(PathBuf, bool)]) -> Result<bool, Error> {
        let untouched = inner.iter().filter(|(_, has_work)| !has_work);
        let untouched = untouched.map(|(path, _)| path.clone());
        // Where one in it went before it is moved itself, not even a directory is left.
        let dir = self.submodule.worktree.path();
        let mut links = submodules(repo)?;
        links.retain(|path| is_absent(&dir.join(path)));
        let scan = scan_beside(repo, &untouched.chain(links).collect())?;
        let is_inner = |entry: &UntrackedEntry| {
            let mut paths = inner.iter().map(|(path, _)| path);
            entry.kind == UntrackedKind::Repository && paths.any(|path| *path == entry.path)
        };
        let beside = scan.untracked.into_iter();
        let beside = beside.filter(|entry| !is_inner(entry));
        let root = &self.submodule.path;
        self.untracked = beside
            .map(|entry| UntrackedEntry {
                path: root.join(&entry.path),
                ..entry
            })
            .collect();
        self.rules = IgnoreRules::of(repo)?;
        Ok(scan.changed)
    }

    /// What is not tracked, and would be taken away if it were moved to `commit`. From the root of the workspace.
    pub fn in_the_way_of(&self, commit: &CommitId) -> Result<Option<PathBuf>, Error> {
        let store = self.submodule.worktree.open_store()?;
        let tree = CommitTree::of(&store, object_id(commit)?)?;
        let mut pending = self.untracked.clone();
        while let Some(entry) = pending.pop() {
            // Git would heed it in a directory with something tracked in it.
            let is_heeded = entry.path.file_name().is_some_and(is_heeded);
            if entry.kind == UntrackedKind::File && is_heeded {
                return Ok(Some(entry.path));
            }
            let path = entry.path.strip_prefix(&self.submodule.path);
            if !tree.takes_place_of(path.unwrap_or(&entry.path)) {
                continue;
            }
            match entry.kind {
                UntrackedKind::Directory => {
                    let inside = untracked_in(&self.submodule.workspace, &entry.path)?;
                    pending.extend(inside);
                }
                UntrackedKind::File | UntrackedKind::Repository => return Ok(Some(entry.path)),
            }
        }
        Ok(None)
    }

    /// Whether its own rules say that what is at `path`, from the root of the workspace, is ignored.
    pub fn ignores(&self, path: &Path) -> bool {
        let path = path.strip_prefix(&self.submodule.path);
        path.is_ok_and(|path| self.rules.is_ignored(path))
    }
}

fn is_absent(path: &Path) -> bool {
    let meta = fs::symlink_metadata(path);
    meta.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// What a person did in a submodule's repository, such as a commit or a stash, that its files do not show.
fn work_in_repository(
    admin: &Path,
    repo: &Repository,
    store: &Repository,
) -> Result<Option<String>, Error> {
    if let Some(operation) = head_if_born(repo)?.and_then(|head| head.operation) {
        return Ok(Some(format!("a {operation} is under way")));
    }
    for within in ["modules", "worktrees"] {
        let entries = if_there(fs::read_dir(admin.join(within)));
        let entries = entries.map_err(Error::io("look for repositories in a submodule"))?;
        if entries.is_some_and(|mut entries| entries.next().is_some()) {
            return Ok(Some("repositories or worktrees of its own".to_owned()));
        }
    }
    let Some(head) = detached_head(admin)? else {
        return Ok(Some(ELSEWHERE.to_owned()));
    };
    let has_own = match named_by_logs(admin)? {
        Some(logged) => {
            let named = [named_by_refs(repo)?, logged, vec![head]].concat();
            is_any_own(repo, store, named)?
        }
        None => true,
    };
    let own = || "commits, branches or stashes that are nowhere else".to_owned();
    Ok(has_own.then(own))
}

/// Where HEAD is, if it is on no branch.
fn detached_head(admin: &Path) -> Result<Option<Oid>, Error> {
    let head = read_plain(&admin.join("HEAD"), MAX_HEAD);
    let head = head.map_err(Error::io("read the HEAD of a submodule"))?;
    Ok(head.and_then(|head| Oid::from_str(str::from_utf8(&head).ok()?.trim_end()).ok()))
}

/// Of one whose move was cut off, its files are those of two commits: only what was written since can be told.
fn half_moved(
    record: &SubmoduleRecord,
    this: &Submodule,
    store: &Repository,
) -> Result<Option<String>, Error> {
    let worktree = &this.worktree;
    // It gets a HEAD before its files.
    if worktree.admin().join("HEAD").exists() {
        let repo = Repository::open_bare(worktree.admin())?;
        let work = work_in_repository(worktree.admin(), &repo, store)?;
        if work.is_some() {
            return Ok(work);
        }
    }
    if !this.is_within() {
        return Ok(None);
    }
    let goal = Some(Oid::from_str(record.commit.as_str())?);
    let begun = SubmoduleRecord::written(worktree.admin());
    let begun = begun.map_err(Error::io("check a submodule"))?;
    let strangers = strangers_to(store, goal, worktree.path(), begun)?;
    let why = || "files that were written while it was moved".to_owned();
    Ok((!strangers.is_empty()).then(why))
}

/// What refs name, but those of remotes, which a fetch writes.
fn named_by_refs(repo: &Repository) -> Result<Vec<Oid>, Error> {
    let mut named = Vec::new();
    for reference in repo.git2().references()? {
        let reference = reference?;
        if !reference.name_bytes().starts_with(b"refs/remotes/") {
            named.extend(reference.target());
        }
    }
    Ok(named)
}

/// What logs name: HEAD was there, or a branch. `None` where that is too much to read.
fn named_by_logs(admin: &Path) -> Result<Option<Vec<Oid>>, Error> {
    let failed = || Error::io("read the log of a submodule");
    let mut named = Vec::new();
    let mut pending = vec![admin.join("logs")];
    while let Some(place) = pending.pop() {
        let Some(meta) = if_there(fs::symlink_metadata(&place)).map_err(failed())? else {
            continue;
        };
        if meta.is_dir() {
            let entries = fs::read_dir(&place).map_err(failed())?;
            let is_remotes = place.ends_with("logs/refs/remotes");
            for entry in entries.filter(|_| !is_remotes) {
                pending.push(entry.map_err(failed())?.path());
            }
            continue;
        }
        if !meta.is_file() || meta.len() > MAX_LOG {
            return Ok(None);
        }
        named.extend(ids_in(&fs::read(&place).map_err(failed())?));
    }
    Ok(Some(named))
}

/// Whether one of these commits was made here: it is neither in the store nor on a branch of the remote that a person fetched.
fn is_any_own(repo: &Repository, store: &Repository, named: Vec<Oid>) -> Result<bool, Error> {
    let (repo, known) = (repo.git2(), store.git2().odb()?);
    let mut walk = repo.revwalk()?;
    for id in named.into_iter().filter(|id| !known.exists(*id)) {
        // A log may name what git has cleared away since.
        let Ok(object) = repo.find_object(id, None) else {
            continue;
        };
        match object.peel_to_commit() {
            Ok(commit) => walk.push(commit.id())?,
            Err(_) => return Ok(true),
        }
    }
    walk.hide_glob("refs/remotes/*")?;
    Ok(walk.next().transpose()?.is_some())
}
