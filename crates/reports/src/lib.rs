//! Test reports as data: JUnit XML, and what test runners print into a log. There is no I/O here: the caller brings the
//! bytes. They come from a build, so none of them is trusted. Whatever comes, memory stays bounded, the time is linear
//! in the input, and nothing panics.

mod case;
mod excerpt;
mod junit;
mod kept;
mod log;
mod merged;
mod seconds;
mod source_line;

pub use junit::{ReportError, junit};
pub use log::LogReader;
pub use merged::Merged;
