//! Go's tools: what the compiler and vet say in one line, the report of `go test`, and panics.

mod panic;
mod report;

use super::Family;
use super::found::{Complaint, Complaints, Weight};
use super::generic;

use super::generic::GO as TOOL;

#[derive(Clone, Default)]
pub(super) struct Go {
    panic: panic::Panic,
    report: report::Report,
}

impl Family for Go {
    fn in_the_middle(&self) -> bool {
        self.panic.in_the_middle() || self.report.in_the_middle()
    }

    fn line(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool {
        if panic::begins(line) {
            self.panic.finish(found);
            self.panic.begin(number, line, self.report.failing());
            return true;
        }
        self.panic.line(line, found) || self.report.line(number, line, found)
    }

    fn finish(&mut self, found: &mut Complaints) {
        self.panic.finish(found);
        self.report.tell(None, found);
    }
}

/// `vet: ./a.go:3:5: undeclared name: x`, and what the go command says of modules.
pub(super) fn parse(line: &str) -> Option<Complaint> {
    if let Some(said) = line.strip_prefix("vet: ") {
        return generic::placed(said).filter(|complaint| complaint.tool == TOOL);
    }
    let said = line.strip_prefix("go: ")?;
    let failed = ["cannot ", "error", "go.mod file not found"]
        .iter()
        .any(|start| said.starts_with(start));
    failed.then(|| Complaint::new(TOOL, Weight::Hint, None, said))
}
