//! The files that sets are in: one directory per owner, one file per set.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use branchyard_runtime::disk::{if_there, read_json, write_json};
use parking_lot::Mutex;

use crate::blobs::create_if_missing;
use crate::error::ArtifactError;
use crate::name::file_name;
use crate::set::{ArtifactSet, SetOwner};

const ENDING: &str = "json";
/// Of one that cannot be read.
const DAMAGED: &str = "damaged";

#[derive(Debug)]
pub(crate) struct SetFiles {
    dir: PathBuf,
    /// Held while it is decided whether a set may be written, and that is done.
    writing: Mutex<()>,
}

impl SetFiles {
    pub(crate) fn open(dir: PathBuf) -> io::Result<Self> {
        create_if_missing(&dir)?;
        Ok(Self {
            dir,
            writing: Mutex::default(),
        })
    }

    pub(crate) fn read(&self, owner: &SetOwner, name: &str) -> Option<ArtifactSet> {
        let path = self.of(owner).join(file_name(name));
        let set: Option<ArtifactSet> = read_json(&path)
            .inspect_err(
                |error| tracing::warn!(path = %path.display(), %error, "a set cannot be read"),
            )
            .ok()?;
        set.filter(|set| set.name == name)
    }

    /// The sets of an owner by name.
    pub(crate) fn list(&self, owner: &SetOwner) -> io::Result<Vec<ArtifactSet>> {
        let mut sets = Vec::new();
        for path in set_files(&self.of(owner))? {
            match read_json(&path) {
                Ok(set) => sets.extend(set),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a set cannot be read");
                }
            }
        }
        sets.sort_by(|a: &ArtifactSet, b| a.name.cmp(&b.name));
        Ok(sets)
    }

    pub(crate) fn write(&self, set: &ArtifactSet, replaces: bool) -> Result<(), ArtifactError> {
        let _writing = self.writing.lock();
        let dir = self.of(&set.owner);
        let path = dir.join(file_name(&set.name));
        // One that is damaged is none.
        if !replaces && self.read(&set.owner, &set.name).is_some() {
            let name = set.name.clone();
            return Err(ArtifactError::Exists { name });
        }
        let written = create_if_missing(&dir).and_then(|()| write_json(&path, set));
        written.map_err(ArtifactError::io("write the set of an artifact"))
    }

    pub(crate) fn remove_owner(&self, owner: &SetOwner) -> io::Result<()> {
        let _writing = self.writing.lock();
        if_there(fs::remove_dir_all(self.of(owner))).map(drop)
    }

    /// Tells `each` of every set and its file. One that no daemon can read is put aside under another name.
    pub(crate) fn each(
        &self,
        mut each: impl FnMut(&Path, ArtifactSet) -> io::Result<()>,
    ) -> io::Result<()> {
        for owner in fs::read_dir(&self.dir)? {
            for path in set_files(&owner?.path())? {
                match read_json(&path) {
                    Ok(Some(set)) => each(&path, set)?,
                    Ok(None) => {}
                    Err(error) if is_of_content(&error) => {
                        let aside = path.with_added_extension(DAMAGED);
                        tracing::error!(path = %path.display(), aside = %aside.display(), %error, "a set of an artifact is damaged; its files are not kept");
                        fs::rename(&path, aside)?;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Removes the file of a set, and the directory of its owner with the last one.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        let _writing = self.writing.lock();
        if_there(fs::remove_file(path))?;
        // It fails while there are others.
        let _ = path.parent().map(fs::remove_dir);
        Ok(())
    }

    fn of(&self, owner: &SetOwner) -> PathBuf {
        self.dir.join(owner.to_string())
    }
}

fn set_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(entries) = if_there(fs::read_dir(dir))? else {
        return Ok(Vec::new());
    };
    let paths: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    Ok(paths)
}

/// Whether it is not the disk that failed.
fn is_of_content(error: &io::Error) -> bool {
    error.raw_os_error().is_none()
}
