//! The three stream formats, and the bare log. Many events share one piece, and no event is an
//! allocation of its own.

mod events;
mod output;
mod text;

pub(super) use events::Events;
pub(super) use output::Output;
pub(super) use text::Text;
