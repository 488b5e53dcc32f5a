//! Descriptors that a child is given.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use command_fds::FdMapping;
use rustix::fs::{MemfdFlags, memfd_create};

/// Content in memory, to be read from its start.
pub(super) fn memory(content: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = File::from(memfd_create("branchyard", flags)?);
    memory.write_all_at(content, 0)?;
    Ok(memory.into())
}

/// Each under the number that the child knows it by.
pub(super) fn numbered(descriptors: Vec<(OwnedFd, i32)>) -> Vec<FdMapping> {
    let descriptors = descriptors.into_iter();
    descriptors
        .map(|(parent_fd, child_fd)| FdMapping {
            parent_fd,
            child_fd,
        })
        .collect()
}
