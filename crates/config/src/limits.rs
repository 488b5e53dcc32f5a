//! `[limits]`: how much at once.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::ByteSize;
use super::config_file::Fault;
use super::count::{cores, count, many};
use super::duration::positive;

/// How much the daemon does at once, how much it takes or gives in one piece, and what one run may use. A run that goes
/// beyond is ended or throttled, and its end says why.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [limits]")]
pub struct Limits {
    /// Runs that execute at the same time, over all repos; further ones queue. Git commands have places of their own.
    #[serde(deserialize_with = "count")]
    #[schemars(extend(
        "example" = 16,
        "x-default" = "two for each core, at least 4, and no more than one for each GiB of memory"
    ))]
    pub max_concurrent_runs: usize,
    /// The same within one repo.
    #[serde(deserialize_with = "count")]
    #[schemars(extend("example" = 16, "x-default" = "as many"))]
    pub max_concurrent_runs_per_repo: usize,
    /// Workspaces whose files are written at the same time.
    #[serde(deserialize_with = "count")]
    #[schemars(extend("example" = 8, "x-default" = "the number of cores"))]
    pub max_concurrent_checkouts: usize,
    /// The most that `make -j` is given; more becomes this.
    #[serde(deserialize_with = "count")]
    #[schemars(extend("example" = 8, "x-default" = "the number of cores"))]
    pub max_jobs: usize,
    /// The largest request body.
    pub max_body: ByteSize,
    /// The largest piece of a file that one `read_file` returns.
    pub max_read: ByteSize,
    /// What is kept of a run's output: its head and its tail.
    pub max_output: ByteSize,
    /// The memory of all of a run's processes together.
    #[schemars(extend("example" = "8GiB"))]
    pub max_memory: Option<ByteSize>,
    /// A run's processes and threads. Whatever is written here, a run has at most a quarter of what the machine, the
    /// daemon's control group or its user may have, and all runs together half.
    #[serde(deserialize_with = "many")]
    #[schemars(extend("example" = 4096, "x-default" = "512 for each core, at least 1024 and at most 4096"))]
    pub max_processes: usize,
    /// The files that each process of a run may have open.
    #[serde(deserialize_with = "many")]
    #[schemars(extend("example" = 65536, "x-default" = "as many as the daemon"))]
    pub max_open_files: Option<usize>,
    /// Connections of callers with a credential that are open at the same time. When all are taken the one that was idle
    /// for longest is closed for the next; where all are at work the answer is 503. Connections that have not shown a
    /// credential have a quarter as many places besides: the oldest is closed for the next, and each after 10s without a
    /// request.
    #[serde(deserialize_with = "count")]
    pub max_connections: usize,
    /// The same from one address; the Unix socket counts as one, and so does a proxy in front of the daemon.
    #[serde(deserialize_with = "count")]
    pub max_connections_per_address: usize,
    /// The largest head of a request: its first line and all of its headers.
    pub max_header: ByteSize,
    /// Requests without a good credential, from one address in a minute; further ones are told 429.
    #[serde(deserialize_with = "many")]
    pub max_failures_per_minute: usize,
    /// Requests of one principal, with those whom it made tokens for, in a second and in the long run. Beyond this and the
    /// other limits of a principal the answer is 429.
    #[serde(deserialize_with = "many")]
    pub max_requests_per_second: usize,
    /// How many of them may come at once after a quiet time.
    #[serde(deserialize_with = "many")]
    pub max_request_burst: usize,
    /// Requests of one principal that are being answered, streams aside.
    #[serde(deserialize_with = "many")]
    pub max_concurrent_requests_per_principal: usize,
    /// Streams of one principal that are open.
    #[serde(deserialize_with = "many")]
    pub max_streams_per_principal: usize,
    /// Runs of one principal that wait to be started.
    #[serde(deserialize_with = "many")]
    pub max_queued_runs_per_principal: usize,
    /// Runs of one principal that go on in the background.
    #[serde(deserialize_with = "many")]
    pub max_background_runs_per_principal: usize,
    /// Runs of one principal, with those whom it made tokens for, that are started in a day; days begin at midnight UTC. Git
    /// commands do not count.
    #[serde(deserialize_with = "many")]
    #[schemars(extend("example" = 1000))]
    pub max_runs_per_day_per_principal: Option<usize>,
    /// The same for one workspace, by all principals.
    #[serde(deserialize_with = "many")]
    #[schemars(extend("example" = 500))]
    pub max_runs_per_day_per_workspace: Option<usize>,
    /// Processor time that all runs of one principal take in a day. When it is used up they are ended.
    #[serde(deserialize_with = "positive")]
    #[schemars(extend("example" = "10h"))]
    pub max_cpu_per_day_per_principal: Option<Duration>,
    /// The same for one workspace, by all principals.
    #[serde(deserialize_with = "positive")]
    #[schemars(extend("example" = "2h"))]
    pub max_cpu_per_day_per_workspace: Option<Duration>,
    /// What one workspace may take of the disk, with its code environments. Beyond it, its runs are ended, and
    /// changes that make a file larger are refused.
    #[schemars(extend("example" = "20GB"))]
    pub max_disk_per_workspace: Option<ByteSize>,
}

