//! What agents write and run.

mod background;
mod environments;
mod exec;
mod files;
mod identity;
mod quotas;
