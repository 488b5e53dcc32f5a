//! What agents write and run.

mod background;
mod exec;
mod files;
mod identity;
mod quotas;
