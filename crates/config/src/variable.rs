//! Environment variables of builds: names that a shell can set, values that nobody prints.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reserved::is_own_variable;
use super::value::{Text, TextKind};

/// The name of an environment variable that a build may be given.
pub type EnvName = Text<Variables>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variables {}

/// The value of an environment variable. It may be a secret, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct EnvValue(String);

impl EnvValue {
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Whether the value of a variable of this name is to be kept out of output and logs. It judges by
/// what people call such things, and rather hides too much.
pub fn is_secret_name(name: &str) -> bool {
    /// Anywhere, also within a word: `MYTOKEN`, `PGPASSWORD`.
    const PARTS: [&str; 9] = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "API_KEY",
        "APIKEY",
        "ACCESS_KEY",
    ];
    /// Too short or too common to be looked for within a word (`MONKEY`, `PATH`), or alone (`PWD`).
    const ENDINGS: [&str; 6] = ["_KEY", "_PAT", "_AUTH", "_PASS", "_PWD", "_DSN"];
    /// These say where a secret is kept, or are meant to be seen.
    const OPEN: [&str; 5] = ["_FILE", "_PATH", "_DIR", "PUBLIC_KEY", "_SOCK"];

    // `TOKENIZERS_PARALLELISM` and the like speak of another kind of token.
    let name = name.to_ascii_uppercase().replace("TOKENI", "");
    if OPEN.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    PARTS.iter().any(|part| name.contains(part))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        // A word of its own: `GOPRIVATE` lists hosts.
        || name.split('_').any(|word| word == "PRIVATE")
}

impl TextKind for Variables {
    const EXPECTED: &'static str = r#"the name of an environment variable, such as "RUST_LOG""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if text.is_empty() || text.as_bytes()[0].is_ascii_digit() || !text.bytes().all(plain) {
            return Err(
                "it is not made of letters, digits and '_', starting with no digit".to_owned(),
            );
        }
        if is_own_variable(text) {
            return Err("BRANCHYARD_* is what the daemon tells builds about themselves".to_owned());
        }
        Ok(text.into())
    }
}
impl TryFrom<String> for EnvValue {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.contains('\0') {
            true => Err("an environment variable cannot hold a NUL"),
            false => Ok(Self(text)),
        }
    }
}

impl fmt::Debug for EnvValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EnvValue(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_a_shell_can_set() {
        for name in ["A", "_x", "RUST_LOG", "a1"] {
            assert!(EnvName::parse(name).is_ok(), "{name} was refused");
        }
        for name in [
            "",
            "1A",
            "A=B",
            "A B",
            "A-B",
            "Ä",
            "A\0",
            "BRANCHYARD_RUN_ID",
        ] {
            assert!(EnvName::parse(name).is_err(), "{name} was accepted");
        }
    }

    #[test]
    fn names_of_secrets_are_told_from_others() {
        for name in [
            "GITHUB_TOKEN",
            "MYTOKEN",
            "npm_config__authToken",
            "CLIENT_SECRET",
            "SECRET",
            "PGPASSWORD",
            "DB_PASSWD",
            "GPG_PASSPHRASE",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "GIT_CREDENTIALS",
            "SIGNING_PRIVATE",
            "PRIVATE_KEY_PEM",
            "STRIPE_APIKEY",
            "OPENAI_API_KEY",
            "api_key",
            "SSH_KEY",
            "AZURE_PAT",
            "DOCKER_AUTH",
            "DB_PASS",
            "DB_PWD",
            "SENTRY_DSN",
        ] {
            assert!(is_secret_name(name), "{name} would be shown");
        }
        for name in [
            "",
            "PATH",
            "HOME",
            "MONKEY",
            "KEYBOARD",
            "KEYMAP",
            "PATTERN",
            "AUTHOR",
            "GIT_AUTHOR_NAME",
            "PWD",
            "OLDPWD",
            "COMPASS",
            "GOPRIVATE",
            "SSH_AUTH_SOCK",
            "TOKENIZERS_PARALLELISM",
            "GPG_PUBLIC_KEY",
            "POSTGRES_PASSWORD_FILE",
            "RUST_LOG",
            "CI",
        ] {
            assert!(!is_secret_name(name), "{name} would be hidden");
        }
    }

    #[test]
    fn a_value_is_not_in_its_debug_form() {
        let value = EnvValue("hunter2".to_owned());
        assert_eq!(format!("{value:?}"), "EnvValue(…)");
    }
}
