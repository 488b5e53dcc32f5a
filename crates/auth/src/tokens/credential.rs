//! What a token looks like: `byt_<id>_<secret>`, which scanners for leaked secrets can be told to look for.

use std::fmt;
use std::io;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use branchyard_config::random_hex;

pub(super) const PREFIX: &str = "byt_";
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;

/// A whole token, which its holder is shown once. `Debug` never shows it.
#[derive(Clone)]
pub struct Credential {
    id: String,
    secret: String,
}

impl Credential {
    pub(super) fn generate() -> io::Result<Self> {
        Ok(Self {
            id: random_hex::<ID_BYTES>()?,
            secret: random_hex::<SECRET_BYTES>()?,
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        hash(&self.secret)
    }

    pub fn expose(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.secret)
    }
}

/// What was shown: whose it claims to be, and the hash of what proves it. `None` where it cannot be one.
pub(super) fn read(credential: &str) -> Option<(&str, [u8; 32])> {
    let (id, secret) = parts(credential)?;
    let is_one = is_hex(id, ID_BYTES) && is_hex(secret, SECRET_BYTES);
    is_one.then(|| (id, hash(secret)))
}

fn parts(credential: &str) -> Option<(&str, &str)> {
    credential.strip_prefix(PREFIX)?.split_once('_')
}

/// Whether a name could be taken for an id.
pub(super) fn is_id(text: &str) -> bool {
    is_hex(text, ID_BYTES)
}

/// A plain hash will do: nobody guesses 256 random bits, however fast each try is. A slow one is for what
/// people choose, and would have every request pay for it.
fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn is_hex(text: &str, bytes: usize) -> bool {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.len() == 2 * bytes && text.bytes().all(is_digit)
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({PREFIX}{}_…)", self.id)
    }
}

/// For the one answer that holds it.
impl Serialize for Credential {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.expose())
    }
}

impl<'de> Deserialize<'de> for Credential {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let parts = parts(&text);
        let (id, secret) = parts.ok_or_else(|| D::Error::custom("this is no token"))?;
        Ok(Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written_and_never_shown() {
        let credential = Credential::generate().unwrap();
        let text = credential.expose();
        assert_eq!(read(&text), Some((credential.id(), credential.hash())));
        assert!(!format!("{credential:?}").contains(&credential.secret));
        assert_ne!(text, Credential::generate().unwrap().expose());
    }

    #[test]
    fn nothing_else_is_one() {
        let text = Credential::generate().unwrap().expose();
        let upper = text.to_uppercase().replace("BYT", "byt");
        let longer = format!("{text}0");
        for other in [
            "",
            "byt_",
            "byt__",
            "byt_é_ü",
            &text[..text.len() - 1],
            &text[1..],
            &longer,
            &upper,
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
