//! Signatures of commits and tags: by which key they are made, and whose are known.

use std::path::PathBuf;

use super::command::GitCommand;
use super::{Error, Git};
use crate::config::SigningFormat;
use crate::model::{ErrorKind, Problem};

/// As the operator configured it.
#[derive(Debug, Clone)]
pub struct Signing {
    /// The path of a private key, or the id of one that gpg has.
    pub key: Option<String>,
    pub format: SigningFormat,
    pub allowed_signers: Option<PathBuf>,
}

impl Git {
    /// Whether something is to be signed: as the caller says, else wherever there is a key.
    pub fn is_to_sign(&self, wanted: Option<bool>) -> Result<bool, Problem> {
        let can_sign = self.settings().signing.key.is_some();
        match wanted {
            Some(true) if !can_sign => Err(Problem::new(
                ErrorKind::Conflict,
                "no_signing_key",
                "the daemon has no key to sign with",
            )
            .field("sign")
            .help("the operator sets `signing_key` in [git]; leave out `sign` to go without a signature")),
            wanted => Ok(wanted.unwrap_or(can_sign)),
        }
    }
}

impl GitCommand {
    /// Has the operator's key used, where the command that follows signs something.
    #[must_use]
    pub fn with_key(self) -> Self {
        let signing = self.settings().signing.clone();
        let Some(key) = signing.key else {
            return self;
        };
        self.args(["-c", &format!("user.signingKey={key}")])
            .args(["-c", &format!("gpg.format={}", signing.format.as_str())])
    }

    /// Has signatures held against the signers that the operator knows.
    #[must_use]
    pub fn with_signers(self) -> Self {
        let known = self.settings().signing.allowed_signers.clone();
        // Without a file git refuses to look at all; an empty one knows nobody.
        let known = known.unwrap_or_else(|| "/dev/null".into());
        let known = format!("gpg.ssh.allowedSignersFile={}", known.display());
        self.args(["-c", &known])
    }
}

/// What git said when it could not sign.
pub fn unsigned(error: Error) -> Error {
    match error {
        Error::Refused { stderr, .. } => Problem::new(
            ErrorKind::Conflict,
            "signing_failed",
            format!("it could not be signed: {stderr}"),
        )
        .field("sign")
        .help(
            "the operator looks at `signing_key` in [git]; `sign: false` goes without a signature",
        )
        .into(),
        other => other,
    }
}
