//! A workspace's own git files, looked at and put right: the link to its registration, HEAD, the index.
//! Not one of its files is touched, and what is replaced is kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Index, IndexEntry, Odb, Oid, Reference};

use super::broken::{self, Refs, former, is_commit, set_ref};
use super::fixed_file::write_whole;
use super::worktree::link_to;
use super::{BrokenRef, Error, GITLINK, Store, Worktree, rebased_branch, reflog};
use branchyard_runtime::disk::if_there;

/// Signature, version and number of entries.
const INDEX_HEADER: usize = 12;
const INDEX_CHECKSUM: usize = 20;
/// No entry takes less.
const INDEX_ENTRY: usize = 62;
const EMPTY_FILE: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
/// Parts of an index that libgit2 does not read and git does: nothing is wrong with such an index.
const NOT_FOR_LIBGIT2: [&[u8; 4]; 2] = [b"link", b"sdir"];

/// How closely a workspace is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// A few small files.
    Quick,
    /// The whole index too.
    Whole,
}

/// What is wrong with a workspace's own git files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeDamage {
    /// These files are not as we wrote them.
    Link(Vec<&'static str>),
    /// HEAD makes no sense, or leads nowhere; what it holds.
    Head(String),
    /// The index is gone, cut off or garbage.
    Index(&'static str),
}

/// One look at a store's refs, for all that is asked about it.
pub struct Inspection<'a> {
    store: &'a Store,
    refs: Refs,
    objects: Option<Odb<'static>>,
}

impl<'a> Inspection<'a> {
    pub fn of(store: &'a Store) -> Result<Self, Error> {
        Ok(Self {
            store,
            refs: Refs::read(store.path())?,
            objects: broken::objects(store.path()),
        })
    }

    pub fn broken_refs(&self) -> Result<Vec<BrokenRef>, Error> {
        broken::broken_refs(self.store.path(), &self.refs, self.objects.as_ref())
    }

    /// The short names of all branches that the store has or knows the remote to have.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        self.refs.direct().keys().filter_map(|name| {
            name.strip_prefix("refs/heads/")
                .or_else(|| name.strip_prefix("refs/remotes/origin/"))
        })
    }

    /// What is wrong with a registered workspace whose directory is there.
    pub fn damage_of(&self, worktree: &Worktree, depth: Depth) -> Vec<WorktreeDamage> {
        let mut damage = Vec::new();
        let altered = worktree.altered();
        if !altered.is_empty() {
            damage.push(WorktreeDamage::Link(altered));
        }
        if let Some(head) = self.broken_head(worktree) {
            damage.push(WorktreeDamage::Head(head));
        }
        if let Some(how) = self.broken_index(worktree.admin(), depth) {
            damage.push(WorktreeDamage::Index(how));
        }
        damage
    }

    fn broken_head(&self, worktree: &Worktree) -> Option<String> {
        let head = match fs::read(worktree.admin().join("HEAD")) {
            Ok(head) => String::from_utf8_lossy(&head).into_owned(),
            Err(_) => return Some(String::new()),
        };
        let own = worktree.branch().local_ref();
        let fine = match head.trim_end().strip_prefix("ref: ") {
            // Without a commit it is of use only where somebody meant it, on another branch.
            Some(name) if name == own => self.refs.direct().contains_key(name),
            Some(name) => name.starts_with("refs/") && Reference::is_valid_name(name),
            None => broken::whole_id(head.trim_end()).is_some_and(|id| {
                self.objects
                    .as_ref()
                    // Where all objects are gone there is nothing better to point it to.
                    .is_none_or(|objects| is_commit(objects, id))
            }),
        };
        (!fine).then(|| head.chars().take(80).collect())
    }

    /// What is wrong with the index in `admin`, if anything.
    fn broken_index(&self, admin: &Path, depth: Depth) -> Option<&'static str> {
        let path = admin.join("index");
        let broken = broken_header(&path);
        if broken.is_some() || depth == Depth::Quick {
            return broken;
        }
        match Index::open(&path) {
            Ok(index) => self.lacks_files_of(&index),
            Err(_) if fs::read(&path).is_ok_and(|bytes| has_foreign_part(&bytes)) => None,
            Err(_) => Some("its checksum is wrong"),
        }
    }

    /// A file that only the index knew of is lost with its object, and git would stumble over it.
    fn lacks_files_of(&self, index: &Index) -> Option<&'static str> {
        let objects = self.objects.as_ref()?;
        let is_there = |entry: IndexEntry| {
            entry.mode == GITLINK
                // Git knows the empty file without being told; also what is only meant to be added.
                || entry.id.to_string() == EMPTY_FILE
                || objects.exists(entry.id)
        };
        (!index.iter().all(is_there)).then_some("it names objects that are gone")
    }
}

/// Whether the link in a directory leads to where its registration in `store` belongs.
pub fn claims_registration(store: &Store, path: &Path) -> bool {
    path.file_name().is_some_and(|dir| {
        let link = fs::read_to_string(path.join(".git"));
        link.is_ok_and(|link| link == link_to(store.path(), dir.as_ref()))
    })
}

