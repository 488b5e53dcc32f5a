//! Integration tests: a real daemon on a port of its own, real git, real make, real processes.

#![allow(unreachable_pub, reason = "no other package uses what is here")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails; clippy.toml allows it only inside #[test]"
)]

mod support;

mod activity;
mod adoption;
mod after;
mod attacks;
mod audit;
mod bisect;
mod bombs;
mod builds;
mod bytes;
mod checkout;
mod cli;
mod coalescing;
mod code;
mod concurrent_edits;
mod copies;
mod crashes;
mod daemon_restarts;
mod damaged_workspaces;
mod diagnostics;
mod events;
mod file_parts;
mod first_clones;
mod formats;
mod full_disk;
mod git;
mod groups;
mod growth;
mod hidden_work;
mod history;
mod hostile_files;
mod include;
mod interrupted;
mod killed_at_each_step;
mod lfs;
mod lifetime;
mod log;
mod mcp;
mod moved_yards;
mod named_refs;
mod names;
mod new_branches;
mod nothing_lost;
mod oauth;
mod openapi;
mod outbox;
mod parallel;
mod pipelines;
mod ports;
mod process_table;
mod reads;
mod reaper;
mod recipes;
mod reconcile;
mod remote_branches;
mod removal;
mod repair;
mod repos;
mod restore;
mod reuse;
mod rights;
mod runaway_commands;
mod salvage;
mod sandbox;
mod secrets;
mod session;
mod setup;
mod shutdown;
mod signals;
mod submodules;
mod supervisors;
mod test_reports;
mod tokens;
mod tree_bombs;
mod triggers;
mod unfilled;
mod upstream;
mod viewers;
mod volume;
mod warm;
mod wire;
