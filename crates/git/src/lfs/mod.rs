//! Files whose contents git-lfs keeps: git itself has a pointer in the place of each. Git-lfs fetches the contents, once for
//! a store; this process writes them where pointers stand, and checks each once more while it does.

mod fill;
mod objects;
mod pointer;
mod pointer_files;
mod transfer;

pub use fill::fill_pointers;
pub use objects::LfsObjects;
pub use pointer::LfsPointer;
pub use pointer_files::{PointerFile, PointerFiles, pointer_files};
pub use transfer::{LfsServer, declared_lfs_url, fetch_lfs, lfs_to_send, push_lfs};

/// The program, by name.
pub const PROGRAM: &str = "git-lfs";

/// What every git of ours is told. Only this process puts contents in the place of pointers: so git leaves pointers as they
/// are, and makes them of what is staged.
pub(super) const FILTER: [(&str, &str); 4] = [
    ("filter.lfs.process", "git-lfs filter-process --skip"),
    ("filter.lfs.smudge", "git-lfs smudge --skip -- %f"),
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.required", "true"),
];
