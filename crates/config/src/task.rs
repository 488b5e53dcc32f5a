//! Commands that the operator declared: tasks, which callers may start by name, and questions to tools. There is no
//! shell between.

use std::borrow::Cow;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::{Text, TextKind};

pub(super) const MAX_NAME_BYTES: usize = 63;

/// The name of a task: lower-case letters, digits, `_`, `.` and `-`, starting with a letter or digit.
pub type TaskName = Text<TaskNames>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskNames {}

/// What a task executes: a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>")]
pub struct Task(Vec<String>);

/// A question to a tool, such as `cc --version`: a program, by name or absolute path, and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>")]
pub struct Tool(Vec<String>);

impl TextKind for TaskNames {
    const EXPECTED: &'static str = r#"the name of a task, such as "lint" or "unit-tests""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        if is_plain_name(text) {
            return Ok(text.into());
        }
        Err(format!(
            "a name has lower-case letters, digits, '_', '.' and '-', at most {MAX_NAME_BYTES}, and starts with a \
             letter or digit"
        ))
    }
}

pub(super) fn is_plain_name(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= MAX_NAME_BYTES
        && text.bytes().next().is_some_and(letter)
        && text.bytes().all(|b| letter(b) || b"_.-".contains(&b))
}

impl Task {
    /// Never empty: the program comes first.
    pub fn argv(&self) -> &[String] {
        &self.0
    }
}

impl Tool {
    /// Never empty: the program comes first.
    pub fn argv(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for Task {
    type Error = String;

    fn try_from(argv: Vec<String>) -> Result<Self, String> {
        check_argv("a task", r#"["cargo", "clippy"]"#, &argv)?;
        Ok(Self(argv))
    }
}

impl TryFrom<Vec<String>> for Tool {
    type Error = String;

    fn try_from(argv: Vec<String>) -> Result<Self, String> {
        let program = check_argv("a tool", r#"["cc", "--version"]"#, &argv)?;
        if program.contains('/') && !Path::new(program).is_absolute() {
            return Err(format!(
                "{program:?} is neither a name nor an absolute path: tools are not looked for in a workspace"
            ));
        }
        Ok(Self(argv))
    }
}

/// The program.
fn check_argv<'a>(of: &str, such_as: &str, argv: &'a [String]) -> Result<&'a str, String> {
    if argv.iter().any(|arg| arg.contains('\0')) {
        return Err(format!("an argument of {of} cannot hold a NUL"));
    }
    match argv.first() {
        Some(program) if !program.is_empty() => Ok(program),
        _ => Err(format!(
            "{of} needs a program; expected a list such as {such_as}"
        )),
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

    #[test]
    fn a_tool_is_a_name_or_an_absolute_path() {
        let tool = |words: &[&str]| {
            Tool::try_from(words.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        for words in [&["cc", "--version"][..], &["/usr/bin/cc"], &["x", ""]] {
            assert!(tool(words).is_ok(), "{words:?} was refused");
        }
        for words in [&[][..], &[""], &["./cc"], &["bin/cc"], &["cc", "a\0b"]] {
            assert!(tool(words).is_err(), "{words:?} was accepted");
        }
    }
}
