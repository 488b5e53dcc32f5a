//! What a build complained about, spelt as compilers do, so that editors find the place.

use std::fmt;

use serde::Deserialize;

/// One complaint, as far as people and editors want to know.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Finding {
    #[serde(default)]
    pub file: Option<String>,
    #[serde(default)]
    pub line: Option<u32>,
    #[serde(default)]
    pub column: Option<u32>,
    pub severity: String,
    pub message: String,
}

/// How many there were, and the first that matters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Findings {
    #[serde(default)]
    pub errors: usize,
    #[serde(default)]
    pub warnings: usize,
    #[serde(default)]
    pub first: Option<Finding>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            // A column without a line names no place.
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
                if let Some(column) = self.column {
                    write!(f, "{column}:")?;
                }
            }
            f.write_str(" ")?;
        }
        write!(f, "{}: {}", self.severity, self.message)
    }
}

impl Findings {
    /// The first error, where there is one.
    pub(super) fn first_error(&self) -> Option<&Finding> {
        self.first
            .as_ref()
            .filter(|first| first.severity == "error")
    }

    /// `2 errors, 1 warning`
    pub(super) fn count(&self) -> String {
        let some = |count: usize, noun: &str| match count {
            0 => None,
            1 => Some(format!("1 {noun}")),
            _ => Some(format!("{count} {noun}s")),
        };
        let counts = [some(self.errors, "error"), some(self.warnings, "warning")];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        match counts.is_empty() {
            true => "no errors or warnings".to_owned(),
            false => counts.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_spelt_as_compilers_do() {
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
            let finding: Finding = serde_json::from_str(json).unwrap();
            assert_eq!(finding.to_string(), text);
        }
    }

    #[test]
    fn counts_are_words() {
        let count = |errors, warnings| {
            let first = None;
            Findings {
                errors,
                warnings,
                first,
            }
            .count()
        };
        assert_eq!(count(2, 1), "2 errors, 1 warning");
        assert_eq!(count(0, 3), "3 warnings");
        assert_eq!(count(0, 0), "no errors or warnings");
    }
}
