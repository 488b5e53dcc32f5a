//! The session key: who has it may do everything.

use std::fmt;
use std::io;
use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};

use super::secret_file;

const MIN_CHARS: usize = 16;
const MAX_BYTES: usize = 4096;

/// A secret that `Debug` and `Display` never show. It is not comparable: compare hashes, in
/// constant time.
#[derive(Clone)]
pub struct SessionKey(String);

impl SessionKey {
    /// The key itself, for the one who writes `auth.header` and the one who checks credentials.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn generate() -> io::Result<Self> {
        random_hex::<32>().map(Self)
    }

    /// The key in a file that only its owner can read, without the white space around it.
    pub(super) fn from_file(path: &Path) -> Result<Self, String> {
        let text = secret_file::read(path, MAX_BYTES, "a key")?;
        let shown = path.display();
        Self::parse(bare(&text)).map_err(|rule| format!("{shown}: {rule}"))
    }

    /// The key, or the rule that the text breaks, without a word of it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let key = text.trim();
        if text.len() > MAX_BYTES {
            return Err(format!("the key is longer than {MAX_BYTES} bytes"));
        }
        if key.is_empty() {
            return Err("the key is empty".to_owned());
        }
        if !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("the key holds something other than visible ASCII characters".to_owned());
        }
        if key.len() < MIN_CHARS {
            return Err(format!("the key is shorter than {MIN_CHARS} characters"));
        }
        Ok(Self(key.to_owned()))
    }
}

/// So many random bytes, in hex.
pub fn random_hex<const BYTES: usize>() -> io::Result<String> {
    let mut bytes = [0u8; BYTES];
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// The key of a file that holds it alone or, as the client commands take it too, in a header line: one file serves both.
fn bare(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("Authorization: Bearer ").unwrap_or(text)
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    const KEY: &str = "0123456789abcdef";

    fn key_file(content: &str, mode: u32) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        (dir, path)
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = SessionKey::parse(KEY).unwrap();
        assert_eq!(
            format!("{key} {key:?} {key:#?}"),
            "… SessionKey(…) SessionKey(…)"
        );
        assert_eq!(key.expose(), KEY);
    }

    #[test]
    fn generated_keys_are_long_and_different() {
        let (one, two) = (
            SessionKey::generate().unwrap(),
            SessionKey::generate().unwrap(),
        );
        assert_eq!(one.expose().len(), 64);
        assert_ne!(one.expose(), two.expose());
    }

    #[test]
    fn a_key_file_is_for_its_owner_only() {
        for mode in [0o600, 0o400] {
            let (_dir, path) = key_file(&format!("  {KEY}\n"), mode);
            assert_eq!(SessionKey::from_file(&path).unwrap().expose(), KEY);
        }
        let (_dir, header) = key_file(&format!("Authorization: Bearer {KEY}\n"), 0o600);
        assert_eq!(SessionKey::from_file(&header).unwrap().expose(), KEY);
        for mode in [0o644, 0o640, 0o604, 0o620, 0o602] {
            let (_dir, path) = key_file(KEY, mode);
            let path = path.display();
            assert_eq!(
                SessionKey::from_file(Path::new(&path.to_string())).unwrap_err(),
                format!(
                    "{path} is open to others than its owner (mode {mode:03o}): chmod 600 {path}"
                )
            );
        }
    }

    #[test]
    fn weak_and_unusable_keys_are_refused_without_being_shown() {
        for (key, rule) in [
            ("", "empty"),
            (" \n", "empty"),
            ("short-S3CRET", "shorter than 16"),
            ("S3CRET in several words", "visible ASCII"),
            ("S3CRET-0123456789-ä", "visible ASCII"),
            (&"S3CRET".repeat(1000), "longer than 4096"),
        ] {
            let (_dir, path) = key_file(key, 0o600);
            let message = SessionKey::from_file(&path).unwrap_err();
            assert!(message.contains(rule), "{message}");
            assert!(!message.contains("S3CRET"), "{message}");
        }
        assert!(SessionKey::from_file(Path::new("/nonexistent/key")).is_err());
        assert!(SessionKey::from_file(Path::new("/")).is_err());
    }
}
