//! Running one child: its process group, its time limits, its bytes, its end.
//!
//! A run's command belongs to a supervisor, a process of its own ([`supervisor_main`]) which outlives
//! the daemon; [`Supervisor`] is the daemon's side of it. What the two leave for each other stands in
//! the run's directory: the lock that proves life, the journal, and the record of the [`Exit`].
//! [`capture`] is for the daemon's own short commands, whose output is wanted whole.

mod capture;
mod cgroup;
mod cpu_time;
mod descendants;
mod descriptors;
mod exit;
mod file_size;
mod handover;
mod launch;
mod liveness_lock;
mod lookup;
mod masks;
mod presence;
mod redact;
mod remains;
mod sandbox;
mod signals;
mod spawn;
mod streams;
mod supervise;
mod supervisor;
mod supervisor_handle;
mod supervisor_pool;
#[cfg(test)]
mod test_process;

pub use capture::{CaptureError, Captured, Timeouts, capture, plain_command};
pub use cgroup::{Cgroup, Exceeded, Limits, Mechanisms, StartLimit};
pub use exit::{CommandError, Exit, Outcome, Stop};
pub use file_size::endure_file_limit;
pub use handover::{Handover, own_program};
pub use launch::Launch;
pub use lookup::find_program;
pub use masks::kept_masks;
pub use presence::{Presence, is_in_use, who_is_in};
pub use redact::Redactor;
pub use remains::end_processes_of;
pub use sandbox::{
    Confinement, Containment, INIT_COMMAND, KeptWorktree, Mechanism, Mount, SANDBOX_TMP, Sandbox,
    Shown, init_main,
};
pub use supervisor::supervisor_main;
pub use supervisor_handle::{FoundSupervisor, Supervisor};
pub use supervisor_pool::{SUPERVISOR_COMMAND, SupervisorPool};
