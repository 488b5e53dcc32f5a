//! `[sandbox]` and `[repos.NAME.sandbox]`: what builds are kept from, and what they are shown all the same.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ByteSize, Destination};
use branchyard_model::SandboxProfile;

/// What builds are kept from, and what they are shown all the same.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [sandbox]")]
pub struct SandboxConfig {
    /// "standard": of the yard builds see their own worktree, to change, and the repo's history, to read; of the machine its
    /// programs, a /tmp, a home and processes of their own, and the network. "strict": no network and no terminals either.
    /// "none": a build may do all that the daemon's user may. A profile that stands here is that or no run.
    #[schemars(extend(
        "example" = "standard",
        "x-default" = "\"standard\" where the machine allows it (`branchyard doctor` tells), else \"none\""
    ))]
    pub profile: Option<SandboxProfile>,
    /// Where builds may connect to, and nowhere else: hosts and ports, `*.` before a name for all below it. They do so by a
    /// proxy that programs find in `https_proxy` and `http_proxy`. An empty list is no network. Where this cannot be held, no
    /// build is run.
    #[schemars(extend("example" = ["index.crates.io:443", "*.crates.io:443"], "x-default" = "what the profile says"))]
    pub network: Option<Vec<Destination>>,
    /// What else builds may read, at the same path: an absolute one, or one that starts with ~/.
    pub binds_read_only: Vec<PathBuf>,
    /// What else builds may read and change, at the same path. It is shared by all builds that it is bound for: caches such
    /// as ~/.cargo or ~/.ccache.
    pub binds_writable: Vec<PathBuf>,
    /// The most that each of a run's /tmp, home and /dev/shm may hold. They are in memory, and count as such.
    pub tmp_size: ByteSize,
}

/// What the builds of this repo are kept from, in place of `sandbox.profile`, and what they are shown besides the binds of
/// `[sandbox]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a section [repos.NAME.sandbox]"
)]
pub struct RepoSandbox {
    /// As in `[sandbox]`.
    #[schemars(extend("example" = "standard", "x-default" = "that of `[sandbox]`"))]
    pub profile: Option<SandboxProfile>,
    /// Where they may connect to, in place of `sandbox.network`.
    #[schemars(extend("example" = ["index.crates.io:443"], "x-default" = "that of `[sandbox]`"))]
    pub network: Option<Vec<Destination>>,
    /// What else they may read.
    pub binds_read_only: Vec<PathBuf>,
    /// What else they may read and change.
    pub binds_writable: Vec<PathBuf>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            profile: None,
            network: None,
            binds_read_only: Vec::new(),
            binds_writable: Vec::new(),
            tmp_size: ByteSize::gib(1),
        }
    }
}
