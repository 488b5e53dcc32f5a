//! What others are told of pipelines: statuses of commits at their forge, and webhooks. Each message is on disk before the
//! state that it tells of is, and stays there until it has arrived, so that neither a daemon that is killed nor a forge that is
//! down has one lost.

mod backoff;
mod delivery;
mod message;
mod news;
mod open;
mod outbox;
mod send;
mod sending;
mod shelf;

pub use delivery::{Delivery, DeliveryState};
pub use open::{OutboxParts, open};
pub use outbox::Outbox;
