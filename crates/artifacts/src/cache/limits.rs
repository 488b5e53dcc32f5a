//! How much of caches is kept.

/// How much is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheLimits {
    /// Of one entry.
    pub max_size: u64,
    /// Of one entry: files, links and directories.
    pub max_files: usize,
    /// Of all together.
    pub max_bytes: u64,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            max_size: 10 << 30,
            max_files: 2_000_000,
            max_bytes: 50 << 30,
        }
    }
}
