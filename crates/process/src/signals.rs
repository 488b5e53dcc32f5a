//! Signals as descriptors that can be waited for.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use signal_hook::low_level::pipe;

/// Can be read whenever the signal came.
pub(super) fn on(signal: i32) -> io::Result<OwnedFd> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    pipe::register(signal, theirs)?;
    Ok(ours.into())
}

/// Whether it came since this was last asked.
pub(super) fn heard(signal: &OwnedFd) -> bool {
    let mut bytes = [0; 64];
    let mut any = false;
    while matches!(rustix::io::read(signal, &mut bytes), Ok(n) if n > 0) {
        any = true;
    }
    any
}
