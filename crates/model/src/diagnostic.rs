//! What a build complained about, pulled out of its output.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
}

/// One complaint, and where in the log it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// Relative to the workspace where that can be told, else as the tool wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    pub severity: Severity,
    /// Cut after 1,000 characters. A failed test's begins with the test's name. It has the tool's code: `TS2322: …`,
    /// `… [E0308]`, `… [no-undef]`.
    pub message: String,
    /// `gcc` (clang writes the same), `rustc` (also cargo's JSON), `python`, `pytest`, `tsc`, `eslint`, `go`,
    /// `javac` (also by Maven and Gradle), `cmake`, `ninja`, `make`, `annotation` (a workflow's) or `generic`.
    #[serde(default)]
    pub tool: String,
    /// The line of the log that it was found on, counted from 1.
    #[serde(default)]
    pub log_line: u64,
}

/// How many different ones there were, kept or not, and the first that matters: an error, or a warning
/// where there is no error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosticsSummary {
    #[serde(default)]
    pub errors: usize,
    #[serde(default)]
    pub warnings: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Diagnostic>,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// As compilers spell it, so that editors find the place: `src/a.c:3:5: error: message`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            // A column without a line names no place.
            for number in [self.line, self.column.filter(|_| self.line.is_some())] {
                number.map_or(Ok(()), |number| write!(f, "{number}:"))?;
            }
            f.write_str(" ")?;
        }
        write!(f, "{}: {}", self.severity.as_str(), self.message)
    }
}

impl DiagnosticsSummary {
    /// The first error, where there is one.
    pub fn first_error(&self) -> Option<&Diagnostic> {
        let first = self.first.as_ref();
        first.filter(|first| first.severity == Severity::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_is_spelt_as_compilers_do() {
        for (json, text) in [
            (
                r#"{"file":"a.c","line":3,"column":5,"severity":"error","message":"no","tool":"gcc","log_line":1}"#,
                "a.c:3:5: error: no",
            ),
            (
                r#"{"file":"a.c","line":3,"severity":"warning","message":"hm"}"#,
                "a.c:3: warning: hm",
            ),
            (
                r#"{"file":"a.c","column":3,"severity":"error","message":"x"}"#,
                "a.c: error: x",
            ),
            (r#"{"severity":"error","message":"x"}"#, "error: x"),
        ] {
            let diagnostic: Diagnostic = serde_json::from_str(json).unwrap();
            assert_eq!(diagnostic.to_string(), text);
        }
    }
}
