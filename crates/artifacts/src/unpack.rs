//! Files of a set, written to below a directory of whoever fetches them. Each appears under its name whole and with the
//! digest that the set says, or not at all. Paths come from elsewhere: none leads out of the directory, also by a link in it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use branchyard_model::sha256_of;
use rustix::fs::{AtFlags, Mode, RenameFlags, fchmod, renameat_with, unlinkat};
use uuid::Uuid;

use crate::beneath;
use crate::error::{ArtifactError, shown};
use crate::restore::not_copied;
use crate::set::ArtifactFile;

const TAKEN: &str = "something is there already";

/// A directory into which files are unpacked.
#[derive(Debug)]
pub struct UnpackDir {
    root: OwnedFd,
    /// Whether files take the place of others.
    replaces: bool,
}

impl UnpackDir {
    /// Makes the directory if there is none.
    pub fn open(dir: &Path, replaces: bool) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        // The caller chose it: a link that leads to it is followed.
        let root = beneath::open_root(&dir.canonicalize()?)?;
        Ok(Self { root, replaces })
    }

    /// Whether a file may be put there, as far as is known before it comes.
    pub fn check(&self, path: &str) -> Result<(), ArtifactError> {
        match beneath::name(&self.root, Path::new(path)) {
            Ok(_) if !self.replaces => Err(taken(path)),
            _ => Ok(()),
        }
    }

    /// Begins a file, to be put at `path`.
    pub fn begin(&self, path: &str) -> Result<PartialFile, ArtifactError> {
        let at = Path::new(path);
        let begun = || -> io::Result<PartialFile> {
            let name = at.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let dir = beneath::make_dirs(&self.root, at.parent().unwrap_or(Path::new("")))?;
            let part = format!(".{}.part", Uuid::now_v7());
            let content = beneath::create_file(&dir, OsStr::new(&part), ArtifactFile::PLAIN)?;
            Ok(PartialFile {
                path: path.to_owned(),
                name: name.to_owned(),
                dir,
                part: Some(part),
                content,
                replaces: self.replaces,
            })
        };
        begun().map_err(|error| not_copied(at, error))
    }
}

/// A file that is not whole yet. Without [`Self::finish`] nothing is left of it.
#[derive(Debug)]
pub struct PartialFile {
    path: String,
    name: OsString,
    dir: OwnedFd,
    /// What it is called until it is whole.
    part: Option<String>,
    content: File,
    replaces: bool,
}

impl PartialFile {
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        let written = self.content.write_all(bytes);
        written.map_err(|error| not_copied(Path::new(&self.path), error))
    }

    /// Gives it its name, if its content is that of `expected`.
    pub fn verified(mut self, expected: &ArtifactFile) -> Result<(), ArtifactError> {
        let failed = |error| not_copied(Path::new(&expected.path), error);
        self.content.rewind().map_err(failed)?;
        if sha256_of(&self.content).map_err(failed)? != expected.sha256 {
            let why = "what came has another SHA-256 than the artifact says";
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, why)));
        }
        // No more than what the set says: neither is it any other's to write, nor does it run as its owner.
        let mode = expected.mode & ArtifactFile::EXECUTABLE;
        fchmod(&self.content, Mode::from_raw_mode(mode)).map_err(|errno| failed(errno.into()))?;
        self.put()
    }

    /// Gives it its name, whatever is in it.
    pub fn finish(mut self) -> Result<(), ArtifactError> {
        self.put()
    }

    fn put(&mut self) -> Result<(), ArtifactError> {
        let flags = match self.replaces {
            true => RenameFlags::empty(),
            false => RenameFlags::NOREPLACE,
        };
        let Some(part) = self.part.take() else {
            return Ok(());
        };
        let put = renameat_with(&self.dir, &part, &self.dir, &self.name, flags);
        put.map_err(|errno| {
            self.part = Some(part);
            match errno {
                rustix::io::Errno::EXIST if !self.replaces => taken(&self.path),
                errno => not_copied(Path::new(&self.path), errno.into()),
            }
        })
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // It may be gone with its directory.
            let _ = unlinkat(&self.dir, part, AtFlags::empty());
        }
    }
}

fn taken(path: &str) -> ArtifactError {
    ArtifactError::InTheWay {
        path: shown(path),
        why: TAKEN,
    }
}
