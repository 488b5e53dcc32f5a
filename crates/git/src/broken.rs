//! Refs that a crash, a full disk or a item hand broke: found by reading the files as they stand, since
//! neither git nor libgit2 goes on where one of them makes no sense; mended from the reflogs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Odb, Oid};

use super::fixed_file::write_whole;
use super::reflog;
use super::{Error, Store};
use branchyard_model::BranchName;
use branchyard_runtime::disk::if_there;

const PACKED: &str = "packed-refs";
/// As much of a broken value as a log line should hold.
const SHOWN: usize = 80;

/// Refs whose reflog alone is proof that there should be one: whoever deletes a ref deletes its log first.
const LOGGED: [&str; 4] = [
    "refs/heads/",
    "refs/stash",
    "refs/branchyard/salvage/",
    "refs/branchyard/set-aside/",
];

/// Refs that are told to us anew, by the remote or by the next move of a workspace.
const RENEWED: [&str; 2] = ["refs/remotes/", "refs/branchyard/seen"];

/// A ref that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRef {
    /// `packed-refs` stands for the file of that name.
    pub name: String,
    pub damage: RefDamage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefDamage {
    /// What it holds makes no sense.
    Unreadable(String),
    /// It is gone, and its reflog is not.
    Lost,
    /// The object that it names is gone.
    Dangling(Oid),
}

impl BrokenRef {
    fn unreadable(name: String, content: &[u8]) -> Self {
        let part = &content[..content.len().min(SHOWN)];
        let damage = RefDamage::Unreadable(String::from_utf8_lossy(part).into_owned());
        Self { name, damage }
    }

    /// Can be mended here and now; what dangles needs the objects first.
    pub fn is_mended_alone(&self) -> bool {
        !matches!(self.damage, RefDamage::Dangling(_))
    }

    pub fn detail(&self) -> String {
        match &self.damage {
            RefDamage::Unreadable(value) => format!("{} holds {value:?}", self.name),
            RefDamage::Lost => format!("{} is gone, and its log is not", self.name),
            RefDamage::Dangling(id) => format!("{} names {id}, which is gone", self.name),
        }
    }
}

/// The refs of a store as they stand in its files.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// Whole ones; symbolic ones are left out.
    direct: BTreeMap<String, Oid>,
    unreadable: Vec<BrokenRef>,
    symbolic: Vec<String>,
}

impl Refs {
    pub(super) fn direct(&self) -> &BTreeMap<String, Oid> {
        &self.direct
    }

    pub(super) fn into_direct(self) -> BTreeMap<String, Oid> {
        self.direct
    }

    pub(super) fn read(store: &Path) -> Result<Self, Error> {
        let mut refs = Self::default();
        refs.read_packed(store)?;
        for path in files_below(&store.join("refs"))? {
            let Some(name) = name_of(store, &path) else {
                continue;
            };
            if name.ends_with(".lock") {
                continue;
            }
            let Some(content) = if_there(fs::read(&path)).map_err(Error::io("read a ref"))? else {
                continue;
            };
            match direct(&content) {
                Some(id) => drop(refs.direct.insert(name, id)),
                None if content.starts_with(b"ref: refs/") => refs.symbolic.push(name),
                None => {
                    refs.direct.remove(&name);
                    refs.unreadable.push(BrokenRef::unreadable(name, &content));
                }
            }
        }
        Ok(refs)
    }

    fn read_packed(&mut self, store: &Path) -> Result<(), Error> {
        let text = if_there(fs::read(store.join(PACKED))).map_err(Error::io("read packed-refs"))?;
        let text = text.unwrap_or_default();
        for line in lines_of(&text) {
            match packed_line(line) {
                Packed::Ref(name, id) => drop(self.direct.insert(name, id)),
                Packed::Beside => {}
                Packed::Garbage => {
                    self.unreadable
                        .push(BrokenRef::unreadable(PACKED.to_owned(), line));
                    break;
                }
            }
        }
        // Git reads a last line without its end as garbage too.
        if !text.is_empty() && !text.ends_with(b"\n") && self.unreadable.is_empty() {
            let line = lines_of(&text).last().unwrap_or_default();
            self.unreadable
                .push(BrokenRef::unreadable(PACKED.to_owned(), line));
        }
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        self.direct.contains_key(name)
            || self.symbolic.iter().any(|known| known == name)
            || self.unreadable.iter().any(|known| known.name == name)
    }

