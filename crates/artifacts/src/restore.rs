//! The files of a set, written to below a directory of a job.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use branchyard_runtime::disk::parallel;
use rustix::fs::{Mode, fchmod};

use crate::beneath;
use crate::blobs::Blobs;
use crate::copy::Copier;
use crate::error::{ArtifactError, shown};
use crate::job_dirs::JobDirs;
use crate::set::{ArtifactFile, ArtifactSet};

const AT_ONCE: usize = 16;

/// `into` is a path as a job writes it: below the root, absolute in one of its directories, or below `~`.
pub(crate) fn restore(
    blobs: &Blobs,
    set: &ArtifactSet,
    dirs: &JobDirs,
    into: &str,
) -> Result<(), ArtifactError> {
    let (dir, below) = dirs.place(into).ok_or_else(|| ArtifactError::Pattern {
        pattern: shown(into),
        why: "it is in no directory of the job".into(),
    })?;
    let opened = beneath::open_root(&dir.real).and_then(|root| beneath::make_dirs(&root, &below));
    let root = opened.map_err(|error| not_copied(&below, error))?;
    let copier = Copier::unlimited();
    let restored = parallel::share(
        set.files.len(),
        AT_ONCE,
        || (),
        |(), n| Ok(restore_file(blobs, &copier, &set.files[n], &root)?),
    );
    restored
        .map(drop)
        .map_err(ArtifactError::io("restore an artifact"))
}

fn restore_file(
    blobs: &Blobs,
    copier: &Copier,
    file: &ArtifactFile,
    root: &OwnedFd,
) -> Result<(), ArtifactError> {
    let blob = blobs.open_sized(&file.sha256, file.size);
    let blob = blob.map_err(|error| unreadable(file, error))?;
    let path = Path::new(&file.path);
    let written = || -> io::Result<()> {
        let dir = beneath::make_dirs(root, path.parent().unwrap_or(Path::new("")))?;
        let name = path.file_name().unwrap_or_default();
        let target = beneath::create_file(&dir, name, file.mode)?;
        copier.copy(&blob, &target)?;
        // What it was created with is less what the daemon's mask takes away.
        Ok(fchmod(&target, Mode::from_raw_mode(file.mode))?)
    };
    written().map_err(|error| not_copied(path, error))
}

/// Why a file cannot be copied.
pub(crate) fn not_copied(path: &Path, error: io::Error) -> ArtifactError {
    let path = shown(&path.to_string_lossy());
    if beneath::is_in_the_way(&error) {
        let why = "a link, or something that is no directory or no file, is in its place";
        return ArtifactError::InTheWay { path, why };
    }
    ArtifactError::io(format!("copy {path}"))(error)
}

/// Why the content of a file cannot be had.
pub(crate) fn unreadable(file: &ArtifactFile, error: io::Error) -> ArtifactError {
    match error.kind() {
        io::ErrorKind::NotFound => ArtifactError::Gone {
            path: shown(&file.path),
        },
        _ => ArtifactError::io(format!("read {}", shown(&file.path)))(error),
    }
}
