//! `[code]`: commands and scripts that callers make up themselves.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::value::{Text, TextKind};
use super::{Task, TaskName};

/// Commands and scripts that callers with the right code:run make up themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [code]")]
pub struct CodeConfig {
    /// Whether they may be run where builds have no sandbox: they can do all that the daemon's user can, then.
    pub without_sandbox: bool,
    /// What executes scripts, by the name that callers use: a program and its first arguments, the script's file comes after
    /// them. They are added to python (python3), shell (sh), bash and node, or take their place.
    #[schemars(extend("example" = { "ruby": ["ruby", "-w"] }))]
    pub interpreters: BTreeMap<TaskName, Task>,
}

/// What is there without a word of the operator's.
const INTERPRETERS: [(&str, &str); 4] = [
    ("python", "python3"),
    ("shell", "sh"),
    ("bash", "bash"),
    ("node", "node"),
];

/// The name of a program that callers may start.
pub type ProgramName = Text<ProgramNames>;

#[derive(Clone, PartialEq, Eq)]
pub enum ProgramNames {}

impl TextKind for ProgramNames {
    const EXPECTED: &'static str =
        r#"a program as callers write it, such as "cargo" or "/opt/bin/lint""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        if text.chars().any(char::is_control) {
            return Err("it holds a control character".to_owned());
        }
        if text.contains('/') && !text.starts_with('/') {
            let why = "it would be found in the workspace, where callers write what they like";
            return Err(why.to_owned());
        }
        Ok(text.into())
    }
}

impl CodeConfig {
    /// The program and first arguments of the interpreter that is called so.
    pub fn interpreter(&self, name: &str) -> Option<Vec<String>> {
        let own = TaskName::parse(name)
            .ok()
            .and_then(|name| self.interpreters.get(&name));
        let given = INTERPRETERS.iter().find(|(given, _)| *given == name);
        own.map(|own| own.argv().to_vec())
            .or_else(|| given.map(|(_, program)| vec![(*program).to_owned()]))
    }

    /// The names of all, sorted.
    pub fn interpreter_names(&self) -> Vec<&str> {
        let own = self.interpreters.keys().map(TaskName::as_str);
        let mut names: Vec<_> = own.chain(INTERPRETERS.map(|(name, _)| name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_not_looked_for_in_the_workspace() {
        for name in ["cargo", "/usr/bin/make"] {
            assert!(ProgramName::parse(name).is_ok(), "{name}");
        }
        for name in ["", "./run-tests", "bin/x", "a\nb"] {
            assert!(ProgramName::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn interpreters_are_added_or_take_the_place_of_others() {
        let code: CodeConfig =
            toml::from_str("[interpreters]\nruby = [\"ruby\", \"-w\"]\npython = [\"/opt/python\"]")
                .unwrap();
        assert_eq!(code.interpreter("ruby").unwrap(), ["ruby", "-w"]);
        assert_eq!(code.interpreter("python").unwrap(), ["/opt/python"]);
        assert_eq!(code.interpreter("shell").unwrap(), ["sh"]);
        assert_eq!(code.interpreter("perl"), None);
        let names = ["bash", "node", "python", "ruby", "shell"];
        assert_eq!(code.interpreter_names(), names);
    }
}
