//! What the daemon signs commits and tags with, and whose signatures it knows.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::{Text, TextKind};

/// The path of a private key, or the id of one that gpg has.
pub type SigningKey = Text<SigningKeys>;
/// A file with a line for each known signer.
pub type AllowedSigners = Text<SignerFiles>;

#[derive(Clone, PartialEq, Eq)]
pub enum SigningKeys {}
#[derive(Clone, PartialEq, Eq)]
pub enum SignerFiles {}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SigningFormat {
    Ssh,
    Openpgp,
}

impl SigningKey {
    /// The file that it is, unless gpg has it.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.is_path().then(|| PathBuf::from(self.as_str()))
    }

    pub(super) fn is_path(&self) -> bool {
        Path::new(self.as_str()).is_absolute()
    }
}

impl TextKind for SigningKeys {
    const EXPECTED: &'static str = r#"a path such as "/etc/branchyard/signing_key", or a key's id"#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err("it is empty or holds control characters".to_owned());
        }
        // gpg would take it for an option.
        if text.starts_with('-') {
            return Err("it begins with '-'".to_owned());
        }
        Ok(text.into())
    }
}

impl SigningFormat {
    /// As `gpg.format` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ssh => "ssh",
            Self::Openpgp => "openpgp",
        }
    }
}

impl TextKind for SignerFiles {
    const EXPECTED: &'static str = r#"an absolute path such as "/etc/branchyard/allowed_signers""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        match Path::new(text).is_absolute() && !text.chars().any(char::is_control) {
            true => Ok(text.into()),
            false => Err("it is not an absolute path".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_an_option() {
        for text in ["", "-x", "--homedir=/tmp", "a\nb"] {
            assert!(SigningKey::parse(text).is_err(), "{text:?}");
        }
        assert!(SigningKey::parse("/k").is_ok_and(|key| key.is_path()));
        assert!(SigningKey::parse("0xABCD").is_ok_and(|key| !key.is_path()));
        assert!(toml::from_str::<crate::GitConfig>("signing_format = \"x509\"").is_err());
        assert!(AllowedSigners::parse("signers").is_err());
    }
}
