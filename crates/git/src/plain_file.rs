//! Reading files that a build may have replaced. A FIFO, a socket or a device in the place of a file would block
//! the thread that opens it by name, or never end; a sparse file of any length costs a build nothing.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Opens without waiting for a writer, and without following a link at the last name.
pub(crate) const WITHOUT_WAITING: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens the regular file at `path`; `None` where there is something else, or nothing.
pub(crate) fn open_plain(path: &Path) -> io::Result<Option<File>> {
    match rustix::fs::open(path, WITHOUT_WAITING, Mode::empty()) {
        Ok(file) => regular(file.into()),
        // A link, a socket, a device without a driver.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::NODEV) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// The content of the regular file at `path`, if it has at most `most` bytes.
pub fn read_plain(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    match open_plain(path)? {
        Some(file) => read_whole(file, most),
        None => Ok(None),
    }
}

/// `None` where it is no regular file.
pub(crate) fn regular(file: File) -> io::Result<Option<File>> {
    Ok(file.metadata()?.is_file().then_some(file))
}

/// `None` where there is more. A file may grow while it is read.
pub(crate) fn read_whole(file: File, most: u64) -> io::Result<Option<Vec<u8>>> {
    if file.metadata()?.len() > most {
        return Ok(None);
    }
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= most).then_some(content))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        fs::create_dir(at("directory")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RWXU).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        let sparse = File::create(at("sparse")).unwrap();
        sparse.set_len(10 << 30).unwrap();
        assert_eq!(read_plain(&at("file"), 4).unwrap().unwrap(), b"text");
        for name in [
            "link",
            "loop",
            "directory",
            "pipe",
            "socket",
            "sparse",
            "none",
            "file/below",
        ] {
            assert_eq!(read_plain(&at(name), 1 << 20).unwrap(), None, "{name}");
        }
        assert_eq!(read_plain(&at("file"), 3).unwrap(), None);
    }
}
