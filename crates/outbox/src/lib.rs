//! What others are told of pipelines: statuses of commits at their forge, and webhooks; and the operator's commands that are
//! told of the ends of runs and pipelines. Each message is on disk before what it tells of is told to callers, and stays there
//! until it has arrived, so that neither a daemon that is killed nor a forge that is down has one lost.

mod after;
mod backoff;
mod delivery;
mod message;
mod news;
mod outbox;
mod send;
mod sending;
mod shelf;

pub use after::{AfterCall, RunAfter};
pub use delivery::{Delivery, DeliveryState};
pub use outbox::{Outbox, OutboxParts};
pub use sending::start;
