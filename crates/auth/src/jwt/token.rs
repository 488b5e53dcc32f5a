//! A token taken apart, with nothing of it believed yet.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::claims::Claims;
use super::refusal::Refusal;

/// Far more than an issuer makes of one; what is larger is not even decoded.
const MAX_BYTES: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) algorithm: Algorithm,
    /// The name of the key that it says it is signed with. It is compared, and never looked up anywhere.
    pub(super) kid: Option<String>,
    pub(super) claims: Claims,
    /// What was signed.
    pub(super) message: &'a str,
    pub(super) signature: &'a str,
}

/// What counts of a header. Keys and addresses of keys (`jwk`, `jku`, `x5c`, `x5u`) do not: whoever made
/// the token chose them.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<serde::de::IgnoredAny>,
}

impl<'a> Token<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, Refusal> {
        if text.len() > MAX_BYTES {
            return Err(Refusal::Token("is too long"));
        }
        let unreadable = Refusal::Token("is not a JWT that can be read");
        let (message, signature) = text.rsplit_once('.').ok_or(unreadable)?;
        let (header, claims) = message.split_once('.').ok_or(unreadable)?;
        let header: Header = decoded(header).ok_or(unreadable)?;
        let claims = Claims::new(decoded(claims).ok_or(unreadable)?);
        // What is critical is not to be ignored, and there is nothing more that is understood here.
        if header.crit.is_some() {
            return Err(Refusal::Token(
                "has a critical extension, and none is known here",
            ));
        }
        if !header.typ.as_deref().is_none_or(is_access_token) {
            return Err(Refusal::Token("is of a type that is not for access"));
        }
        let algorithm = header.alg.parse();
        Ok(Self {
            algorithm: algorithm.map_err(|_| UNKNOWN_ALGORITHM)?,
            kid: header.kid,
            claims,
            message,
            signature,
        })
    }
}

/// As for every other algorithm that does not count here.
pub(super) const UNKNOWN_ALGORITHM: Refusal =
    Refusal::Token("is signed with an algorithm that is not accepted here");

/// Tokens of other kinds, such as those that say goodbye, may be signed with the same keys.
fn is_access_token(typ: &str) -> bool {
    let typ = typ.to_ascii_lowercase();
    let typ = typ.strip_prefix("application/").unwrap_or(&typ);
    matches!(typ, "jwt" | "at+jwt")
}

fn decoded<T: DeserializeOwned>(part: &str) -> Option<T> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok()
}
