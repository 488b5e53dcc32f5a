//! Integration tests: a real daemon on a port of its own, real git, real make, real processes.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails; clippy.toml allows it only inside #[test]"
)]

mod support;

mod attacks;
mod builds;
mod bytes;
mod cli;
mod created;
mod interrupted;
mod lifetime;
mod many;
mod mended;
mod names;
mod reads;
mod removal;
mod repos;
mod stopping;
mod upstream;
