//! Whether every name in every expression of a file exists.

mod names;
mod rules;
mod walk;

pub(crate) use walk::check_file;
