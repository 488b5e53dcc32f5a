//! Reading a workspace's files. Every path is resolved by the kernel beneath the workspace's own
//! directory (`openat2`), so that no `..`, symlink or race can lead out of it.

mod beneath;
mod list;
mod read;

pub use list::{Entry, EntryKind, ListRequest, Listing};
pub use read::{FileText, ReadRequest};
