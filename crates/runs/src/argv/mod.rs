//! Argument policies: which words a caller may hand to `make` and `git`, and which variables to a
//! run's environment. Everything here is pure: words go in, and either the exact argv to execute
//! or a [`Problem`](branchyard_model::Problem) that names the field and the rule comes out, before any
//! process starts.
//!
//! The promises:
//! - Allow-lists of whole options only. What is not in a table is refused, abbreviations included,
//!   so a new version of a program cannot open a door here.
//! - Each word is read as the program itself will read it. Where the program's own rules leave room
//!   for two readings, the argv is rewritten to a form that has one (`-n 5` becomes `-n5`).
//! - What is returned is what is executed. Nobody parses or joins it again.
//!
//! No file is looked at here. Paths are judged by their letters, and those that a program will
//! follow are handed back in `beneath`, for the caller to resolve when the run starts.

mod env;
mod git;
mod make;
mod words;

pub use env::{caller_env, own_env};
pub use git::{GitAccess, GitCall, git, git_options, git_quick};
pub use make::{Checked, MakePolicy, make, with_jobs};
pub use words::Args;
