//! The configuration file: its values, and where in it each of them stands.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, InFile};
use super::keys;
use super::values::Values;

/// A file that was read, or the absence of one, which is all defaults.
#[derive(Default)]
pub(super) struct Document {
    path: PathBuf,
    text: String,
    values: Values,
}

impl Document {
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(path, text),
            Err(source) => Err(ConfigError::Read {
                path: path.to_owned(),
                source,
            }),
        }
    }

    pub(crate) fn parse(path: &Path, text: String) -> Result<Self, ConfigError> {
        match toml::from_str(&text) {
            Ok(values) => Ok(Self {
                path: path.to_owned(),
                text,
                values,
            }),
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let mut message = error.message().to_owned();
                if let Some(hint) = unknown_field(&message).and_then(keys::hint) {
                    message = format!("{message}; {hint}");
                }
                Err(ConfigError::InFile(Box::new(InFile::of_parser(
                    path, &text, span, &message,
                ))))
            }
        }
    }

    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    /// The file itself, where there is one.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        let is_there = !self.path.as_os_str().is_empty();
        is_there.then(|| std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()))
    }

    /// The directory that relative paths in the file start from.
    pub(crate) fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// The error that shows a fault where it stands, or by its key where no file sets it.
    pub(crate) fn error(&self, fault: &Fault) -> ConfigError {
        let tree = DeTable::parse(&self.text).ok();
        let span = tree.as_ref().and_then(|tree| {
            let mut keys = fault.keys().iter();
            keys.find_map(|key| span_of(tree.get_ref(), key))
        });
        match span {
            Some(span) => ConfigError::InFile(Box::new(InFile::new(
                &self.path,
                &self.text,
                span,
                fault.message(),
            ))),
            None => ConfigError::Default {
                key: fault
                    .keys()
                    .first()
                    .map_or_else(String::new, |key| key.join(".")),
                message: fault.message().to_owned(),
            },
        }
    }
}

fn span_of(table: &DeTable<'_>, key: &[String]) -> Option<Range<usize>> {
    let (first, rest) = key.split_first()?;
    let value = table.get(first.as_str())?;
    match value.get_ref() {
        DeValue::Table(table) if !rest.is_empty() => span_of(table, rest),
        _ => rest.is_empty().then(|| value.span()),
    }
}

fn unknown_field(message: &str) -> Option<&str> {
    message.strip_prefix("unknown field `")?.split('`').next()
}

/// A value that is wrong only beside others: the keys to blame, the first that the file has being shown.
pub(super) struct Fault {
    keys: Vec<Vec<String>>,
    message: String,
}

impl Fault {
    pub(crate) fn new(key: &[&str], message: impl Into<String>) -> Self {
        let message = message.into();
        let keys = Vec::new();
        Self { keys, message }.or_at(key)
    }

    #[must_use]
    pub(crate) fn or_at(mut self, key: &[&str]) -> Self {
        self.keys
            .push(key.iter().map(|part| (*part).to_owned()).collect());
        self
    }

