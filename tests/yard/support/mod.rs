//! A yard to test with: an upstream repository, a daemon in this process on port 0, and a client.
//! When it goes, nothing of it may be left.

mod binary;
mod origin;
mod raw;
mod stream;
mod yard;

pub use binary::Binary;
pub use origin::{Origin, git};
pub use raw::{Answer, Raw};
pub use stream::{Event, read_events};
pub use yard::{
    Options, PATIENCE, Yard, encode, events_of, json_of, problem_of, processes_in, text_of,
    warnings_of,
};
