//! The Unix socket: for the daemon's own user alone, and gone when the daemon is.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rustix::fs::{Mode, fchmod};
use tokio::net::{UnixListener, UnixSocket};

const BACKLOG: u32 = 1024;
/// Who may write to a directory besides its owner.
const OTHERS_WRITE: u32 = 0o022;
/// In such a directory nobody moves or deletes what is another's.
const STICKY: u32 = 0o1000;

/// A socket that we listen on. Its file is removed when it goes, unless another has its place by then.
#[derive(Debug)]
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    file: (u64, u64),
}

impl Socket {
    pub(super) fn bind(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        check_directory(path)?;
        make_way(path).with_context(|| format!("socket: cannot listen on {shown}"))?;
        let listen = || -> io::Result<_> {
            let socket = UnixSocket::new_stream()?;
            // The file has the mode of the socket from the moment it is there.
            fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
            socket.bind(path)?;
            let file = fs::symlink_metadata(path)?;
            Ok((socket.listen(BACKLOG)?, (file.dev(), file.ino())))
        };
        let (listener, file) =
            listen().with_context(|| format!("socket: failed to listen on {shown}"))?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            file,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|file| (file.dev(), file.ino()) == self.file);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(socket = %self.path.display(), %error, "failed to remove the socket");
        }
    }
}

/// Whoever can replace the file could listen in our place, and would be told the key.
fn check_directory(path: &Path) -> anyhow::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let shown = dir.display();
    let data =
        fs::metadata(dir).with_context(|| format!("socket: there is no directory {shown}"))?;
    let (owner, we) = (data.uid(), rustix::process::geteuid().as_raw());
    ensure!(
        owner == we || owner == 0,
        "socket: {shown} belongs to user {owner}, who could put another socket there"
    );
    let mode = data.mode();
    ensure!(
        mode & OTHERS_WRITE == 0 || mode & STICKY != 0,
        "socket: others may write to {shown}, and could put another socket there: chmod go-w {shown}"
    );
    Ok(())
}

/// Removes what an earlier daemon left, and nothing else.
fn make_way(path: &Path) -> anyhow::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
        Ok(found) if !found.file_type().is_socket() => bail!("something else is there"),
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => bail!("somebody listens there already"),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Ok(fs::remove_file(path)?)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn refusal(path: &Path) -> String {
        format!("{:#}", Socket::bind(path).unwrap_err())
    }

    #[tokio::test]
    async fn only_what_nobody_uses_is_replaced_and_only_our_own_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let socket = Socket::bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(refusal(&path).contains("somebody listens"));
        drop(socket);
        assert!(!path.exists());

        // What a killed daemon leaves.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let socket = Socket::bind(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "another's").unwrap();
        drop(socket);
        assert!(refusal(&path).contains("something else"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "another's");
    }

    #[tokio::test]
    async fn a_directory_that_others_may_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        for (mode, is_good) in [
            (0o777, false),
            (0o770, false),
            (0o1777, true),
            (0o755, true),
        ] {
            fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(Socket::bind(&path).is_ok(), is_good, "{mode:o}");
        }
        assert!(refusal(&dir.path().join("none/s")).contains("no directory"));
    }
}
