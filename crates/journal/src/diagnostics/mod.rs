//! Errors and warnings, pulled out of what a build printed.
//!
//! The log is seen once, line by line. Almost no line of a log is a complaint, so a line is first
//! asked whether it could be one ([`filter`]), which costs little; only then is it cleaned and shown to
//! the families of tools in turn. Formats that span lines (Rust, Python, pytest) are small state
//! machines, which ask for every line while they are in the middle of something; the others look at
//! one line. What they find is weighed, de-duplicated and bounded in [`found`].
//!
//! A pattern is strict where tools disagree: a complaint that is missed is still in the log, but a
//! timestamp that is shown as an error makes all the others worth less.

mod directories;
mod filter;
mod found;
mod gcc;
mod generic;
mod make;
mod place;
mod pytest;
mod python;
mod rust;
#[cfg(test)]
mod tests;

pub use directories::Directories;
use found::Complaints;
pub use found::Diagnostics;

/// Reads a log line by line, and remembers what it complained about.
#[derive(Default)]
pub struct Collector {
    make: make::Make,
    pytest: pytest::Pytest,
    python: python::Python,
    rust: rust::Rust,
    found: Complaints,
}

impl Collector {
    /// For a log of this workspace; the default is one of nowhere, whose paths stay as they are.
    pub fn new(directories: Directories) -> Self {
        Self {
            found: Complaints::new(directories),
            ..Self::default()
        }
    }

    /// One line of the log without its ending, counted from 1.
    pub fn line(&mut self, number: u64, line: &[u8]) {
        if Directories::may_tell(line) {
            self.found.directories().line(number, &filter::clean(line));
        }
        if self.in_the_middle() || filter::may_complain(line) {
            self.look_at(number, &filter::clean(line));
        }
    }

    /// What there is to tell. Of a command that was stopped nothing is told that came of it.
    pub fn finish(mut self, is_stopped: bool) -> Diagnostics {
        self.pytest.finish(&mut self.found);
        self.python.finish(&mut self.found);
        self.rust.finish(&mut self.found);
        self.found.finish(is_stopped)
    }

    fn in_the_middle(&self) -> bool {
        self.pytest.in_the_middle() || self.python.in_the_middle() || self.rust.in_the_middle()
    }

    fn look_at(&mut self, number: u64, line: &str) {
        let found = &mut self.found;
        if place::program(line).is_some() {
            self.pytest.interrupted();
            self.make.line(number, line, found);
            return;
        }
        let taken = self.pytest.line(number, line, found)
            || self.python.line(number, line, found)
            || self.rust.line(number, line, found);
        if taken {
            return;
        }
        let complaint = make::parse(line)
            .or_else(|| generic::placed(line))
            .or_else(|| gcc::parse(line))
            .or_else(|| generic::unplaced(line));
        if let Some(complaint) = complaint {
            found.add(number, complaint);
        }
    }
}
