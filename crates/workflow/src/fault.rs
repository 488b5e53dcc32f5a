//! What is wrong with a workflow file, and where.

use serde::{Deserialize, Serialize};

use crate::yaml::LineIndex;

/// More problems of one file are not reported.
pub const MAX_FAULTS: usize = 100;

/// The kinds of refusal; each is the code of a problem document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    /// The file breaks a rule: it would be wrong anywhere, or names something that does not exist.
    WorkflowInvalid,
    /// A step uses an action that this daemon does not have.
    ActionNotSupported,
    /// Valid, but its machinery is not built yet.
    NotSupportedYet,
    /// A text from outside would become a part of a script.
    UnsafeInterpolation,
}

/// A refusal or a warning about one place of a workflow file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowFault {
    pub code: FaultCode,
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub message: String,
}

impl FaultCode {
    pub fn name(self) -> &'static str {
        match self {
            Self::WorkflowInvalid => "workflow_invalid",
            Self::ActionNotSupported => "action_not_supported",
            Self::NotSupportedYet => "not_supported_yet",
            Self::UnsafeInterpolation => "unsafe_interpolation",
        }
    }
}

impl std::fmt::Display for WorkflowFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            code,
            file,
            line,
            column,
            message,
        } = self;
        write!(
            formatter,
            "{file}:{line}:{column}: {message} ({})",
            code.name()
        )
    }
}

/// Gathers the problems of one file.
#[derive(Debug)]
pub(crate) struct FaultList<'f> {
    file: &'f str,
    lines: &'f LineIndex,
    refusals: Vec<WorkflowFault>,
    warnings: Vec<WorkflowFault>,
}

impl<'f> FaultList<'f> {
    pub(crate) fn new(file: &'f str, lines: &'f LineIndex) -> Self {
        Self {
            file,
            lines,
            refusals: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Refuses what stands at this byte of the text.
    pub(crate) fn refuse(&mut self, code: FaultCode, at: usize, message: impl Into<String>) {
        let fault = self.fault(code, at, message.into());
        self.refusals.push(fault);
        // A file can have tens of thousands of them.
        if self.refusals.len() >= 10 * MAX_FAULTS {
            self.refusals = in_order(self.file, std::mem::take(&mut self.refusals));
        }
    }

    pub(crate) fn invalid(&mut self, at: usize, message: impl Into<String>) {
        self.refuse(FaultCode::WorkflowInvalid, at, message);
    }

    pub(crate) fn warn(&mut self, code: FaultCode, at: usize, message: impl Into<String>) {
        let fault = self.fault(code, at, message.into());
        self.warnings.push(fault);
        if self.warnings.len() >= 10 * MAX_FAULTS {
            self.warnings = in_order(self.file, std::mem::take(&mut self.warnings));
        }
    }

    /// Takes over the problems of another file that this one names.
    pub(crate) fn absorb(&mut self, other: FaultList<'_>) {
        self.refusals.extend(other.refusals);
        self.warnings.extend(other.warnings);
    }

    pub(crate) fn lines(&self) -> &LineIndex {
        self.lines
    }

    /// The warnings if nothing was refused, else the refusals, both in order of their lines.
    pub(crate) fn finish(self) -> Result<Vec<WorkflowFault>, Vec<WorkflowFault>> {
        if self.refusals.is_empty() {
            Ok(in_order(self.file, self.warnings))
        } else {
            Err(in_order(self.file, self.refusals))
        }
    }

    fn fault(&self, code: FaultCode, at: usize, message: String) -> WorkflowFault {
        let (line, column) = self.lines.place(at);
        WorkflowFault {
            code,
            file: self.file.to_owned(),
            line,
            column,
            message,
        }
    }
}

/// The first of them, each once: those of the file by their lines, and then those of others.
fn in_order(file: &str, mut faults: Vec<WorkflowFault>) -> Vec<WorkflowFault> {
    faults.sort_by(|a, b| {
        let others = (a.file != file, &a.file).cmp(&(b.file != file, &b.file));
        let places = (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message));
        others.then(places)
    });
    faults.dedup();
    faults.truncate(MAX_FAULTS);
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_in_order_once_each_and_bounded() {
        let lines = LineIndex::new("a\nb\n");
        let mut faults = FaultList::new("ci.yml", &lines);
        faults.invalid(2, "second");
        faults.invalid(0, "first");
        faults.invalid(0, "first");
        let found = faults.finish().unwrap_err();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].to_string(), "ci.yml:1:1: first (workflow_invalid)");
        assert_eq!((found[1].line, found[1].column), (2, 1));

        let mut faults = FaultList::new("ci.yml", &lines);
        for number in 0..3000 {
            faults.invalid(0, number.to_string());
        }
        assert_eq!(faults.finish().unwrap_err().len(), MAX_FAULTS);
    }

    #[test]
    fn warnings_refuse_nothing() {
        let lines = LineIndex::new("");
        let mut faults = FaultList::new("ci.yml", &lines);
        faults.warn(FaultCode::ActionNotSupported, 9, "skipped");
        assert_eq!(faults.finish().unwrap().len(), 1);
    }
}