/// What is wrong with the start of an index, if anything.
fn broken_header(path: &Path) -> Option<&'static str> {
    let (start, len) = match read_header(path) {
        Ok(header) => header,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some("it is gone"),
        Err(_) => return Some("it is cut off"),
    };
    let number = |at: usize| big_endian(&start[at..at + 4]);
    if !start.starts_with(b"DIRC") || !(2..=4).contains(&number(4)) {
        return Some("it is garbage");
    }
    let least =
        number(8).saturating_mul(INDEX_ENTRY as u64) + (INDEX_HEADER + INDEX_CHECKSUM) as u64;
    (len < least).then_some("it is cut off")
}

fn big_endian(bytes: &[u8]) -> u64 {
    let join = |number, byte: &u8| (number << 8) | u64::from(*byte);
    bytes.iter().fold(0, join)
}

fn read_header(path: &Path) -> io::Result<([u8; INDEX_HEADER], u64)> {
    use std::io::Read;
    let mut file = fs::File::open(path)?;
    let mut start = [0; INDEX_HEADER];
    file.read_exact(&mut start)?;
    Ok((start, file.metadata()?.len()))
}

fn has_foreign_part(index: &[u8]) -> bool {
    index.windows(8).enumerate().any(|(at, window)| {
        let (name, size) = window.split_at(4);
        NOT_FOR_LIBGIT2.iter().any(|known| name == known.as_slice())
            && (at + 8 + INDEX_CHECKSUM) as u64 + big_endian(size) <= index.len() as u64
    })
}

/// Makes the registration anew, empty; HEAD, the links and the index are then put right one by one.
pub fn reregister(worktree: &Worktree) -> Result<(), Error> {
    fs::create_dir_all(worktree.admin()).map_err(Error::io("register the workspace again"))
}

/// Puts HEAD back to the workspace's branch, which is put back where it is gone. Where HEAD's log says
/// that it was elsewhere, that commit is kept. Returns what was done.
pub fn mend_head(worktree: &Worktree, store: &Store) -> Result<String, Error> {
    let refs = Refs::read(store.path())?;
    let own = worktree.branch().local_ref();
    let objects = broken::objects(store.path());
    let exists = |id: &Oid| objects.as_ref().is_some_and(|odb| is_commit(odb, *id));
    let been = reflog::history(&worktree.admin().join("logs/HEAD"));
    let last = been.iter().copied().find(&exists);
    let dir = worktree.branch().dir();
    let parked = refs
        .direct()
        .get(&format!("refs/branchyard/parked/{dir}"))
        .copied();
    if parked.is_some() || rebased_branch(worktree.admin()).is_some() {
        // Detached for good reason.
        if let Some(at) = last.or(parked) {
            write_head(worktree, &format!("{at}\n"))?;
            return Ok(format!("HEAD put back to {at}"));
        }
    }
    let tip = match refs.direct().get(&own) {
        Some(tip) => Some(*tip),
        None => {
            let guesses = former(store.path(), &own);
            let best = guesses.into_iter().chain(been).find(&exists);
            if let Some(commit) = best {
                set_ref(store.path(), &own, commit)?;
            }
            best
        }
    };
    if let Some(last) = last.filter(|last| Some(*last) != tip) {
        let name = format!("refs/branchyard/set-aside/{dir}-{}", uuid::Uuid::now_v7());
        set_ref(store.path(), &name, last)?;
    }
    write_head(worktree, &format!("ref: {own}\n"))?;
    Ok(match tip {
        Some(tip) => format!("HEAD put back to {own} at {tip}"),
        None => format!("HEAD put back to {own}, of which no commit is known"),
    })
}

fn write_head(worktree: &Worktree, content: &str) -> Result<(), Error> {
    write_whole(&worktree.admin().join("HEAD"), content).map_err(Error::io("put HEAD back"))
}

/// Makes the index anew from HEAD; the old one is set aside. What is in the files shows as changes.
pub fn rebuild_index(worktree: &Worktree, store: &Store) -> Result<Option<PathBuf>, Error> {
    let index = worktree.admin().join("index");
    let aside = store.path().join("set-aside");
    let kept = aside.join(format!(
        "index-{}-{}",
        worktree.branch().dir(),
        uuid::Uuid::now_v7()
    ));
    let moved = fs::create_dir_all(&aside).and_then(|()| fs::rename(&index, &kept));
    let moved = if_there(moved).map_err(Error::io("set an index aside"))?;
    let repo = worktree.open()?;
    match repo.git2().head() {
        Ok(head) => {
            let mut fresh = Index::open(&index)?;
            fresh.read_tree(&head.peel_to_tree()?)?;
            fresh.write()?;
        }
        // Its commit may come back with the next clone, and the index then.
        Err(error) if error.code() == ErrorCode::UnbornBranch => {}
        Err(error) => return Err(error.into()),
    }
    Ok(moved.map(|()| kept))
}
