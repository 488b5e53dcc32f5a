//! HMAC-SHA256, which all signatures of webhooks are.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Of all parts, one after the other.
pub(crate) fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mac = Hmac::<Sha256>::new_from_slice(key);
    let mut mac = mac.expect("HMAC takes keys of every length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}
