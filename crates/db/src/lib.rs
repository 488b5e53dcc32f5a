//! The SQLite databases. One type owns a file's connections, its thread, its migrations and what becomes of it when it
//! is damaged: it is kept aside and spoken of, never overwritten. What is in it is the business of the module that
//! owns the file: a schema and statements.

mod database;
mod error;
mod file;
mod filter;
mod open;
pub mod run_index;
pub mod security_db;
mod writer;

use std::path::PathBuf;

use rusqlite_migration::Migrations;

pub use error::Error;
pub use open::kept_aside;

#[cfg(test)]
pub(crate) use open::{parts, writable};

/// One kind of file.
#[derive(Debug)]
pub struct Schema {
    /// What messages call it, such as `run index`.
    pub name: &'static str,
    /// What its owner makes of it at the next start, where it is damaged.
    pub anew: &'static str,
    pub migrations: Migrations<'static>,
    /// What has to be possible in a file that is taken for one of this kind.
    pub statements: &'static [&'static str],
    pub durability: Durability,
    pub newer: Newer,
}

/// What a power cut may cost. It is never the file.
#[derive(Debug, Clone, Copy)]
pub enum Durability {
    /// The last commits, because something else has them.
    Rebuilt,
    /// Nothing that was committed.
    Only,
}

/// What becomes of a file that a newer version of this program made.
#[derive(Debug, Clone, Copy)]
pub enum Newer {
    /// It is kept aside, since all of it can be made again.
    SetAside,
    /// It stays, and is not opened.
    Refuse,
}

/// What a file turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Condition {
    Sound,
    /// There was none; it is empty.
    Fresh,
    /// There was one that cannot be used. It is kept under `aside`, and the new one is empty.
    Damaged {
        aside: PathBuf,
        why: String,
    },
}
