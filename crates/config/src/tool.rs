//! `toolchain`: commands that tell which tools a repo is built with.

use std::path::Path;

use serde::Deserialize;

/// A question to a tool, such as `cc --version`: a program and its arguments, with no shell between.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Tool {
    argv: Vec<String>,
}

impl Tool {
    /// Never empty: the program comes first, by name or absolute path.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }
}

impl TryFrom<Vec<String>> for Tool {
    type Error = String;

    fn try_from(argv: Vec<String>) -> Result<Self, Self::Error> {
        let Some(program) = argv.first().filter(|program| !program.is_empty()) else {
            return Err(
                r#"a tool needs a program; expected a list such as ["cc", "--version"]"#.to_owned(),
            );
        };
        if program.contains('/') && !Path::new(program).is_absolute() {
            return Err(format!(
                "{program:?} is neither a name nor an absolute path: tools are not looked for in a workspace"
            ));
        }
        if argv.iter().any(|arg| arg.contains('\0')) {
            return Err("an argument of a tool cannot hold a NUL".to_owned());
        }
        Ok(Self { argv })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
