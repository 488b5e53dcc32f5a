//! `[sandbox]` and `[repos.NAME.sandbox]`: what builds are kept from, and what they are shown all the same.

use std::path::PathBuf;

use serde::Deserialize;

use super::ByteSize;
use branchyard_model::SandboxProfile;

/// What holds for the builds of all repos.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section [sandbox]")]
pub struct SandboxConfig {
    /// The profile. Who names one gets that or no run. Default: `standard` where the machine allows it,
    /// else `none`.
    pub profile: Option<SandboxProfile>,
    /// What else builds may read, at the same path. Default nothing.
    pub binds_read_only: Vec<PathBuf>,
    /// What else builds may read and change, at the same path: caches, shared by design. Default nothing.
    pub binds_writable: Vec<PathBuf>,
    /// The most that each of a run's private `/tmp`, home and `/dev/shm` may hold. Default `1GiB`.
    pub tmp_size: ByteSize,
}

/// What holds for the builds of one repo.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a section [repos.NAME.sandbox]"
)]
pub struct RepoSandbox {
    /// The profile. Default: that of `[sandbox]`.
    pub profile: Option<SandboxProfile>,
    /// What else they may read, besides that of `[sandbox]`. Default nothing.
    pub binds_read_only: Vec<PathBuf>,
    /// What else they may read and change, besides that of `[sandbox]`. Default nothing.
    pub binds_writable: Vec<PathBuf>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            profile: None,
            binds_read_only: Vec::new(),
            binds_writable: Vec::new(),
            tmp_size: ByteSize::gib(1),
        }
    }
}
