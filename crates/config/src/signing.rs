//! What the daemon signs commits and tags with, and whose signatures it knows.

use std::path::{Path, PathBuf};

use super::value::{TextValue, text_value};

/// The path of a private key, or the id of one that gpg has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningFormat {
    Ssh,
    Openpgp,
}

/// A file with a line for each known signer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedSigners(PathBuf);

impl SigningKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file that it is, unless gpg has it.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.is_path().then(|| PathBuf::from(&self.0))
    }

    pub(super) fn is_path(&self) -> bool {
        Path::new(&self.0).is_absolute()
    }
}

impl TextValue for SigningKey {
    const EXPECTED: &'static str = r#"a path such as "/etc/branchyard/signing_key", or a key's id"#;

    fn from_text(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err("it is empty or holds control characters".to_owned());
        }
        // gpg would take it for an option.
        if text.starts_with('-') {
            return Err("it begins with '-'".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}
text_value!(SigningKey);

impl SigningFormat {
    /// As `gpg.format` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ssh => "ssh",
            Self::Openpgp => "openpgp",
        }
    }
}

impl TextValue for SigningFormat {
    const EXPECTED: &'static str = r#""ssh" or "openpgp""#;

    fn from_text(text: &str) -> Result<Self, String> {
        [Self::Ssh, Self::Openpgp]
            .into_iter()
            .find(|format| format.as_str() == text)
            .ok_or_else(|| "it is not a format of signatures".to_owned())
    }
}
text_value!(SigningFormat);

impl AllowedSigners {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl TextValue for AllowedSigners {
    const EXPECTED: &'static str = r#"an absolute path such as "/etc/branchyard/allowed_signers""#;

    fn from_text(text: &str) -> Result<Self, String> {
        match Path::new(text).is_absolute() && !text.chars().any(char::is_control) {
            true => Ok(Self(text.into())),
            false => Err("it is not an absolute path".to_owned()),
        }
    }
}
text_value!(AllowedSigners);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_an_option() {
        for text in ["", "-x", "--homedir=/tmp", "a\nb"] {
            assert!(SigningKey::from_text(text).is_err(), "{text:?}");
        }
        assert!(SigningKey::from_text("/k").is_ok_and(|key| key.is_path()));
        assert!(SigningKey::from_text("0xABCD").is_ok_and(|key| !key.is_path()));
        assert!(SigningFormat::from_text("x509").is_err());
        assert!(AllowedSigners::from_text("signers").is_err());
    }
}
