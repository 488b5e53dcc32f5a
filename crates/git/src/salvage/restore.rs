//! Putting a salvage back: files, index and git's own files become what they were. The workspace holds
//! no work of its own by then, and the caller holds its files.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use git2::Oid;
use rustix::fs::{CWD, FileType, Mode};

use super::attributes::Attribute;
use super::files::{Entry, LINK, SUBMODULE, entries_of};
use super::{ExactPath, Saved, archive};
use crate::file_comparer::hash_plain;
use crate::fixed_file::write_whole;
use crate::refs::{move_ref, set_head};
use crate::submodule::Submodule;
use crate::submodule::record::SUBMODULES;
use crate::{Error, ObjectId, Repository, Worktree, read_ref};
use branchyard_config::crash_point;
use branchyard_model::{ErrorKind, Problem};
use branchyard_runtime::disk::if_there;

const EXECUTABLE: u32 = 0o111;

/// Makes `worktree` what the salvage holds. It may be another branch's than the one that was saved; an
/// operation under way is then about that branch. Nothing is done where the branch is not at `known_tip` any more: what
/// was committed since is not saved. What is in the way is given to `discard`.
pub fn put_back(
    saved: &Saved,
    worktree: &Worktree,
    archives: &Path,
    known_tip: Option<ObjectId>,
    discard: &dyn Fn(&Path) -> io::Result<()>,
) -> Result<(), Error> {
    let repo = worktree.open()?;
    let manifest = &saved.manifest;
    let was = manifest.salvage.branch.local_ref();
    let now = worktree.branch().local_ref();

    if let Some(tip) = &manifest.tip {
        let (tip, known) = (crate::object_id(tip)?.git2(), known_tip.map(ObjectId::git2));
        if !move_ref(&repo, &now, tip, known, "branchyard: restored")? {
            return Err(branch_moved(&now).into());
        }
    }
    let before = tracked(&repo)?;
    let files = entries(&repo, saved.part(&repo, "worktree")?)?;
    let place = RestorePlace {
        workdir: worktree.path(),
        modes: manifest
            .modes
            .iter()
            .map(|(path, mode)| (path.path(), *mode))
            .collect(),
        discard,
    };
    place.put_files(&repo, &before, &files)?;
    crash_point("restore-files");
    for path in manifest.empty.iter().map(ExactPath::path) {
        place
            .make_way(&path)
            .map_err(Error::io(format!("make {}", path.display())))?;
    }
    for (path, permissions) in &manifest.pipes {
        let path = path.path();
        place
            .put_pipe(&path, *permissions)
            .map_err(Error::io(format!("make {}", path.display())))?;
    }
    put_admin(&repo, saved, worktree.admin(), &was, &now)?;
    let index = worktree.admin().join("index");
    if let Some(kept) = saved.part(&repo, "index")? {
        write_whole(&index, repo.git2().find_blob(kept)?.content())
            .map_err(Error::io("restore the index"))?;
    }
    set_head(worktree.admin(), &head_of(&repo, saved, worktree)?)?;
    crash_point("restore-head");
    let archive = archive::path(archives, manifest.salvage.id);
    if archive.exists() {
        let archived: Vec<_> = manifest.archived.iter().map(ExactPath::path).collect();
        let is_archived = |submodule: &Submodule| {
            let mut archived = archived.iter();
            archived.any(|path| submodule.path().starts_with(path))
        };
        // Another repository may come in the place of a submodule that is there now.
        for submodule in Submodule::all(worktree)?
            .iter()
            .filter(|it| is_archived(it))
        {
            let gone = discard(submodule.worktree().admin());
            gone.map_err(Error::io("make room for a submodule"))?;
        }
        for path in &archived {
            place
                .clear(path)
                .map_err(Error::io(format!("make room for {}", path.display())))?;
        }
        unpack(&archive, worktree, discard)
            .map_err(Error::io("unpack the archive of a salvage"))?;
        for submodule in Submodule::all(worktree)?
            .iter()
            .filter(|it| is_archived(it))
        {
            submodule.mend_link()?;
        }
    }
    for (path, kept) in &manifest.attributes {
        place.put_attributes(&path.path(), kept);
    }
    place.settle_modes()
}

fn branch_moved(name: &str) -> Problem {
    let detail = format!("{name} moved while a salvage was being restored there");
    Problem::new(ErrorKind::Conflict, "branch_moved", detail)
        .field("branch")
        .help("nothing was changed; ask again")
}

/// The workspace that files are put into.
struct RestorePlace<'a> {
    workdir: &'a Path,
    /// Permissions that are not the usual ones, of files and directories.
    modes: BTreeMap<PathBuf, u32>,
    /// Takes away what is in the way.
    discard: &'a dyn Fn(&Path) -> io::Result<()>,
}

