//! Contents by their digest, as the API writes it.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// In small hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(content) {
        // A string takes whatever is written to it.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
