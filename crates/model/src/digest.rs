//! Contents by their digest, as the API writes it.

use std::fmt::Write;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// So much is read at a time.
const PART: usize = 64 << 10;

/// In small hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

/// The same of all that there is to read.
pub fn sha256_of(mut content: impl Read) -> io::Result<String> {
    let (mut hash, mut part) = (Sha256::new(), vec![0; PART]);
    loop {
        match content.read(&mut part)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&part[..read]),
        }
    }
}

fn hex(digest: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in digest {
        // A string takes whatever is written to it.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
