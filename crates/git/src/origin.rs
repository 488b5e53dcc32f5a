//! An origin of our own making.

use std::path::Path;

use super::{Error, Git};
use branchyard_model::BranchName;

/// What the first commit of an empty repository says.
const FIRST: &str = "Begin";

/// Makes a bare repository at `dir`, with an empty first commit on `branch`: a branch without any could
/// not be had as a workspace.
pub async fn make_origin(git: &Git, dir: &Path, branch: &BranchName) -> Result<(), Error> {
    git.at(dir.parent().unwrap_or(dir))
        .args(["init", "--quiet", "--bare", "--template="])
        .arg(format!("--initial-branch={branch}"))
        .arg("--end-of-options")
        .arg(dir)
        .output()
        .await?;
    // Standard input is empty, and so is the tree.
    let tree = id(&git.at(dir).arg("mktree").output().await?);
    let commit = git.at(dir).args(["commit-tree", "-m", FIRST, &tree]);
    let commit = id(&commit.output().await?);
    git.at(dir)
        .args(["update-ref", &branch.local_ref(), &commit])
        .output()
        .await?;
    Ok(())
}

fn id(said: &[u8]) -> String {
    String::from_utf8_lossy(said).trim().to_owned()
}
