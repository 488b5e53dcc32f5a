//! A named set of files that a job left behind.

use std::fmt;

use branchyard_model::{PipelineId, RunId, sha256};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose a set is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SetOwner {
    Pipeline(PipelineId),
    Run(RunId),
}

/// What an artifact without a name is called, as on GitHub.
pub const UNNAMED: &str = "artifact";

/// A named set of files. What is in it never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactSet {
    pub name: String,
    #[serde(flatten)]
    pub owner: SetOwner,
    /// The job that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    pub attempt: u32,
    /// By path.
    pub files: Vec<ArtifactFile>,
    pub bytes: u64,
    pub created_at: Timestamp,
    /// Without it, the set stays until its owner goes.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// The digest of the listing: two sets with the same files have the same.
    pub digest: String,
    /// Where the files were made, if that was for another owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused_from: Option<SetOwner>,
}

/// A file of a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactFile {
    /// Relative, with slashes.
    pub path: String,
    pub size: u64,
    /// 0o755 of a file that its owner may execute, else 0o644.
    pub mode: u32,
    pub sha256: String,
}

impl ArtifactFile {
    pub(crate) const PLAIN: u32 = 0o644;
    pub(crate) const EXECUTABLE: u32 = 0o755;
}

/// The name of its directory.
impl From<PipelineId> for SetOwner {
    fn from(id: PipelineId) -> Self {
        Self::Pipeline(id)
    }
}

impl From<RunId> for SetOwner {
    fn from(id: RunId) -> Self {
        Self::Run(id)
    }
}

impl fmt::Display for SetOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pipeline(id) => id.fmt(f),
            Self::Run(id) => id.fmt(f),
        }
    }
}

/// The digest of files that are sorted by path. A path has no line break in it.
pub(crate) fn digest_of(files: &[ArtifactFile]) -> String {
    let lines = files.iter().map(|file| {
        let ArtifactFile {
            path,
            size,
            mode,
            sha256,
        } = file;
        format!("{mode:o} {size} {sha256} {path}\n")
    });
    sha256(lines.collect::<String>().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_names_its_owner_beside_its_other_fields() {
        let owner = SetOwner::Pipeline(PipelineId::new());
        let set = ArtifactSet {
            name: "log".into(),
            owner,
            job: Some("test".into()),
            attempt: 1,
            files: Vec::new(),
            bytes: 0,
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            digest: digest_of(&[]),
            reused_from: None,
        };
        let json = serde_json::to_value(&set).unwrap();
        assert_eq!(json["pipeline"], owner.to_string());
        assert_eq!(serde_json::from_value::<ArtifactSet>(json).unwrap(), set);
        let schema = serde_json::to_string(&schemars::schema_for!(ArtifactSet)).unwrap();
        assert!(schema.contains("pipeline") && schema.contains("sha256"));
    }
}
