//! What a build is kept from. bwrap makes the walls: namespaces, and a file system of what the build is
//! shown; inside, this program once more as [`init_main`] puts landlock and seccomp on top, and starts the
//! command. The daemon decides all of it and tells the supervisor ([`Sandbox`]); what the machine has to
//! offer was tried at start ([`Containment`]).

mod bubblewrap;
mod confine;
mod egress;
mod host_inodes;
mod init;
mod landlock;
mod link;
mod orders;
mod plan;
mod probe;
mod start;
mod syscalls;
mod system;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use branchyard_config::Destination;
use branchyard_model::SandboxProfile;

pub use confine::{Confinement, Mount};
pub use init::{INIT_COMMAND, init_main};
pub(super) use link::Link;
pub use probe::{Containment, Mechanism};
pub(super) use start::enter;

/// Where contained commands have their temporary files.
pub const SANDBOX_TMP: &str = "/tmp";

/// The walls around one command, as its supervisor is to put them up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sandbox {
    profile: SandboxProfile,
    /// bwrap.
    program: PathBuf,
    options: Vec<String>,
    /// Where files may be changed.
    writable: Vec<PathBuf>,
    /// Where the command starts, by its real name.
    cwd: PathBuf,
    home: PathBuf,
    /// Where it may connect to, where that is bounded.
    #[serde(default)]
    network: Option<Vec<Destination>>,
}

impl Sandbox {
    pub fn profile(&self) -> SandboxProfile {
        self.profile
    }

    /// What the command's environment has besides, so that its programs find the way out.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let proxy = self.network.as_ref().map(|_| egress::variables());
        proxy.into_iter().flatten()
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// The private home, which is to be the command's `HOME`.
    pub fn home(&self) -> &Path {
        &self.home
    }
}

/// What commands of one job leave to each other: directories of the disk in place of the private ones, and one name for
/// the worktree, whichever of several it is.
#[derive(Debug, Clone, Copy)]
pub struct KeptWorktree<'a> {
    pub home: &'a Path,
    pub tmp: &'a Path,
    /// The worktree, and where it is found inside. `cwd` is within that.
    pub worktree: (&'a Path, &'a Path),
}

/// What one run is shown besides the system.
#[derive(Debug)]
pub struct Shown<'a> {
    /// All of the yard, of which only this much is shown.
    pub workspaces: &'a Path,
    pub of_yard: &'a [Mount],
    /// Where the command starts.
    pub cwd: &'a Path,
    /// The daemon's home, in whose place there is a private one.
    pub home: Option<&'a Path>,
    pub read_only: &'a [PathBuf],
    pub writable: &'a [PathBuf],
    /// Not to be seen wherever they are.
    pub secret_files: &'a [PathBuf],
    /// Where the command may connect to; as the profile says, if left out.
    pub network: Option<&'a [Destination]>,
    /// Of each private directory, in bytes.
    pub tmp_size: u64,
    pub kept: Option<KeptWorktree<'a>>,
}
