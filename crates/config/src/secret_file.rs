//! Files that hold a secret: for their owner's eyes only, and small.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// What is in the file, up to a byte beyond `max_bytes`, or the rule that it breaks. `what` is what
/// ought to be in it.
pub(super) fn read(path: &Path, max_bytes: usize, what: &str) -> Result<String, String> {
    let (file, _) = open(path, what)?;
    let mut text = String::new();
    file.take(max_bytes as u64 + 1)
        .read_to_string(&mut text)
        .map_err(|error| failed(path, &error))?;
    Ok(text)
}

/// The same of a file that holds no secret, and may be open to all.
pub(super) fn read_public(path: &Path, max_bytes: usize) -> Result<String, String> {
    let failed = |error| failed(path, &error);
    // Before it is opened: a pipe without a writer would be waited for.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    let file = File::open(path).map_err(failed)?;
    let mut text = String::new();
    let read = file.take(max_bytes as u64 + 1).read_to_string(&mut text);
    match read.map_err(failed)? > max_bytes {
        true => Err(format!("{} is too large", path.display())),
        false => Ok(text),
    }
}

/// As [`read`], and the file must be the daemon's own: another who owns it can change it at any time.
pub(super) fn read_own(path: &Path, max_bytes: usize, what: &str) -> Result<String, String> {
    check_own(path, what)?;
    read(path, max_bytes, what)
}

/// Whether the file is there, the daemon's own, and closed to everyone else.
pub(super) fn check_own(path: &Path, what: &str) -> Result<(), String> {
    let (_, metadata) = open(path, what)?;
    let (owner, we) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != we {
        let shown = path.display();
        return Err(format!(
            "{shown} belongs to user {owner}, and the daemon runs as {we}: chown {we} {shown}"
        ));
    }
    Ok(())
}

fn open(path: &Path, what: &str) -> Result<(File, Metadata), String> {
    let shown = path.display();
    // A pipe without a writer would be waited for.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(|error| failed(path, &error))?;
    // Of the open file, so that it is the one that is read.
    let metadata = file.metadata().map_err(|error| failed(path, &error))?;
    if metadata.is_dir() {
        return Err(format!("{shown} is a directory, not a file with {what}"));
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(format!(
            "{shown} is open to others than its owner (mode {mode:03o}): chmod 600 {shown}"
        ));
    }
    Ok((file, metadata))
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("failed to read {}: {error}", path.display())
}
