//! Files that hold what only the daemon's user may read.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use serde::Serialize;

use super::if_there;

const FILE: u32 = 0o600;
const DIRECTORY: u32 = 0o700;

/// Makes a directory that no other user can look into.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY).create(path)
}

/// Writes a file by rename, so that a reader sees all of it or nothing; no other user can read it at any moment.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(FILE);
    let mut file = options.open(&fresh)?;
    // One that a crash left may be anyone's to read.
    file.set_permissions(Permissions::from_mode(FILE))?;
    file.write_all(bytes)?;
    fs::rename(fresh, path)
}

/// The same of a value as JSON.
pub fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write_private(path, &serde_json::to_vec(value)?)
}

/// Closes a directory, and these of its files, to other users. Returns whether the directory was open to them.
pub fn make_private(dir: &Path, files: &[&str]) -> io::Result<bool> {
    if fs::metadata(dir)?.permissions().mode() & 0o777 == DIRECTORY {
        return Ok(false);
    }
    for name in files {
        if_there(fs::set_permissions(
            dir.join(name),
            Permissions::from_mode(FILE),
        ))?;
    }
    fs::set_permissions(dir, Permissions::from_mode(DIRECTORY))?;
    Ok(true)
}
