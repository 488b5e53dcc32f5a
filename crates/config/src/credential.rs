//! `[git.credentials."HOST"]` and `[repos.NAME.credential]`: what opens a remote over HTTP. The file
//! says where a token is kept, not the token.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::kept::{Keepable, Kept, Keys};
use super::place::Place;
use super::value::{Text, TextKind};

/// What opens a remote over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a section with token_env or token_file"
)]
pub struct CredentialConfig {
    /// The user name that goes with the token; with "bearer" there is none.
    pub username: Username,
    /// The variable in the daemon's environment that holds the token. Either this or `token_file` has to be there.
    #[schemars(extend("example" = "GIT_TOKEN"))]
    pub token_env: Option<String>,
    /// The file that holds the token, mode 600.
    #[schemars(extend("example" = "~/.config/branchyard/git-token"))]
    pub token_file: Option<PathBuf>,
    /// How the token is shown to the remote: "basic", or "bearer", which needs git 2.46 or later.
    pub scheme: Scheme,
}

/// How a token is shown to a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// As the password of a user.
    Basic,
    /// By itself, as `Authorization: Bearer`.
    Bearer,
}

/// A user name that can be sent with a password.
pub(super) type Username = Text<Usernames>;

#[derive(Clone, PartialEq, Eq)]
pub enum Usernames {}

/// A secret that `Debug` does not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A credential that was found where the file said, at least at the start.
#[derive(Debug, Clone)]
pub struct Credential {
    /// The section that it stands in, for messages.
    setting: Arc<str>,
    username: Username,
    scheme: Scheme,
    kept: Kept<Token>,
}

impl CredentialConfig {
    /// The credential of the section `at`, which messages call `setting`.
    pub(super) fn find(
        &self,
        setting: &str,
        place: &Place<'_>,
        at: &[&str],
    ) -> Result<Arc<Credential>, ConfigError> {
        let keys = Keys {
            variable: ("token_env", self.token_env.as_deref()),
            file: ("token_file", self.token_file.as_deref()),
        };
        Ok(Arc::new(Credential {
            setting: setting.into(),
            username: self.username.clone(),
            scheme: self.scheme,
            kept: Kept::find(&keys, place, at)?,
        }))
    }
}

impl Credential {
    pub fn setting(&self) -> &Arc<str> {
        &self.setting
    }

    pub fn username(&self) -> &Username {
        &self.username
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The token as it is now, or why it cannot be had.
    pub fn token(&self) -> Result<Token, String> {
        self.kept.read()
    }

    /// The file that holds the token, where one does.
    pub(super) fn file(&self) -> Option<&Path> {
        self.kept.file()
    }

    /// The token, where it stands in the environment.
    pub(super) fn token_in_environment(&self) -> Option<Token> {
        self.kept.in_environment().cloned()
    }
}

impl Keepable for Token {
    const WHAT: &'static str = "a token";
    const MAX_BYTES: usize = 16 * 1024;

    fn parse(text: &str) -> Result<Self, String> {
        let token = text.trim();
        let rule = if text.len() > Self::MAX_BYTES {
            format!("the token is longer than {} bytes", Self::MAX_BYTES)
        } else if token.is_empty() {
            "the token is empty".to_owned()
        } else if token.chars().any(char::is_control) {
            "the token has several lines or a control character in it".to_owned()
        } else {
            return Ok(Self(token.to_owned()));
        };
        Err(rule)
    }
}

impl Token {
    /// The token itself, for the one who hands it to git and the one who keeps it out of output.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Default for CredentialConfig {
    fn default() -> Self {
        Self {
            username: Username::known("x-access-token"),
            token_env: None,
            token_file: None,
            scheme: Scheme::Basic,
        }
    }
}

impl TextKind for Usernames {
    const EXPECTED: &'static str = r#"a user name such as "x-access-token" or "oauth2""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        if text.chars().any(|c| c.is_control() || c == ':') {
            return Err("a ':' or a control character cannot be sent in a user name".to_owned());
        }
        Ok(text.into())
    }
}
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config_file::ConfigFile;
    use crate::environment::Environment;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn settings(text: &str) -> CredentialConfig {
        toml::from_str(text).unwrap()
    }

    /// Or the key that is at fault and why.
    fn found(text: &str, dir: &Path) -> Result<Arc<Credential>, (String, String)> {
        let env: Environment = [("TOKEN", "t0ken"), ("BROKEN", "S3CRET\nS3CRET")]
            .into_iter()
            .collect();
        let place = Place {
            file: &ConfigFile::new(&dir.join("yard.toml"), String::new()),
            env: &env,
            home: None,
        };
        let found = settings(text).find("[git.credentials.\"h\"]", &place, &["h"]);
        found.map_err(|error| match error {
            ConfigError::Default { key, message } => (key, message),
            other => panic!("{other}"),
        })
    }

    fn token_file(dir: &Path, token: &str, mode: u32) -> PathBuf {
        let path = dir.join("token");
        fs::write(&path, token).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_token_comes_from_a_variable_or_a_file() {
        let dir = tempfile::tempdir().unwrap();
        token_file(dir.path(), "from-file\n", 0o600);
        let credential = found("token_env = \"TOKEN\"", dir.path()).unwrap();
        assert_eq!(credential.token().unwrap().expose(), "t0ken");
        assert_eq!(credential.username.as_str(), "x-access-token");
        assert_eq!(credential.scheme, Scheme::Basic);
        let text = "token_file = \"token\"\nscheme = \"bearer\"";
        let credential = found(text, dir.path()).unwrap();
        assert_eq!(credential.token().unwrap().expose(), "from-file");
        assert_eq!(credential.scheme, Scheme::Bearer);
        assert!(!format!("{credential:?}").contains("from-file"));
    }

    #[test]
    fn a_file_is_read_each_time_and_judged_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = token_file(dir.path(), "first", 0o600);
        let credential = found("token_file = \"token\"", dir.path()).unwrap();
        fs::write(&path, "second").unwrap();
        assert_eq!(credential.token().unwrap().expose(), "second");
        token_file(dir.path(), "third", 0o640);
        let refusal = credential.token().unwrap_err();
        assert!(refusal.contains("chmod 600"), "{refusal}");
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_its_key_and_never_shown() {
        let dir = tempfile::tempdir().unwrap();
        for (text, key, rule) in [
            ("", "h", "needs token_env or token_file"),
            (
                "token_env = \"A\"\ntoken_file = \"b\"",
                "h.token_file",
                "choose one",
            ),
            ("token_env = \"S3CRET\"", "h.token_env", "is not set"),
            ("token_env = \"BROKEN\"", "h.token_env", "several lines"),
            ("token_file = \"none\"", "h.token_file", "failed to read"),
        ] {
            let (at, message) = found(text, dir.path()).unwrap_err();
            assert_eq!(at, key, "{text}");
            assert!(message.contains(rule), "{message}");
            assert!(!message.contains("S3CRET"), "{message}");
        }
        for mode in [0o644, 0o640, 0o604] {
            token_file(dir.path(), "S3CRET", mode);
            let (_, message) = found("token_file = \"token\"", dir.path()).unwrap_err();
            assert!(message.contains(": chmod 600 "), "{message}");
        }
        token_file(dir.path(), " \n", 0o600);
        assert!(found("token_file = \"token\"", dir.path()).is_err());
    }
}
