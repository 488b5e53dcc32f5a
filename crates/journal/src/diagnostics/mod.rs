//! Errors and warnings, pulled out of what a build printed.
//!
//! The log is seen once, line by line. Almost no line of a log is a complaint, so a line is first
//! asked whether it could be one ([`filter`]), which costs little; only then is it cleaned and shown to
//! the families of tools in turn. Formats that span lines are small state machines ([`Family`]), which
//! ask for every line while they are in the middle of something; the others look at one line. What they find is weighed, de-duplicated and bounded in [`found`].
//!
//! A pattern is strict where tools disagree: a complaint that is missed is still in the log, but a
//! timestamp that is shown as an error makes all the others worth less.

mod annotation;
mod cargo_json;
mod cmake;
mod directories;
mod eslint;
mod filter;
mod found;
mod gcc;
mod generic;
mod go;
mod javac;
mod make;
mod ninja;
mod place;
mod pytest;
mod python;
mod rust;
mod severity;
#[cfg(test)]
mod tests;
mod tsc;

pub use directories::Directories;
use found::Complaints;
pub use found::Diagnostics;

/// Tools whose complaints span several lines.
trait Family {
    /// Whether the next line has to be shown, whatever it is.
    fn in_the_middle(&self) -> bool;

    /// Whether the line was one of theirs, and is nothing else.
    fn line(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool;

    /// Tells what was held back: the log is at its end.
    fn finish(&mut self, found: &mut Complaints);
}

/// Reads a log line by line, and remembers what it complained about.
#[derive(Clone, Default)]
pub struct Collector {
    make: make::Make,
    families: Families,
    /// Whether one of the families is; asked for every line, and so kept.
    in_the_middle: bool,
    found: Complaints,
}

#[derive(Clone, Default)]
struct Families {
    pytest: pytest::Pytest,
    python: python::Python,
    go: go::Go,
    javac: javac::Javac,
    cmake: cmake::Cmake,
    eslint: eslint::Eslint,
    ninja: ninja::Ninja,
    rust: rust::Rust,
}

impl Families {
    /// In the order in which they are asked: Rust takes any `error: …`.
    fn all(&mut self) -> [&mut dyn Family; 8] {
        [
            &mut self.pytest,
            &mut self.python,
            &mut self.go,
            &mut self.javac,
            &mut self.cmake,
            &mut self.eslint,
            &mut self.ninja,
            &mut self.rust,
        ]
    }
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
        if cargo_json::is_report(line) {
            if let Some(complaint) = cargo_json::parse(line) {
                self.found.add(number, complaint);
            }
            return;
        }
        if annotation::is_annotation(line) {
            if let Some(complaint) = annotation::parse(&filter::clean(line)) {
                self.found.add(number, complaint);
            }
            return;
        }
        if Directories::may_tell(line) {
            self.found.directories().line(number, &filter::clean(line));
        }
        if self.in_the_middle || filter::may_complain(line) {
            self.look_at(number, &filter::clean(line));
            let mut families = self.families.all().into_iter();
            self.in_the_middle = families.any(|family| family.in_the_middle());
        }
    }

    /// What there is to tell. Of a command that was stopped nothing is told that came of it.
    pub fn finish(mut self, is_stopped: bool) -> Diagnostics {
        for family in self.families.all() {
            family.finish(&mut self.found);
        }
        self.found.finish(is_stopped)
    }

    fn look_at(&mut self, number: u64, line: &str) {
        let found = &mut self.found;
        if place::program(line).is_some() {
            self.families.pytest.interrupted();
            self.make.line(number, line, found);
            return;
        }
        if let Some(complaint) = tsc::unplaced(line) {
            found.add(number, complaint);
            return;
        }
        let mut families = self.families.all().into_iter();
        if families.any(|family| family.line(number, line, found)) {
            return;
        }
        let complaint = make::parse(line)
            .or_else(|| eslint::unix(line))
            .or_else(|| go::parse(line))
            .or_else(|| generic::placed(line))
            .or_else(|| eslint::compact(line))
            .or_else(|| gcc::parse(line))
            .or_else(|| generic::unplaced(line));
        if let Some(complaint) = complaint {
            found.add(number, complaint);
        }
    }
}
