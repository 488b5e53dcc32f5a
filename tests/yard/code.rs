//! What agents write and run.

mod exec;
mod files;
mod identity;
