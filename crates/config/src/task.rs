//! Tasks: commands that the operator declared and callers may start by name.

use std::fmt;

use serde::Deserialize;

use super::value::{TextValue, text_value};

const MAX_NAME_BYTES: usize = 63;

/// The name of a task: lower-case letters, digits, `_`, `.` and `-`, starting with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskName(String);

/// What a task executes: a program and its arguments, with no shell between.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Task {
    argv: Vec<String>,
}

impl TaskName {
    /// The name, or the rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        if text.len() > MAX_NAME_BYTES {
            return Err(format!("it is longer than {MAX_NAME_BYTES} characters"));
        }
        if !text.bytes().next().is_some_and(letter) {
            return Err("it does not start with a lower-case letter or digit".to_owned());
        }
        if !text.bytes().all(|b| letter(b) || b"_.-".contains(&b)) {
            return Err(
                "it holds something other than lower-case letters, digits, '_', '.' and '-'"
                    .to_owned(),
            );
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextValue for TaskName {
    const EXPECTED: &'static str = r#"the name of a task, such as "lint" or "unit-tests""#;

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}
text_value!(TaskName);

impl Task {
    /// Never empty: the program comes first.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }
}

impl TryFrom<Vec<String>> for Task {
    type Error = &'static str;

    fn try_from(argv: Vec<String>) -> Result<Self, Self::Error> {
        if argv.first().is_none_or(String::is_empty) {
            return Err(r#"a task needs a program; expected a list such as ["cargo", "clippy"]"#);
        }
        if argv.iter().any(|arg| arg.contains('\0')) {
            return Err("an argument of a task cannot hold a NUL");
        }
        Ok(Self { argv })
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words() {
        for name in ["lint", "unit-tests", "a.b_c", "9"] {
            assert!(TaskName::parse(name).is_ok(), "{name} was refused");
        }
        for name in [
            "",
            "Lint",
            "-x",
            ".x",
            "_x",
            "a b",
            "a/b",
            "ä",
            &"x".repeat(64),
        ] {
            assert!(TaskName::parse(name).is_err(), "{name} was accepted");
        }
    }

    #[test]
    fn a_task_has_a_program() {
        for argv in [vec![], vec![""], vec!["", "x"], vec!["x", "a\0b"]] {
            let argv: Vec<_> = argv.into_iter().map(str::to_owned).collect();
            assert!(
                Task::try_from(argv.clone()).is_err(),
                "{argv:?} was accepted"
            );
        }
        assert!(Task::try_from(vec!["true".to_owned(), String::new()]).is_ok());
    }
}
