//! The archive beside a salvage: a tar file with what git does not hold well. It has its last name once
//! the salvage's ref is there; until then it can be told from one that was never completed.

use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

use crate::{Error, open_plain};
use branchyard_model::SalvageId;
use branchyard_runtime::disk::if_there;

pub(super) struct Archive {
    settled: PathBuf,
    fresh: PathBuf,
    builder: Option<Builder<File>>,
    left_out: Vec<PathBuf>,
}

/// Where the archive of a salvage is, if it has one.
pub(super) fn path(archives: &Path, id: SalvageId) -> PathBuf {
    archives.join(format!("{id}.tar"))
}

impl Archive {
    /// An archive that exists only if something is put into it.
    pub(super) fn new(archives: &Path, id: SalvageId) -> Self {
        let settled = path(archives, id);
        Self {
            fresh: settled.with_extension("tar.new"),
            settled,
            builder: None,
            left_out: Vec::new(),
        }
    }

    /// Adds `root/path`, whole, under the name `top/path`.
    pub(super) fn add(&mut self, top: &str, root: &Path, path: &Path) -> Result<(), Error> {
        let failed = || Error::io(format!("archive {}", path.display()));
        let builder = match &mut self.builder {
            Some(builder) => builder,
            none => {
                if let Some(dir) = self.fresh.parent() {
                    fs::create_dir_all(dir).map_err(failed())?;
                }
                // It may hold what was closed to others.
                let file = File::options()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(&self.fresh);
                let mut builder = Builder::new(file.map_err(failed())?);
                builder.follow_symlinks(false);
                none.insert(builder)
            }
        };
        append(builder, root, (Path::new(top), path), &mut self.left_out).map_err(failed())
    }

    /// Pipes, sockets and devices within what was added.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &Path> {
        self.left_out.iter().map(PathBuf::as_path)
    }

    /// Brings it to the disk, under its first name.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let Some(builder) = self.builder.take() else {
            // Nothing is to be settled.
            self.fresh = PathBuf::new();
            return Ok(());
        };
        builder
            .into_inner()
            .and_then(|file| file.sync_all())
            .map_err(Error::io("archive what git does not hold"))
    }

    /// Gives it its last name; the salvage is named by now.
    pub(super) fn settle(&self) -> Result<(), Error> {
        if self.fresh.as_os_str().is_empty() {
            return Ok(());
        }
        fs::rename(&self.fresh, &self.settled).map_err(Error::io("name an archive"))
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        // Whatever failed, it is told elsewhere; this one is of no use then.
        if !self.fresh.as_os_str().is_empty() && self.fresh.exists() {
            let _ = fs::remove_file(&self.fresh);
        }
    }
}

fn append(
    builder: &mut Builder<File>,
    root: &Path,
    (top, path): (&Path, &Path),
    left_out: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let full = root.join(path);
    let meta = fs::symlink_metadata(&full)?;
    let kind = meta.file_type();
    let name = top.join(path);
    if kind.is_symlink() {
        let mut header = Header::new_gnu();
        header.set_metadata(&meta);
        header.set_entry_type(EntryType::Symlink);
        header.set_size(0);
        return builder.append_link(&mut header, name, fs::read_link(&full)?);
    }
    if kind.is_file() {
        return match open_plain(&full)? {
            Some(mut file) => builder.append_file(name, &mut file),
            None => Ok(()),
        };
    }
    if !kind.is_dir() {
        left_out.push(path.to_owned());
        return Ok(());
    }
    builder.append_dir(&name, &full)?;
    for entry in fs::read_dir(&full)? {
        let inner = path.join(entry?.file_name());
        append(builder, root, (top, &inner), left_out)?;
    }
    Ok(())
}

/// After a crash: gives archives whose salvage was named (`is_named`) their last name, and removes those
/// that were never completed: what is in them is still in its workspace. In doubt one stays as it is.
pub fn settle_archives<E: Display>(
    archives: &Path,
    is_named: impl Fn(SalvageId) -> Result<bool, E>,
) -> Result<(), Error> {
    let entries = if_there(fs::read_dir(archives)).map_err(Error::io("read the archives"))?;
    for entry in entries.into_iter().flatten() {
        let fresh = entry.map_err(Error::io("read the archives"))?.path();
        let id = fresh
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".tar.new"))
            .and_then(|id| SalvageId::parse(id).ok());
        let Some(id) = id else {
            continue;
        };
        let settled = match is_named(id) {
            Ok(true) => fs::rename(&fresh, path(archives, id)),
            Ok(false) => fs::remove_file(&fresh),
            Err(error) => {
                tracing::warn!(salvage = %id, %error, "nobody knows whether this archive is a salvage's; it is left as it is");
                continue;
            }
        };
        settled.map_err(Error::io("settle an archive"))?;
        tracing::info!(salvage = %id, "the archive of a salvage that was cut off is settled");
    }
    Ok(())
}