    pub(crate) fn keys(&self) -> &[Vec<String>] {
        &self.keys
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        match Document::parse(Path::new("yard.toml"), text.to_owned()) {
            Ok(_) => panic!("{text:?} was accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn refusals_show_the_place_and_what_was_expected() {
        assert_eq!(
            refusal("# yard\nlisen = \"127.0.0.1:1\"\n"),
            "yard.toml:2:1: unknown field `lisen`, expected one of `listen`, `socket`, \
             `workspaces`, `key_file`, `allowed_hosts`, `allowed_origins`, `log`, `auth`, `tls`, \
             `limits`, `timeouts`, `git`, `build`, `reaper`, `history`, `audit`, `mcp`, `secrets`, \
             `sandbox`, `repos`\n  |\n2 | lisen = \"127.0.0.1:1\"\n  | ^^^^^"
        );
        assert_eq!(
            refusal("[timeouts]\nrun = \"10 parsecs\"\n"),
            "yard.toml:2:7: invalid value \"10 parsecs\": \"parsecs\" is not a unit of time; \
             expected a duration such as \"10s\", \"1h 30m\" or \"7d\"\n  |\n\
             2 | run = \"10 parsecs\"\n  |       ^^^^^^^^^^^^"
        );
        assert_eq!(
            refusal("[limits]\nmax_body = 1024\n"),
            "yard.toml:2:12: invalid type: integer `1024`, expected a size such as \"512MiB\", \
             \"64KiB\" or \"2GB\"\n  |\n2 | max_body = 1024\n  |            ^^^^"
        );
        assert_eq!(
            refusal("[limits]\nmax_jobs = 0\n"),
            "yard.toml:2:12: invalid value: integer `0`, expected a whole number from 1 to 65535\n  \
             |\n2 | max_jobs = 0\n  |            ^"
        );
        assert_eq!(
            refusal("[history]\nmax_runs = 0\n"),
            "yard.toml:2:12: invalid value: integer `0`, expected a whole number from 1 to \
             1000000000\n  |\n2 | max_runs = 0\n  |            ^"
        );
        assert_eq!(
            refusal("[history]\nlisten = \"x\"\n"),
            "yard.toml:2:1: unknown field `listen`, expected one of `keep`, `max_runs`, \
             `max_bytes`; listen belongs at the top, before the first section\n  |\n\
             2 | listen = \"x\"\n  | ^^^^^^"
        );
        assert_eq!(
            refusal("[repos.a]\nurl = \"/a\"\nprewarm = [\"main\", \"a..b\"]\n"),
            "yard.toml:3:20: \"a..b\" is not a branch name: '..' and '@{' are revision syntax\n  |\n\
             3 | prewarm = [\"main\", \"a..b\"]\n  |                    ^^^^^^"
        );
    }

    #[test]
    fn every_kind_of_fault_has_its_line() {
        for (text, start) in [
            ("listen = \"x", "yard.toml:1:"),
            ("\n\n[git\n", "yard.toml:3:5: "),
            ("listen = 5", "yard.toml:1:10: invalid type"),
            (
                "[repos.\"a b\"]\nurl = \"x\"",
                "yard.toml:1:8: \"a b\" is not a repository name",
            ),
            (
                "[repos]\na = \"x\"",
                "yard.toml:2:5: invalid type: string \"x\", expected a section [repos.NAME]",
            ),
            (
                "\n[repos.a]\nprewarm = []",
                "yard.toml:2:1: missing field `url`",
            ),
            (
                "[repos.a]\nurl = \"x\"\ntasks = { Lint = [\"x\"] }",
                "yard.toml:3:11: invalid value \"Lint\"",
            ),
            (
                "[repos.a]\nurl = \"x\"\ntasks = { lint = [] }",
                "yard.toml:3:18: a task needs a program",
            ),
            (
                "[repos.a]\nurl = \"x\"\nbuild_output = [\"!x\"]",
                "yard.toml:3:17: invalid value \"!x\"",
            ),
            (
                "[repos.a]\nurl = \"x\"\nenv = { \"A B\" = \"\" }",
                "yard.toml:3:9: invalid value \"A B\"",
            ),
            (
                "[repos.a]\nurl = \"x\"\nmax_concurrent_runs = -1",
                "yard.toml:3:23: invalid value",
            ),
            (
                "[git]\nallow_protocols = [\"ext\"]",
                "yard.toml:2:20: unknown variant `ext`, expected one of `https`",
            ),
            (
                "[timeouts]\nremote = \"0s\"",
                "yard.toml:2:10: it must be longer than zero",
            ),
            (
                "log = \"inof\"",
                "yard.toml:1:7: invalid value \"inof\": \"inof\" is not a level",
            ),
            (
                "allowed_hosts = [\"http://x\"]",
                "yard.toml:1:18: invalid value",
            ),
            ("allowed_origins = [\"*\"]", "yard.toml:1:20: invalid value"),
            ("[build]\npath = \"bin\"", "yard.toml:2:8: invalid value"),
            (
                "listen = \"127.0.0.1:1\"\nlisten = \"127.0.0.1:1\"",
                "yard.toml:2:1: duplicate key",
            ),
        ] {
            let message = refusal(text);
            assert!(message.starts_with(start), "{text:?} gave {message}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        for text in [
            "[repos.a]\nurl = \"https://u:S3CRET@host/a\n",
            "[repos.a]\nurl = \"/a\"\nenv = { A = \"S3CRET\", B = 5 }\n",
            "[repos.a.env]\nA = 53217\nB = \"S3CRET\"\n",
            "[repos.a.env]\nA = S3CRET\n",
            "[repos.a]\nurl = \"/a\"\nenv = \"S3CRET\"\n",
            "[repos]\na = \"https://u:S3CRET@host/a\"\n",
            "[repos]\na = \"u:S3CRET@host:a\"\n",
            "allowed_origins = [\"https://u:S3CRET@host\"]\n",
            "[repos.a]\nurl = \"/a\"\n\"https://u:S3CRET@host\" = 1\n",
        ] {
            let message = refusal(text);
            assert!(
                !message.contains("S3CRET") && !message.contains("53217"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_fault_between_keys_is_shown_at_the_first_that_is_there() {
        let text = "[timeouts]\nrun_max = \"10m\"\n".to_owned();
        let document = Document::parse(Path::new("yard.toml"), text).unwrap();
        let fault = document.values.timeouts.check().unwrap_err();
        assert_eq!(
            document.error(&fault).to_string(),
            "yard.toml:2:11: timeouts.run (1h) is longer than timeouts.run_max (10m); expected at \
             most run_max\n  |\n2 | run_max = \"10m\"\n  |           ^^^^^"
        );
        let nowhere = Fault::new(&["workspaces"], "no HOME");
        assert_eq!(document.error(&nowhere).to_string(), "workspaces: no HOME");
    }
}