/// What HEAD is to say: as it was, unless that would be another workspace's branch by now.
fn head_of(repo: &Repository, saved: &Saved, worktree: &Worktree) -> Result<String, Error> {
    let salvage = &saved.manifest.salvage;
    let own = format!("ref: {}\n", worktree.branch().local_ref());
    let was = match saved.part(repo, "admin/HEAD")? {
        Some(head) => String::from_utf8_lossy(repo.git2().find_blob(head)?.content()).into_owned(),
        None => return Ok(own),
    };
    let Some(name) = was.strip_prefix("ref: ").map(str::trim) else {
        return Ok(was);
    };
    if name == salvage.branch.local_ref() {
        return Ok(own);
    }
    let is_taken = fs::read_dir(repo.git2().commondir().join("worktrees"))
        .map_err(Error::io("look at the other workspaces"))?
        .flatten()
        .any(|entry| fs::read_to_string(entry.path().join("HEAD")).is_ok_and(|head| head == was));
    let commit = salvage.commit.as_ref().map(crate::object_id).transpose()?;
    match commit {
        _ if !is_taken && read_ref(repo, name)? == commit => Ok(was),
        Some(commit) => Ok(format!("{commit}\n")),
        None => Ok(own),
    }
}

fn tracked(repo: &Repository) -> Result<Vec<PathBuf>, Error> {
    let index = repo.fresh_index()?;
    Ok(index
        .iter()
        .filter(|entry| entry.mode != SUBMODULE)
        .map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path)))
        .collect())
}

fn entries(repo: &Repository, tree: Option<Oid>) -> Result<Vec<Entry>, Error> {
    tree.map_or(Ok(Vec::new()), |tree| entries_of(repo, tree))
}

impl RestorePlace<'_> {
    fn put_files(
        &self,
        repo: &Repository,
        before: &[PathBuf],
        files: &[Entry],
    ) -> Result<(), Error> {
        let kept: HashSet<&Path> = files.iter().map(|(path, ..)| path.as_path()).collect();
        for path in before {
            let full = self.workdir.join(path);
            if !kept.contains(path.as_path())
                && is_real(self.workdir, path)
                && fs::symlink_metadata(&full).is_ok_and(|meta| !meta.is_dir())
            {
                self.take_away(&full)
                    .map_err(Error::io(format!("remove {}", full.display())))?;
                remove_hollow(self.workdir, path);
            }
        }
        for (path, id, mode) in files {
            self.put_file(repo, path, *id, *mode)
                .map_err(Error::io(format!("restore {}", path.display())))?;
        }
        Ok(())
    }

    fn put_file(&self, repo: &Repository, path: &Path, id: Oid, mode: u32) -> io::Result<()> {
        self.make_way(path.parent().unwrap_or(Path::new("")))?;
        let full = self.workdir.join(path);
        if let Ok(meta) = fs::symlink_metadata(&full) {
            let is_executable = meta.permissions().mode() & 0o100 != 0;
            let same_kind =
                meta.is_file() && mode != LINK && is_executable == (mode & EXECUTABLE != 0);
            if same_kind && hash_plain(&full).is_ok_and(|now| now == Some(id)) {
                return Ok(());
            }
            self.take_away(&full)?;
        }
        if mode == SUBMODULE {
            return Ok(());
        }
        if mode == LINK {
            let target = repo.git2().find_blob(id).map_err(io::Error::other)?;
            return symlink(OsStr::from_bytes(target.content()), &full);
        }
        let usual = if mode & EXECUTABLE != 0 { 0o777 } else { 0o666 };
        // What was closed to others is so from the first byte on.
        let permissions = self.modes.get(path).map_or(usual, |mode| mode | 0o200);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(permissions);
        let mut file = match options.open(&full) {
            // Just now, by a person: it is kept.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.take_away(&full)?;
                options.open(&full)?
            }
            opened => opened?,
        };
        copy_blob(repo, id, &mut file)
    }

    /// Has what is at `full` discarded. A person who was faster is no error.
    fn take_away(&self, full: &Path) -> io::Result<()> {
        if_there((self.discard)(full)).map(drop)
    }

    fn put_pipe(&self, path: &Path, permissions: u32) -> io::Result<()> {
        let full = self.workdir.join(path);
        if fs::symlink_metadata(&full).is_ok_and(|meta| meta.file_type().is_fifo()) {
            return Ok(());
        }
        self.clear(path)?;
        let mode = Mode::from_raw_mode(permissions);
        rustix::fs::mknodat(CWD, &full, FileType::Fifo, mode, 0)?;
        // Whatever the umask took from it.
        fs::set_permissions(full, fs::Permissions::from_mode(permissions))
    }

    /// One that the file system refuses is logged, and the restore goes on.
    fn put_attributes(&self, path: &Path, kept: &[Attribute]) {
        let full = self.workdir.join(path);
        if !is_real(self.workdir, path) || fs::symlink_metadata(&full).is_err() {
            return;
        }
        for attribute in kept {
            if let Err(error) = attribute.put(&full) {
                tracing::warn!(path = %full.display(), name = attribute.name(), %error, "an extended attribute of a salvage cannot be set");
            }
        }
    }

    /// Makes `dir`, which no link leads out of the workspace.
    fn make_way(&self, dir: &Path) -> io::Result<()> {
        let mut way = PathBuf::new();
        for part in dir.components() {
            way.push(part);
            let full = self.workdir.join(&way);
            match fs::symlink_metadata(&full) {
                Ok(meta) if meta.is_dir() => continue,
                Ok(_) => self.take_away(&full)?,
                Err(_) => {}
            }
            let is_closed = self.modes.contains_key(&way);
            DirBuilder::new()
                .mode(if is_closed { 0o700 } else { 0o777 })
                .create(&full)?;
        }
        Ok(())
    }

    /// Makes room for what comes whole out of the archive.
    fn clear(&self, path: &Path) -> io::Result<()> {
        self.make_way(path.parent().unwrap_or(Path::new("")))?;
        let full = self.workdir.join(path);
        self.take_away(&full)
    }

    /// Once all is in its place: a directory may be closed to writing. What is within comes first.
    fn settle_modes(&self) -> Result<(), Error> {
        for (path, mode) in self.modes.iter().rev() {
            let is_there = is_real(self.workdir, path);
            let path = self.workdir.join(path);
            // A directory that held nothing but a pipe did not come back.
            if !is_there || fs::symlink_metadata(&path).map_or(true, |meta| meta.is_symlink()) {
                continue;
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode))
                .map_err(Error::io(format!("set the mode of {}", path.display())))?;
        }
        Ok(())
    }
}

