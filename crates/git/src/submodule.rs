//! Where the registration of a submodule is: in that of the worktree that has it, as git itself puts it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use branchyard_model::sha256;

/// The directory of all of them.
pub(super) const SUBMODULES: &str = "modules";

/// Of the submodule at `path`, in the registration of the worktree. A path is no name of a directory; its digest is.
pub(super) fn submodule_registration(path: &Path) -> PathBuf {
    Path::new(SUBMODULES).join(&sha256(path.as_os_str().as_bytes())[..32])
}
