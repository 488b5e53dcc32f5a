//! What comes from outside is thrown at its readers, for a while and at random: each target is a
//! reader, an idea of what its input looks like, and what must be true of whatever it answers.
//!
//! A target tries every file of `seeds/<target>/` first, then goes on from them until its time is over
//! (`FUZZ_SECONDS`: one second by default, ten minutes in `make soak`). An input that breaks a rule is made
//! small, written to `target/fuzz/<target>/`, and named; once mended, it belongs under `seeds/`.

#![allow(unreachable_pub, reason = "no other package uses what is here")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails; clippy.toml allows it only inside #[test]"
)]

mod arguments;
mod config;
mod dice;
mod events;
mod fuzzer;
mod journal;
mod mutate;
mod names;
mod redaction;
mod script;
