//! A build of a root daemon is root as well, and an owner changes mode, owner and attributes of a file without any
//! capability. The devices that a build is shown are the host's own inodes, so their mounts are made read-only: that
//! refuses such changes, and a device can still be written to.
//!
//! bwrap cannot do it: its `--remount-ro` also adds `nodev`, and then no device opens. So it leaves init two
//! capabilities, which init gives up again before there is anything else inside.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount_remount};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// What bwrap leaves to the init of a root daemon: to remount, and to empty its bounding set.
pub(super) const LEFT_TO_INIT: [&str; 2] = ["CAP_SYS_ADMIN", "CAP_SETPCAP"];

/// Makes the mount of each device read-only.
pub(super) fn protect_devices() -> io::Result<()> {
    for entry in fs::read_dir("/dev")? {
        let device = entry?.path();
        // The directory itself tells of what the mount covers.
        let kind = fs::symlink_metadata(&device)?.file_type();
        if !kind.is_char_device() && !kind.is_block_device() {
            continue;
        }
        let has = statvfs(&device)?.f_flag;
        let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
        if has.contains(StatVfsMountFlags::NOEXEC) {
            // A user namespace may not take away what the host has set.
            flags |= MountFlags::NOEXEC;
        }
        mount_remount(&device, flags, "")?;
    }
    Ok(())
}

/// From now on neither this process nor a program that it starts has any capability.
pub(super) fn drop_capabilities() -> io::Result<()> {
    for number in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            // The kernel knows no more of them.
            Err(Errno::INVAL) => break,
            removed => removed?,
        }
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    Ok(set_capabilities(None, sets)?)
}
