//! Keeping a store small and quick. Nothing is ever dropped: what no ref leads to may be the only copy of
//! somebody's index, of a commit that was amended away, or of what was set aside, and costs little.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Error, Git, Store};

/// As git itself counts: one of the 256 directories stands for all.
const SAMPLE: &str = "objects/17";
const SAMPLED: usize = 256;
/// Where git would tidy up by itself.
const MANY_LOOSE: usize = 6700;
const MANY_PACKS: usize = 50;

/// How a store's objects are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Upkeep {
    /// Objects in files of their own, about.
    pub loose: usize,
    pub packs: usize,
}

impl Upkeep {
    pub fn of(store: &Store) -> Self {
        let count = |dir: &Path, ending: &str| {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            entries
                .filter(|entry| entry.file_name().to_string_lossy().ends_with(ending))
                .count()
        };
        Self {
            loose: count(&store.path().join(SAMPLE), "") * SAMPLED,
            packs: count(&store.path().join("objects/pack"), ".pack"),
        }
    }

    pub fn is_due(self) -> bool {
        self.loose > MANY_LOOSE || self.packs > MANY_PACKS
    }
}

/// Packs all objects into one file, unreachable ones included, and notes the shape of history beside it. It
/// takes no lock that anybody waits for, and may run beside everything but an exchange of the objects.
pub async fn maintain(git: &Git, store: &Store) -> Result<(), Error> {
    git.at(store.path())
        .args([
            "repack",
            "-q",
            "-a",
            "-d",
            "-k",
            "-l",
            "--no-write-bitmap-index",
        ])
        .at_leisure()
        .output()
        .await?;
    // With the paths that each commit changed, the log of a file takes a fraction of the time.
    git.at(store.path())
        .args(["commit-graph", "write", "--reachable", "--no-progress"])
        .arg("--changed-paths")
        .at_leisure()
        .output()
        .await?;
    Ok(())
}
