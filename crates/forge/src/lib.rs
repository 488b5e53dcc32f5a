//! Talking with forges, as far as it needs no I/O: webhooks that come in are verified and read, webhooks that go out are
//! signed, and the requests for commit statuses are made. What comes in is from the network, so none of it is trusted:
//! whatever comes, memory stays bounded by the input, and nothing panics.

mod hook;
mod mac;
mod payload;
mod repo;
mod signature;
mod standard_webhooks;
mod status;

pub use hook::{Hook, HookNews, PullNews, Unreadable, read};
pub use repo::ForgeRepo;
pub use signature::is_authentic;
pub use standard_webhooks::{InvalidWebhookSecret, WebhookSecret};
pub use status::{CommitStatus, StatusRequest, StatusState, authorization};
