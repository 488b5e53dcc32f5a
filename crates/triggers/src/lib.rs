//! What starts by itself: the remote is asked what is new when it may be, and each push, pull request and slot of a schedule
//! starts what the workflow files and the operator have for it, exactly once. What tells that something may be new (a push
//! through this daemon, a webhook, the time) is only a hint: what counts is what the remote has.

mod due;
mod event;
mod look;
mod pulls;
mod push_rules;
mod reason;
mod repo_watch;
mod schedule;
mod seen;
mod triggers;
mod watch;

pub use pulls::PullHint;
pub use reason::Reason;
pub use repo_watch::WatchStatus;
pub use triggers::{TriggerParts, Triggers, open};
