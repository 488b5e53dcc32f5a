//! What git has in the place of a file that git-lfs keeps.

use std::io::{self, Read};

use aws_lc_rs::digest::{Context, SHA256};

const VERSION: &str = "version https://git-lfs.github.com/spec/v1";
const HASH: &str = "sha256:";
const HASH_DIGITS: usize = 64;
const PORTION: usize = 256 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LfsPointer {
    /// SHA-256 of the content, in lower case.
    hash: String,
    size: u64,
}

impl LfsPointer {
    /// No pointer is longer.
    pub(crate) const MOST: u64 = 1024;

    /// `None` if it is none, or one whose content programs of the repository's own would have to make.
    pub fn parse(content: &[u8]) -> Option<Self> {
        let text = str::from_utf8(content).ok()?;
        let mut lines = text.trim_end().lines();
        let (version, hash, size) = (lines.next()?, lines.next()?, lines.next()?);
        let hash = hash.strip_prefix("oid ")?.strip_prefix(HASH)?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_plain = version == VERSION
            && lines.next().is_none()
            && hash.len() == HASH_DIGITS
            && hash.bytes().all(is_digit);
        let size = size.strip_prefix("size ")?.parse().ok()?;
        is_plain.then(|| Self {
            hash: hash.to_owned(),
            size,
        })
    }

    pub fn hash(&self) -> &str {
        &self.hash
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads `from` to its end, or to where it is longer than the content, and writes that to `to`. Returns whether it was
    /// the content.
    pub(crate) fn copy(&self, mut from: impl Read, mut to: impl io::Write) -> io::Result<bool> {
        let mut context = Context::new(&SHA256);
        let (mut portion, mut left) = (vec![0; PORTION], self.size);
        loop {
            let read = match from.read(&mut portion) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let Some(rest) = left.checked_sub(read as u64) else {
                return Ok(false);
            };
            left = rest;
            context.update(&portion[..read]);
            to.write_all(&portion[..read])?;
        }
        Ok(left == 0 && in_digits(context.finish().as_ref()) == self.hash)
    }

    /// Whether that is the content.
    pub(crate) fn is_of(&self, content: impl Read) -> io::Result<bool> {
        self.copy(content, io::sink())
    }
}

fn in_digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn pointer(hash: &str, size: &str) -> String {
        format!("{VERSION}\noid sha256:{hash}\nsize {size}\n")
    }

    #[test]
    fn what_git_lfs_writes_is_one() {
        let found = LfsPointer::parse(pointer(OF_ABC, "3").as_bytes()).unwrap();
        assert_eq!((found.hash(), found.size()), (OF_ABC, 3));
    }

    #[test]
    fn nothing_else_is() {
        let upper = OF_ABC.to_ascii_uppercase();
        for text in [
            String::new(),
            pointer(&OF_ABC[1..], "3"),
            pointer(&upper, "3"),
            pointer(&format!("../{}", &OF_ABC[3..]), "3"),
            pointer(OF_ABC, "-3"),
            pointer(OF_ABC, ""),
            pointer(OF_ABC, "3").replace("v1", "v2"),
            format!("{}ext-0-x sha256:{OF_ABC}\n", pointer(OF_ABC, "3")),
            pointer(OF_ABC, "3").replace('\n', " "),
        ] {
            assert_eq!(LfsPointer::parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(LfsPointer::parse(b"\xff\xfe"), None);
    }

    #[test]
    fn a_content_is_known_by_its_hash_and_length() {
        let pointer = LfsPointer::parse(pointer(OF_ABC, "3").as_bytes()).unwrap();
        let copied = |content: &str| {
            let mut to = Vec::new();
            (pointer.copy(content.as_bytes(), &mut to).unwrap(), to)
        };
        assert_eq!(copied("abc"), (true, b"abc".to_vec()));
        assert!(!copied("abd").0 && !copied("ab").0 && !copied("").0);
        // Of one that is longer nothing is written on.
        assert_eq!(copied("abcd"), (false, Vec::new()));
    }
}
