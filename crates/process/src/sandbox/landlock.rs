//! Landlock: a second lock on what mounts already lock, and the only one on what they do not reach. With
//! the network on, a build shares the abstract sockets of the machine (a session bus, an X server) unless
//! the kernel keeps them apart.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, LandlockStatus, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

/// The newest rights over files that are asked for; a kernel that knows less gives less.
const FILES: ABI = ABI::V5;
/// The first version that keeps abstract sockets and signals apart.
pub(super) const SCOPES_SINCE: u32 = 6;

/// From now on this process and its children change files below `writable` only, and reach no abstract
/// socket and no process of others. Returns the version that did it; `None` where the kernel has none
/// that helps.
pub(super) fn restrict(writable: &[PathBuf]) -> io::Result<Option<u32>> {
    let status = restrict_self(writable).map_err(io::Error::other)?;
    Ok(match status.landlock {
        LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        } => {
            let of_kernel = kernel_abi.and_then(|abi| u32::try_from(abi).ok());
            of_kernel.or(Some(effective_abi as u32))
        }
        _ => None,
    })
}

fn restrict_self(writable: &[PathBuf]) -> Result<RestrictionStatus, RulesetError> {
    // The first version forbids every move from one directory to another: it is better without.
    Ruleset::default()
        .set_compatibility(CompatLevel::SoftRequirement)
        .handle_access(AccessFs::Refer)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(FILES))?
        .scope(Scope::AbstractUnixSocket)?
        .scope(Scope::Signal)?
        .create()?
        .add_rules(path_beneath_rules(writable, AccessFs::from_write(FILES)))?
        .restrict_self()
}
