//! Contents of files, each in a file that is named by its SHA-256.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use branchyard_runtime::disk::{create_private_dir, if_there};
use uuid::Uuid;

const MODE: u32 = 0o600;

#[derive(Debug)]
pub(crate) struct Blobs {
    dir: PathBuf,
    staging: PathBuf,
}

/// Contents on their way in. What does not become a blob goes with it.
#[derive(Debug)]
pub(crate) struct Staging {
    dir: PathBuf,
}

/// A blob that is there.
#[derive(Debug)]
pub(crate) struct StoredBlob {
    pub(crate) sha256: String,
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    /// When it was last collected.
    pub(crate) collected: SystemTime,
}

impl Blobs {
    /// Beneath `dir`, which is there. What an earlier daemon left half made goes.
    pub(crate) fn open(dir: &Path) -> io::Result<Self> {
        let blobs = Self {
            dir: dir.join("blobs"),
            staging: dir.join("staging"),
        };
        if_there(fs::remove_dir_all(&blobs.staging))?;
        for dir in [&blobs.dir, &blobs.staging] {
            create_if_missing(dir)?;
        }
        Ok(blobs)
    }

    pub(crate) fn stage(&self) -> io::Result<Staging> {
        let dir = self.staging.join(Uuid::now_v7().to_string());
        create_private_dir(&dir)?;
        Ok(Staging { dir })
    }

    /// Makes a blob of what was staged, or has the one that is there count as collected now.
    pub(crate) fn keep(&self, staged: &Path, sha256: &str, size: u64) -> io::Result<()> {
        let path = self.path(sha256)?;
        if let Some(file) = if_there(File::open(&path))?
            && file.metadata()?.len() == size
        {
            return file.set_modified(SystemTime::now());
        }
        create_if_missing(path.parent().unwrap_or(&self.dir))?;
        fs::rename(staged, path)
    }

    pub(crate) fn open_blob(&self, sha256: &str) -> io::Result<File> {
        File::open(self.path(sha256)?)
    }

    /// The same of one that has to have this size, as it does unless a crash cut it.
    pub(crate) fn open_sized(&self, sha256: &str, size: u64) -> io::Result<File> {
        let blob = self.open_blob(sha256)?;
        match blob.metadata()?.len() == size {
            true => Ok(blob),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Tells `each` of every blob.
    pub(crate) fn each(
        &self,
        mut each: impl FnMut(StoredBlob) -> io::Result<()>,
    ) -> io::Result<()> {
        for group in fs::read_dir(&self.dir)? {
            for entry in fs::read_dir(group?.path())? {
                let entry = entry?;
                let name = entry.file_name();
                let Some(sha256) = name.to_str().filter(|name| is_digest(name)) else {
                    continue;
                };
                let meta = entry.metadata()?;
                each(StoredBlob {
                    sha256: sha256.to_owned(),
                    path: entry.path(),
                    size: meta.len(),
                    collected: meta.modified()?,
                })?;
            }
        }
        Ok(())
    }

    fn path(&self, sha256: &str) -> io::Result<PathBuf> {
        if !is_digest(sha256) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(self.dir.join(&sha256[..2]).join(sha256))
    }
}

impl Staging {
    /// An empty file, and where it is.
    pub(crate) fn create(&self, n: usize) -> io::Result<(File, PathBuf)> {
        let path = self.dir.join(n.to_string());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(MODE);
        Ok((options.open(&path)?, path))
    }

    /// Has all that was staged reach the disk: a blob must not be less than its name says.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(File::open(&self.dir)?)?)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What stays goes when the next daemon starts.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn is_digest(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 64 && text.bytes().all(is_digit)
}

/// A directory that only the daemon can look into.
pub(crate) fn create_if_missing(dir: &Path) -> io::Result<()> {
    match create_private_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use branchyard_model::sha256;

    use super::*;

    #[test]
    fn the_same_content_is_kept_once_and_counts_as_collected_again() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(dir.path()).unwrap();
        let digest = sha256(b"content");
        let old = SystemTime::now() - Duration::from_secs(10_000);
        for n in 0..2 {
            let staging = blobs.stage().unwrap();
            let (mut file, path) = staging.create(n).unwrap();
            file.write_all(b"content").unwrap();
            staging.sync().unwrap();
            blobs.keep(&path, &digest, 7).unwrap();
            if n == 0 {
                blobs.open_blob(&digest).unwrap().set_modified(old).unwrap();
            }
        }
        let mut found = Vec::new();
        blobs
            .each(|blob| {
                found.push(blob);
                Ok(())
            })
            .unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((&found[0].sha256, found[0].size), (&digest, 7));
        assert!(found[0].collected > old + Duration::from_secs(5_000));
        assert_eq!(fs::read_dir(dir.path().join("staging")).unwrap().count(), 0);
        assert!(blobs.open_sized(&digest, 8).is_err());
        for name in ["", "../../etc/passwd", &"A".repeat(64), &"é".repeat(32)] {
            assert!(blobs.open_blob(name).is_err(), "{name}");
        }
    }
}
