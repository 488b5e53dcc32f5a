//! The key that inputs are digested with. A digest stands in records, and what goes into it may be a secret
//! that is short enough to be guessed; without the key no guess can be tried.

use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use branchyard_config::random_hex;
use branchyard_runtime::disk::write_private;

/// What the hash works on at a time.
const BLOCK: usize = 64;
/// Characters of the key.
const LENGTH: usize = 64;

/// It is a secret, hence no `Debug` of its content.
pub(crate) struct ReuseKey(String);

impl ReuseKey {
    /// The key in the state directory, made where there is none. Lost, no earlier run answers any more.
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        let path = state.join("reuse.key");
        match std::fs::read_to_string(&path) {
            Ok(key) if key.len() == LENGTH => return Ok(Self(key)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %path.display(), "the key of reused runs cannot be read; another is made");
            }
            _ => {}
        }
        let key = random_hex::<{ LENGTH / 2 }>()?;
        // On a full disk it serves as long as this daemon.
        if let Err(error) = write_private(&path, key.as_bytes()) {
            tracing::warn!(%error, path = %path.display(), "the key of reused runs cannot be kept");
        }
        Ok(Self(key))
    }

    /// HMAC-SHA256, in hex.
    pub(crate) fn digest(&self, text: &[u8]) -> String {
        let pad = |byte: u8| {
            let mut block = [byte; BLOCK];
            for (byte, key) in block.iter_mut().zip(self.0.as_bytes()) {
                *byte ^= key;
            }
            block
        };
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text);
        let outer = Sha256::new().chain_update(pad(0x5c));
        let digest = outer.chain_update(inner.finalize()).finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Debug for ReuseKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReuseKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_one_of_the_standard() {
        // RFC 4231, test case 2.
        let digest = ReuseKey("Jefe".to_owned()).digest(b"what do ya want for nothing?");
        assert_eq!(
            digest,
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_key_is_kept_for_its_owner_and_a_broken_one_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("reuse.key");
        let first = ReuseKey::open(dir.path()).unwrap().0;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(ReuseKey::open(dir.path()).unwrap().0, first);
        std::fs::write(&path, "short").unwrap();
        let second = ReuseKey::open(dir.path()).unwrap().0;
        assert_ne!(second, first);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), second);
    }
}