    /// Whether there is a ref that `name` could not stand beside.
    fn collides(&self, name: &str) -> bool {
        let above = name
            .match_indices('/')
            .any(|(at, _)| self.direct.contains_key(&name[..at]));
        let below = format!("{name}/");
        above
            || self
                .direct
                .range(below.clone()..)
                .next()
                .is_some_and(|(next, _)| next.starts_with(&below))
    }
}

/// Whether every line of `packed-refs` makes sense. One that does not is passed over by libgit2, and keeps
/// git from doing anything at all.
pub fn packed_refs_are_sound(store: &Store) -> Result<bool, Error> {
    let mut refs = Refs::default();
    refs.read_packed(store.path())?;
    Ok(refs.unreadable.is_empty())
}

/// All refs of the store that are not what they should be. One lookup for each ref, and no process.
pub(super) fn broken_refs(
    store: &Path,
    refs: &Refs,
    objects: Option<&Odb<'_>>,
) -> Result<Vec<BrokenRef>, Error> {
    let mut broken = refs.unreadable.clone();
    for log in files_below(&store.join("logs/refs"))? {
        let Some(name) = name_of(&store.join("logs"), &log) else {
            continue;
        };
        if LOGGED.iter().any(|known| name.starts_with(known))
            && !refs.has(&name)
            && !refs.collides(&name)
            && !store.join(format!("{name}.lock")).exists()
            && !reflog::history(&log).is_empty()
        {
            let damage = RefDamage::Lost;
            broken.push(BrokenRef { name, damage });
        }
    }
    for (name, id) in &refs.direct {
        if objects.is_none_or(|objects| !objects.exists(*id)) {
            let (name, damage) = (name.clone(), RefDamage::Dangling(*id));
            broken.push(BrokenRef { name, damage });
        }
    }
    Ok(broken)
}

/// Puts a ref back to the last good commit that is known of it, or takes it away where it will be told
/// anew or nothing is known. Returns what was done. The caller holds the registry lock.
pub fn mend_ref(store: &Store, broken: &BrokenRef) -> Result<String, Error> {
    let path = store.path().join(&broken.name);
    if broken.name == PACKED {
        return mend_packed(store.path());
    }
    let renewed = RENEWED.iter().any(|known| broken.name.starts_with(known));
    let objects = objects(store.path());
    let good = objects.filter(|_| !renewed).and_then(|objects| {
        former(store.path(), &broken.name)
            .into_iter()
            .find(|id| is_commit(&objects, *id))
    });
    match good {
        Some(commit) => {
            set_ref(store.path(), &broken.name, commit)?;
            Ok(format!("{} put back to {commit}", broken.name))
        }
        None => {
            if_there(fs::remove_file(&path)).map_err(Error::io("drop a broken ref"))?;
            Ok(format!("{} dropped", broken.name))
        }
    }
}

/// Writes a ref past git and libgit2, which both refuse to replace what they cannot read.
pub(super) fn set_ref(store: &Path, name: &str, id: Oid) -> Result<(), Error> {
    let path = store.join(name);
    // Not beside it, where it would be a ref.
    let fresh = store.join(format!("ref-{}", uuid::Uuid::now_v7()));
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&fresh, format!("{id}\n")))
        .and_then(|()| fs::rename(&fresh, &path))
        .map_err(Error::io("put a ref back"))
}