/// Whether all of the way to `path` is directories, not links that lead elsewhere.
fn is_real(workdir: &Path, path: &Path) -> bool {
    path.ancestors()
        .skip(1)
        .filter(|dir| *dir != Path::new(""))
        .all(|dir| fs::symlink_metadata(workdir.join(dir)).is_ok_and(|meta| meta.is_dir()))
}

/// Directories that the removal of a file left without any, as git does.
fn remove_hollow(workdir: &Path, path: &Path) {
    for dir in path.ancestors().skip(1).filter(|dir| *dir != Path::new("")) {
        if fs::remove_dir(workdir.join(dir)).is_err() {
            return;
        }
    }
}

/// Piece by piece where the object is kept on its own: such a file may be larger than the memory.
fn copy_blob(repo: &Repository, id: Oid, file: &mut File) -> io::Result<()> {
    let odb = repo.git2().odb().map_err(io::Error::other)?;
    if let Ok((mut reader, ..)) = odb.reader(id) {
        io::copy(&mut reader, file)?;
        return Ok(());
    }
    let object = odb.read(id).map_err(io::Error::other)?;
    file.write_all(object.data())
}

/// Git's own files. A log goes on where it was; whatever names the branch that was saved names the one
/// that it is restored as.
fn put_admin(
    repo: &Repository,
    saved: &Saved,
    admin: &Path,
    was: &str,
    now: &str,
) -> Result<(), Error> {
    for (path, id, _) in entries(repo, saved.part(repo, "admin")?)? {
        if path == Path::new("HEAD") {
            continue;
        }
        let mut bytes = repo.git2().find_blob(id)?.content().to_vec();
        let place = admin.join(&path);
        if path.file_name() == Some(OsStr::new("head-name")) && bytes.trim_ascii() == was.as_bytes()
        {
            bytes = format!("{now}\n").into_bytes();
        }
        let restoring = || Error::io(format!("restore git's {}", path.display()));
        if path.starts_with("logs") {
            match fs::read(&place) {
                Ok(newer) if newer.starts_with(&bytes) => continue,
                Ok(newer) => bytes.extend_from_slice(&newer),
                Err(_) => {}
            }
        }
        if let Some(dir) = place.parent() {
            fs::create_dir_all(dir).map_err(restoring())?;
        }
        write_whole(&place, &bytes).map_err(restoring())?;
    }
    Ok(())
}

fn unpack(
    archive: &Path,
    worktree: &Worktree,
    discard: &dyn Fn(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let mut archive = tar::Archive::new(File::open(archive)?);
    archive.set_preserve_permissions(true);
    archive.set_overwrite(true);
    // A directory may be closed to writing, and has its permissions once all is in it.
    let mut dirs = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let (root, inner) = match path.strip_prefix("worktree") {
            Ok(inner) => (worktree.path(), inner),
            Err(_) => match path.strip_prefix("admin") {
                Ok(inner) => (worktree.admin(), inner),
                Err(_) => continue,
            },
        };
        let target = root.join(inner);
        if let Some(dir) = target.parent() {
            fs::create_dir_all(dir)?;
        }
        if entry.header().entry_type().is_dir() {
            // Of a submodule that is there, nothing may be left in what comes back.
            let registrations = worktree.admin().join(SUBMODULES);
            if target.parent() == Some(&registrations) && target.exists() {
                discard(&target)?;
            }
            fs::create_dir_all(&target)?;
            dirs.push((target, entry.header().mode()?));
        } else {
            entry.unpack(target)?;
        }
    }
    for (dir, mode) in dirs.iter().rev() {
        fs::set_permissions(dir, fs::Permissions::from_mode(*mode))?;
    }
    Ok(())
}
