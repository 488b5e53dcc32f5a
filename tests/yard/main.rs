//! Integration tests: a real daemon on a port of its own, real git, real make, real processes.

#![allow(unreachable_pub, reason = "no other package uses what is here")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails; clippy.toml allows it only inside #[test]"
)]

mod support;

mod adopted;
mod attacks;
mod audit;
mod bombs;
mod builds;
mod bytes;
mod checkout;
mod cli;
mod copies;
mod corners;
mod crashes;
mod created;
mod cut_off;
mod diagnostics;
mod events;
mod formats;
mod full;
mod git;
mod groups;
mod growth;
mod history;
mod interrupted;
mod late;
mod leaving;
mod lifetime;
mod log;
mod many;
mod mcp;
mod mended;
mod names;
mod nothing_lost;
mod oauth;
mod openapi;
mod parallel;
mod places;
mod process_table;
mod reads;
mod reaper;
mod reconciled;
mod removal;
mod repair;
mod repos;
mod restored;
mod reuse;
mod rights;
mod salvage;
mod same;
mod sandbox;
mod secrets;
mod session;
mod stopping;
mod stubborn;
mod supervisors;
mod survive;
mod tokens;
mod traps;
mod tree_bombs;
mod upstream;
mod viewers;
mod volume;
mod warm;
mod wire;