/// Where a ref has been, the best guess first: its own log, its workspace's, and what the remote has.
pub(super) fn former(store: &Path, name: &str) -> Vec<Oid> {
    let mut former = reflog::history(&store.join("logs").join(name));
    let branch = name.strip_prefix("refs/heads/").map(BranchName::parse);
    if let Some(Ok(branch)) = branch {
        let dir = branch.dir();
        let admin = store.join("worktrees").join(dir.as_str());
        let on_branch = format!("ref: {name}\n");
        if fs::read_to_string(admin.join("HEAD")).is_ok_and(|head| head == on_branch) {
            former.extend(reflog::history(&admin.join("logs/HEAD")));
        }
        if let Ok(refs) = Refs::read(store) {
            let others = [
                format!("refs/branchyard/parked/{dir}"),
                format!("refs/branchyard/seen/{dir}"),
                branch.remote_ref(),
            ];
            former.extend(others.iter().filter_map(|other| refs.direct.get(other)));
        }
    }
    former
}

/// The objects of a store, opened without looking at anything else there; `None` if they are gone.
pub(super) fn objects(store: &Path) -> Option<Odb<'static>> {
    let objects = Odb::new().ok()?;
    let dir = store.join("objects");
    objects.add_disk_alternate(dir.to_str()?).ok()?;
    Some(objects)
}

pub(super) fn is_commit(objects: &Odb<'_>, id: Oid) -> bool {
    matches!(objects.read_header(id), Ok((_, ObjectType::Commit)))
}

/// Keeps the lines that make sense; the file as it was is set aside.
fn mend_packed(store: &Path) -> Result<String, Error> {
    let path = store.join(PACKED);
    let text = fs::read(&path).map_err(Error::io("read packed-refs"))?;
    let aside = store.join("set-aside");
    let kept = aside.join(format!("{PACKED}-{}", uuid::Uuid::now_v7()));
    fs::create_dir_all(&aside)
        .and_then(|()| fs::write(&kept, &text))
        .map_err(Error::io("set packed-refs aside"))?;
    // Not said to be peeled: tags are then peeled by looking at them.
    let mut good = String::from("# pack-refs with: sorted \n");
    let refs: BTreeMap<_, _> = lines_of(&text)
        .filter_map(|line| match packed_line(line) {
            Packed::Ref(name, id) => Some((name, id)),
            Packed::Beside | Packed::Garbage => None,
        })
        .collect();
    for (name, id) in refs {
        good.push_str(&format!("{id} {name}\n"));
    }
    write_whole(&path, &good).map_err(Error::io("mend packed-refs"))?;
    Ok(format!(
        "the good lines of packed-refs kept, the whole as {}",
        kept.display()
    ))
}

enum Packed {
    Ref(String, Oid),
    /// A header, or what a tag peels to.
    Beside,
    Garbage,
}

fn packed_line(line: &[u8]) -> Packed {
    if line.starts_with(b"#") || line.is_empty() {
        return Packed::Beside;
    }
    let Ok(line) = std::str::from_utf8(line) else {
        return Packed::Garbage;
    };
    if let Some(peeled) = line.strip_prefix('^') {
        return whole_id(peeled).map_or(Packed::Garbage, |_| Packed::Beside);
    }
    let named = line.split_once(' ');
    let named = named.filter(|(_, name)| name.starts_with("refs/"));
    let found = named.and_then(|(id, name)| Some(Packed::Ref(name.to_owned(), whole_id(id)?)));
    found.unwrap_or(Packed::Garbage)
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.strip_suffix(b"\n")
        .unwrap_or(text)
        .split(|byte| *byte == b'\n')
}

fn direct(content: &[u8]) -> Option<Oid> {
    whole_id(std::str::from_utf8(content).ok()?.trim_end())
}

pub(super) fn whole_id(text: &str) -> Option<Oid> {
    (text.len() == 40).then(|| Oid::from_str(text).ok())?
}

/// The name of a ref, or of its log, from its file.
fn name_of(root: &Path, path: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.to_str()?.to_owned())
}

/// Every file below `dir`, links not followed; none where there is no such directory.
pub(super) fn files_below(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        let entries = if_there(fs::read_dir(&dir)).map_err(Error::io("look through the store"))?;
        for entry in entries.into_iter().flatten() {
            let entry = entry.map_err(Error::io("look through the store"))?;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                Ok(_) => found.push(entry.path()),
                Err(_) => {}
            }
        }
    }
    found.sort();
    Ok(found)
}
