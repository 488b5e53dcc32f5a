//! `[artifacts]` and `[caches]`: what is kept of the files that jobs make.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::ByteSize;
use super::count::many;
use super::duration::positive;

/// What is kept of the artifacts of pipelines. The oldest go first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [artifacts]")]
pub struct ArtifactsConfig {
    /// The size of all artifacts of one job.
    pub max_size: ByteSize,
    /// The files of one artifact.
    #[serde(deserialize_with = "many")]
    pub max_files: usize,
    /// How long an artifact is kept; `retention-days` of a step shortens that.
    #[serde(deserialize_with = "positive")]
    pub keep: Duration,
    /// How much all artifacts may take together.
    pub max_bytes: ByteSize,
}

impl Default for ArtifactsConfig {
    fn default() -> Self {
        Self {
            max_size: ByteSize::gib(2),
            max_files: 10_000,
            keep: Duration::from_secs(30 * 24 * 60 * 60),
            max_bytes: ByteSize::gib(50),
        }
    }
}

/// What is kept of the caches of pipelines. Those that were not used for longest go first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [caches]")]
pub struct CachesConfig {
    /// The size of one cache.
    pub max_size: ByteSize,
    /// Its files, links and directories.
    #[serde(deserialize_with = "many")]
    pub max_files: usize,
    /// How much all caches may take together.
    pub max_bytes: ByteSize,
}

impl Default for CachesConfig {
    fn default() -> Self {
        Self {
            max_size: ByteSize::gib(10),
            max_files: 2_000_000,
            max_bytes: ByteSize::gib(50),
        }
    }
}
