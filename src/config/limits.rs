//! `[limits]`: how much at once.

use serde::Deserialize;

use super::ByteSize;
use super::count::{cores, count, many, optional_many};

/// How much the daemon does at once and how much it takes or gives in one piece.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section [limits]")]
pub struct Limits {
    /// Runs that execute at the same time, over all repos; further ones queue. Default 16.
    #[serde(deserialize_with = "count")]
    pub max_concurrent_runs: usize,
    /// The same within one repo. Default 16.
    #[serde(deserialize_with = "count")]
    pub max_concurrent_runs_per_repo: usize,
    /// Workspaces whose files are written at the same time. Default: the number of cores.
    #[serde(deserialize_with = "count")]
    pub max_concurrent_checkouts: usize,
    /// The most that `make -j` is given; more, or none named, becomes this. Default: the number of cores.
    #[serde(deserialize_with = "count")]
    pub max_jobs: usize,
    /// The largest request body. Default `1MiB`.
    pub max_body: ByteSize,
    /// The largest piece of a file that one `read_file` returns. Default `1MiB`.
    pub max_read: ByteSize,
    /// What is kept of a run's output: its head and its tail. Default `1GiB`.
    pub max_output: ByteSize,
    /// The memory of all of a run's processes together. Default: none.
    pub max_memory: Option<ByteSize>,
    /// How many processes and threads a run may have. Default 4096.
    #[serde(deserialize_with = "many")]
    pub max_processes: usize,
    /// How many files one process of a run may have open. Default: as the daemon.
    #[serde(deserialize_with = "optional_many")]
    pub max_open_files: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_concurrent_runs: 16,
            max_concurrent_runs_per_repo: 16,
            max_concurrent_checkouts: cores(),
            max_jobs: cores(),
            max_body: ByteSize::mib(1),
            max_read: ByteSize::mib(1),
            max_output: ByteSize::gib(1),
            max_memory: None,
            max_processes: 4096,
            max_open_files: None,
        }
    }
}
