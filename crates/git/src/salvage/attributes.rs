//! Extended attributes that a person can set: their own, and access control lists. Others are the system's.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustix::fs::{XattrFlags, lgetxattr, llistxattr, lsetxattr};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

const KINDS: [&str; 2] = ["user.", "system.posix_acl_"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attribute {
    name: String,
    /// In base 64.
    value: String,
}

impl Attribute {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn put(&self, path: &Path) -> io::Result<()> {
        let value = BASE64_STANDARD
            .decode(&self.value)
            .map_err(io::Error::other)?;
        Ok(lsetxattr(path, &*self.name, &value, XattrFlags::empty())?)
    }
}

/// Those of the file or directory at `path`; none where the file system has none.
pub(super) fn of(path: &Path) -> io::Result<Vec<Attribute>> {
    let names = match all(|room| llistxattr(path, room)) {
        Ok(names) => names,
        // Gone by now is as good as without.
        Err(Errno::OPNOTSUPP | Errno::NOENT) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let names = names.split(|byte| *byte == 0).map(OsStr::from_bytes);
    let names = names.filter_map(OsStr::to_str);
    let mut found = Vec::new();
    for name in names.filter(|name| KINDS.iter().any(|kind| name.starts_with(kind))) {
        match all(|room| lgetxattr(path, name, room)) {
            Ok(value) => found.push(Attribute {
                name: name.to_owned(),
                value: BASE64_STANDARD.encode(value),
            }),
            Err(Errno::NODATA | Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// Asks with more and more room. Most files have none, and are asked once.
fn all(mut ask: impl FnMut(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut room = vec![0; 256];
    loop {
        match ask(&mut room) {
            Ok(len) => {
                room.truncate(len);
                return Ok(room);
            }
            // The kernel allows no more than 64 KiB of either.
            Err(Errno::RANGE) if room.len() < 1 << 20 => room.resize(room.len() * 16, 0),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_can_be_put_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        std::fs::write(&one, "").unwrap();
        std::fs::write(&other, "").unwrap();
        assert_eq!(of(&one).unwrap(), []);
        let long = vec![7; 3000];
        for (name, value) in [("user.short", &b"\0\xff"[..]), ("user.long", &long)] {
            match lsetxattr(&one, name, value, XattrFlags::empty()) {
                Err(Errno::OPNOTSUPP) => {
                    println!("skipped: no extended attributes here");
                    return;
                }
                set => set.unwrap(),
            }
        }
        let kept = of(&one).unwrap();
        assert_eq!(kept.len(), 2);
        for attribute in &kept {
            attribute.put(&other).unwrap();
        }
        assert_eq!(of(&other).unwrap(), kept);
        assert_eq!(of(&dir.path().join("none")).unwrap(), []);
    }
}
