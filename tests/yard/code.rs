//! What agents write.

mod files;
