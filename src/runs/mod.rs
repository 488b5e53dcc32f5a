//! Runs: everything that executes, whoever asked and however. One task per run is the only writer
//! of its state and takes it from its place in the queue to its one end state. Viewers never touch
//! a run: they read its journal.

pub mod argv;
mod audience;
mod drive;
mod environment;
mod finish;
mod history;
mod live;
mod request;
mod slots;
mod spec;
mod start;

pub use audience::Seat;
pub use history::Filter;
pub use live::{Live, View};
pub use request::{Action, RunRequest};
pub use start::Runs;
