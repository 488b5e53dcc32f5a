//! Integration tests: a real daemon on a port of its own, real git, real make, real processes.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails; clippy.toml allows it only inside #[test]"
)]

mod support;

mod adopted;
mod attacks;
mod builds;
mod bytes;
mod cli;
mod crashes;
mod created;
mod diagnostics;
mod formats;
mod groups;
mod history;
mod interrupted;
mod leaving;
mod lifetime;
mod log;
mod many;
mod mended;
mod names;
mod reads;
mod removal;
mod repos;
mod same;
mod stopping;
mod stubborn;
mod survive;
mod upstream;
mod viewers;
mod volume;
