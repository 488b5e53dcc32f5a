//! What GitHub's own packages `@actions/expressions` and `@actions/workflow-parser` make of expressions and workflow
//! files, held against what this crate makes of them. They are pinned in `tests/clients` and installed by `make setup`.
//! docs/PIPELINES.md has each difference by its name.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails; clippy.toml allows it only inside #[test]"
)]

mod answer;
mod cases;
mod differences;
mod expressions;
mod generate;
mod node;
mod words;
mod workflows;
