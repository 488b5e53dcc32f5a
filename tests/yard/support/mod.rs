//! A yard to test with: an upstream repository, a daemon in this process on port 0, and a client.
//! When it goes, nothing of it may be left.

mod agent;
pub mod beside;
mod binary;
pub mod chance;
pub mod failing;
mod files;
mod origin;
mod processes;
mod raw;
mod receiver;
pub mod remotes;
mod screen;
mod small_disk;
mod stream;
mod table;
pub mod words;
pub mod work;
mod yard;

pub use agent::{Agent, Answering};
pub use binary::Binary;
pub use files::each_file;
pub use origin::{Origin, git, git_as, try_git};
pub use processes::{
    end_processes_in, is_alive, kib, kill, pids_in, processes_in, processes_of, until,
};
pub use raw::{Answer, Raw};
pub use receiver::{Received, Receiver, secret_file, yard_of_forge};
pub use screen::Terminal;
pub use small_disk::{Resource, SmallYard};
pub use stream::{Event, read_events};
pub use table::Table;
pub use yard::{
    Following, Options, PATIENCE, PROGRAM, Yard, encode, events_of, give_to_ordinary, json_of,
    problem_of, text_of, warnings_of,
};
