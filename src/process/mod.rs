//! Running one child: its process group, its time limits, its bytes, its end.
//!
//! [`supervise`] owns a run's command from start to end and is deliberately synchronous and alone
//! on its thread: it is what a supervisor process of its own will execute, unchanged.
//! [`capture`] is for the daemon's own short commands, whose output is wanted whole.
//! These two are the only places that start a process.

mod capture;
mod presence;
mod remains;
mod supervise;

pub use capture::{CaptureError, Captured, Patience, capture, plain_command};
pub use presence::is_in_use;
pub use remains::end_processes_of;
pub use supervise::{Exit, Launch, Outcome, Stop, StopHandle, stop_channel, supervise};
