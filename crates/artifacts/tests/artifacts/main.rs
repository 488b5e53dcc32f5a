//! Artifacts and caches of jobs, on real files.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot prepare its files has failed"
)]

mod archives;
mod cache_yard;
mod caches;
mod collect;
mod full_disk;
mod hostile;
mod properties;
mod retention;
mod unpack;
mod yard;
