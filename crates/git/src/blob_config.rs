//! Files in git's configuration syntax that a commit has, such as `.gitmodules`. A branch wrote them.

use std::path::Path;
use std::time::Duration;

use git2::Oid;

use super::{Error, Git};

const PATIENCE: Duration = Duration::from_secs(30);

/// The settings in a blob, in its order and each as `key\nvalue\0`. No repository's own configuration can reach it, and it
/// includes no other file.
pub(super) async fn settings_in(git: &Git, store: &Path, blob: Oid) -> Result<Vec<u8>, Error> {
    git.at(store)
        .args(["config", "--no-includes", "--null", "--list", "--blob"])
        .arg(blob.to_string())
        .read_only(PATIENCE)
        .output()
        .await
}
