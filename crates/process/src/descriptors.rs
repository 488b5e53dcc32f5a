//! Descriptors that a child is given.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use command_fds::{CommandFdExt, FdMapping};
use rustix::fs::{MemfdFlags, memfd_create};

/// Content in memory, to be read from its start.
pub(super) fn memory(content: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = File::from(memfd_create("branchyard", flags)?);
    memory.write_all_at(content, 0)?;
    Ok(memory.into())
}

/// Gives descriptors to the process that `command` is going to be, each under the number that it knows it by.
pub(super) fn give(
    command: &mut impl CommandFdExt,
    descriptors: Vec<(OwnedFd, i32)>,
) -> io::Result<()> {
    let numbered = descriptors
        .into_iter()
        .map(|(parent_fd, child_fd)| FdMapping {
            parent_fd,
            child_fd,
        });
    let given = command.fd_mappings(numbered.collect());
    given.map(drop).map_err(io::Error::other)
}
