//! Which files of a worktree are pointers where their contents belong.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, ObjectType, Oid};

use super::LfsPointer;
use crate::attributes::{Convertible, FILE_NAME};
use crate::index_file::IndexFile;
use crate::plain_file::read_plain;
use crate::repository::{REGULAR, TYPE};
use crate::status::head_if_born;
use crate::verbs::conflicts::{Read, Working};
use crate::{Error, Repository, commit_id, has_commit, object_id};
use branchyard_model::CommitId;
use branchyard_runtime::disk::if_there;

/// What a line of attributes says of files that git-lfs keeps.
const LFS: &[u8] = b"filter=lfs";
/// No real file of attributes is longer.
const MAX_ATTRIBUTES: usize = 1 << 20;

/// Where git notes the commits of an operation under way.
const MOST_UNDER_WAY: usize = 8;
const UNDER_WAY: [&str; 3] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"];

/// A file that is a pointer. To git it is the same as its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointerFile {
    /// From the root of the worktree.
    pub path: PathBuf,
    pub pointer: LfsPointer,
    /// HEAD has it, so that the remote should have its content. Other pointers come from work in the worktree.
    pub is_committed: bool,
    /// The blob that it is.
    pub(super) id: Oid,
}

/// Those of a worktree.
#[derive(Debug, Clone)]
pub struct PointerFiles {
    /// The commit that it is at, and those of a merge or the like that is under way.
    pub commits: Vec<CommitId>,
    pub files: Vec<PointerFile>,
}

/// All of them in the worktree at `root`, whose registration is `admin`; `None` where there can be none. Blocks.
pub fn pointer_files(root: &Path, admin: &Path) -> Result<Option<PointerFiles>, Error> {
    let entries = indexed_files(&admin.join("index"))?;
    let is_attributes = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next() == Some(FILE_NAME);
    let mut attributes = entries
        .iter()
        .filter(|(path, ..)| is_attributes(path))
        .peekable();
    if attributes.peek().is_none() {
        return Ok(None);
    }
    let repo = Repository::open_bare(admin)?;
    let Some(head) = head_if_born(&repo)? else {
        return Ok(None);
    };
    let mut kept = Vec::new();
    for (path, _, id) in attributes {
        kept.extend(kept_by(&repo, path, *id)?);
    }
    if kept.is_empty() {
        return Ok(None);
    }
    let tree = repo.head_tree()?;
    let (working, mut files) = (Working::open(root)?, Vec::new());
    for (path, mode, _) in &entries {
        let is_file = mode & TYPE == REGULAR;
        if !(is_file && kept.iter().any(|files| files.includes(path))) {
            continue;
        }
        let path = PathBuf::from(OsStr::from_bytes(path));
        let Read::Whole(content) = working.read(&path, LfsPointer::MOST) else {
            continue;
        };
        if let Some(pointer) = LfsPointer::parse(&content)
            && is_kept_by_lfs(&repo, &path)?
        {
            let id = Oid::hash_object(ObjectType::Blob, &content)?;
            let committed = tree.get_path(&path).ok();
            files.push(PointerFile {
                is_committed: committed.is_some_and(|entry| entry.id() == id),
                path,
                pointer,
                id,
            });
        }
    }
    let mut commits = vec![commit_id(head.commit)?];
    for name in UNDER_WAY {
        let other = read_plain(&admin.join(name), MAX_ATTRIBUTES as u64);
        let other = other.ok().flatten().unwrap_or_default();
        let ids = String::from_utf8_lossy(&other);
        let ids = ids.lines().filter_map(|id| CommitId::parse(id).ok());
        // A build could have written any number there, of any commits.
        let known = ids.filter(|id| object_id(id).is_ok_and(|id| has_commit(&repo, id)));
        commits.extend(known.take(MOST_UNDER_WAY));
    }
    Ok(Some(PointerFiles { commits, files }))
}

/// All that is merged in an index of any kind.
fn indexed_files(index: &Path) -> Result<Vec<(Vec<u8>, u32, Oid)>, Error> {
    let read = if_there(IndexFile::read_any(index)).map_err(Error::io("read the index"))?;
    let Some(read) = read else {
        return Ok(Vec::new());
    };
    if let Some(index) = read {
        let entries = index.entries().iter().filter(|entry| entry.is_merged());
        let entries = entries.filter_map(|entry| {
            let id = index.id(entry)?.git2();
            Some((index.path(entry).to_owned(), entry.mode(), id))
        });
        return Ok(entries.collect());
    }
    // libgit2 knows the other kinds.
    let index = git2::Index::open(index)?;
    Ok(index
        .iter()
        .map(|entry| (entry.path, entry.mode, entry.id))
        .collect())
}

/// The files that the attributes in this blob may have git-lfs keep.
fn kept_by(repo: &Repository, path: &[u8], id: Oid) -> Result<Vec<Convertible>, Error> {
    let objects = repo.git2().odb()?;
    if objects.read_header(id)?.0 > MAX_ATTRIBUTES {
        return Ok(Vec::new());
    }
    let blob = repo.git2().find_blob(id)?;
    let lines = blob.content().split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| line.windows(LFS.len()).any(|words| words == LFS));
    let lines = lines.collect::<Vec<_>>().join(&b'\n');
    let directory = &path[..path.len() - FILE_NAME.len()];
    Ok(Convertible::by(&lines, directory).collect())
}

/// By the attributes in the index, as in a checkout: those in the worktree may be anything.
fn is_kept_by_lfs(repo: &Repository, path: &Path) -> Result<bool, Error> {
    let flags = AttrCheckFlags::INDEX_ONLY | AttrCheckFlags::NO_SYSTEM;
    let filter = repo.git2().get_attr_bytes(path, "filter", flags)?;
    Ok(filter == Some(b"lfs"))
}
