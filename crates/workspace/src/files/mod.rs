//! Reading a workspace's files, and changing single ones. Every path is resolved by the kernel beneath the workspace's own
//! directory (`openat2`), so that no `..`, symlink or race can lead out of it.

pub mod apply_patch;
pub(crate) mod beneath;
mod change;
pub mod delete_file;
pub mod edit_file;
pub mod held;
mod lines;
mod list;
pub mod move_file;
mod patch_paths;
mod query;
mod raw;
mod read;
pub(crate) mod regular;
mod reports;
mod search;
mod stamp;
mod walk;
pub mod write_file;

pub use beneath::{check_beneath, is_there};
pub use change::{Editor, OnChange, keep_as_work};
pub use list::list;
pub use raw::open;
pub use read::read;
pub use reports::reports_since;
pub use search::grep;
pub use stamp::stamp;

pub use list::{Entry, EntryKind, ListRequest, Listing};
pub use query::{Grep, GrepRequest};
pub use raw::RawFile;
pub use read::{FilePart, FileText, LinesOfPart, ReadRequest};
pub use search::{LineMatch, Matches};
pub use stamp::Stamp;
