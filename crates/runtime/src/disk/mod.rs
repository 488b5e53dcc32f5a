//! Room on the disk: how much there is, what is held back for the time when there is none; the trash,
//! into which things are moved out of sight at once to be deleted at leisure; and the quarantine, where
//! what is broken is kept. And the threads that share work on many files.

mod disk_guard;
mod files;
mod known_dir;
mod moment;
mod mounts;
pub mod parallel;
mod private;
mod quarantine;
mod reserve;
mod room;
mod spread;
mod trash;

pub use disk_guard::DiskGuard;
pub use files::{if_there, read_json};
pub use known_dir::KnownDir;
pub use moment::Moment;
pub use mounts::Mount;
use mounts::{mount_of, mounted_in};
pub use private::{create_private_dir, make_private, write_json, write_private};
pub use quarantine::{Note, Quarantine};
pub use room::{Amount, Room, Shortage};
pub use spread::spread;
pub use trash::Trash;
