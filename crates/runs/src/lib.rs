//! Runs: everything that executes, whoever asked and however. One task per run is the only writer
//! of its state and takes it from its place in the queue to its one end state. Viewers never touch
//! a run: they read its journal.

mod adopt;
pub mod argv;
mod artifacts;
mod caller_command;
mod checks;
mod coalesce;
mod coalescing;
mod declared;
mod drive;
mod edit_note;
mod ending;
mod environment;
mod exec;
mod execute;
mod finish;
pub mod groups;
mod helper;
mod history;
pub mod idempotency;
mod launch;
mod live;
mod look;
mod meter;
mod open;
mod parallel;
mod reindex;
mod request;
mod reuse;
mod run_journal;
mod sandbox;
pub mod secrets;
pub mod setup;
mod slots;
mod spec;
mod start;
pub mod step;
pub mod stop_note;
mod test_report;
mod usage;
mod view;
mod viewers;
mod written;

pub use caller_command::{CallerCommand, caller_command};
pub use groups::{LiveGroup, group_not_found};
pub use live::Live;
pub use look::run_not_found;
pub use meter::check_disk;
pub use open::{OnDisk, Runs};
pub use request::{RunBody, RunRequest, Sync, TEST_TASK};
pub use sandbox::SandboxReport;
pub use start::Started;
pub use test_report::{Earlier, Reading};
pub use view::View;
pub use viewers::{ViewerGuard, Viewers};
