//! The three stream formats, and the bare log. Many events share one piece, and no event is an
//! allocation of its own.

mod encode;
mod events;
mod head;
mod output;
mod text;

pub use events::Events;
pub use output::Output;
pub use text::Text;
