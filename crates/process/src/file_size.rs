//! A limit on the size of files (`ulimit -f`) that this process was given.

use std::io;
use std::sync::Arc;

use rustix::process::{Resource, getrlimit};
use signal_hook::consts::SIGXFSZ;

/// Has a write beyond the limit fail like any other, where it would end this process. Programs that it starts are not
/// changed by that, for they begin with no handlers.
pub fn endure_file_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// How much output of a run is kept, of the `wanted`, for a journal that stays well below the limit: with its events, and
/// with an end that may be kept twice.
pub(super) fn output_within_limit(wanted: u64) -> u64 {
    getrlimit(Resource::Fsize)
        .current
        .map_or(wanted, |limit| wanted.min(limit / 2))
}
