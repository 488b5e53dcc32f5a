//! The configuration file: its text, and the values in it.

use std::path::Path;

use super::config_file::ConfigFile;
use super::error::{ConfigError, InFile};
use super::keys;
use super::values::Values;

/// A file that was read, or the absence of one, which is all defaults.
#[derive(Default)]
pub(super) struct Document {
    pub file: ConfigFile,
    pub values: Values,
}

pub(super) fn read(path: &Path) -> Result<Document, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(path, text),
        Err(source) => Err(ConfigError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

pub(super) fn parse(path: &Path, text: String) -> Result<Document, ConfigError> {
    match toml::from_str(&text) {
        Ok(values) => Ok(Document {
            file: ConfigFile::new(path, text),
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

fn unknown_field(message: &str) -> Option<&str> {
    message.strip_prefix("unknown field `")?.split('`').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config_file::Fault;

    fn refusal(text: &str) -> String {
        match parse(Path::new("yard.toml"), text.to_owned()) {
            Ok(_) => panic!("{text:?} was accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn refusals_show_the_place_and_what_was_expected() {
        assert_eq!(
            refusal("# yard\nlisen = \"127.0.0.1:1\"\n"),
            "yard.toml:2:1: unknown field `lisen`, expected one of `listen`, `socket`, \
             `workspaces`, `key_file`, `allowed_hosts`, `allowed_origins`, `public_url`, `log`, `auth`, `tls`, \
             `limits`, `timeouts`, `git`, `build`, `code`, `reaper`, `history`, `pipelines`, `artifacts`, `caches`, `audit`, `mcp`, `secrets`, `forges`, \
             `webhooks`, `after`, `sandbox`, `repos`\n  |\n2 | lisen = \"127.0.0.1:1\"\n  | ^^^^^"
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
        let document = parse(Path::new("yard.toml"), text).unwrap();
        let fault = document.values.timeouts.check().unwrap_err();
        assert_eq!(
            document.file.error(&fault).to_string(),
            "yard.toml:2:11: timeouts.run (1h) is longer than timeouts.run_max (10m); expected at \
             most run_max\n  |\n2 | run_max = \"10m\"\n  |           ^^^^^"
        );
        let nowhere = Fault::new(&["workspaces"], "no HOME");
        assert_eq!(
            document.file.error(&nowhere).to_string(),
            "workspaces: no HOME"
        );
    }
}