/// No client's head is smaller than what this leaves room for: a path, a key, the usual headers.
const LEAST_HEADER: ByteSize = ByteSize::kib(4);
/// More would be kept in memory for each connection, by whoever asks for it.
const MOST_HEADER: ByteSize = ByteSize::mib(1);

impl Limits {
    /// What the type of a key alone cannot say.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if (LEAST_HEADER..=MOST_HEADER).contains(&self.max_header) {
            return Ok(());
        }
        let message = format!(
            "{} is no size for the head of a request; expected {LEAST_HEADER} to {MOST_HEADER}",
            self.max_header
        );
        Err(Fault::new(&["limits", "max_header"], message))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_concurrent_runs: runs_at_once(cores(), memory()),
            max_concurrent_runs_per_repo: usize::MAX,
            max_concurrent_checkouts: cores(),
            max_jobs: cores(),
            max_body: ByteSize::mib(1),
            max_read: ByteSize::mib(1),
            max_output: ByteSize::gib(1),
            max_memory: None,
            max_processes: (512 * cores()).clamp(1024, 4096),
            max_open_files: None,
            max_connections: 16_384,
            max_connections_per_address: 8192,
            max_header: ByteSize::kib(64),
            max_failures_per_minute: 1000,
            max_requests_per_second: 500,
            max_request_burst: 5000,
            max_concurrent_requests_per_principal: 1024,
            max_streams_per_principal: 512,
            max_queued_runs_per_principal: 10_000,
            max_background_runs_per_principal: 32,
            max_runs_per_day_per_principal: None,
            max_runs_per_day_per_workspace: None,
            max_cpu_per_day_per_principal: None,
            max_cpu_per_day_per_workspace: None,
            max_disk_per_workspace: None,
        }
    }
}

/// Two for each core, for while one waits for its disk the other computes; and no more than memory holds at a
/// gigabyte for each.
fn runs_at_once(cores: usize, memory: ByteSize) -> usize {
    let held = usize::try_from(memory.as_u64() >> 30).unwrap_or(usize::MAX);
    (2 * cores).max(4).min(held.max(2))
}

/// The machine's.
fn memory() -> ByteSize {
    let info = rustix::system::sysinfo();
    ByteSize::bytes(info.totalram * u64::from(info.mem_unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_at_once_follow_cores_and_memory() {
        for (cores, gib, runs) in [(1, 1, 2), (1, 8, 4), (2, 24, 4), (8, 64, 16), (64, 32, 32)] {
            assert_eq!(
                runs_at_once(cores, ByteSize::gib(gib)),
                runs,
                "{cores} {gib}"
            );
        }
    }
}
