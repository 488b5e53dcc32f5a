//! What others say of our MCP (the official conformance suite, the official clients, the Inspector), and of what comes from
//! forges and goes to them. They are programs and descriptions of npm and PyPI, pinned in `tests/clients` and installed by
//! `make setup`.

#![allow(unreachable_pub, reason = "no other package uses what is here")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails; clippy.toml allows it only inside #[test]"
)]

#[path = "../yard/support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "these tests need a part of what the others need"
)]
mod support;

mod fixtures;
mod installed;

mod agent_tasks;
mod clients;
mod code;
mod forge_hooks;
mod forge_statuses;
mod inspector;
mod suite;
