//! The keys of `[auth.jwt]`, in a file that may be changed under a daemon that runs.

use std::sync::Arc;

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey};
use parking_lot::Mutex;

use super::keys::{Key, Keys};
use branchyard_config::{JwtConfig, Stamp, stamp};

const BEGIN: &str = "-----BEGIN ";
const PUBLIC_KEYS: [&str; 2] = ["PUBLIC KEY", "RSA PUBLIC KEY"];
/// All that fit are tried, so they have to be few.
const MOST: usize = 16;

#[derive(Debug)]
pub(super) struct KeyFile {
    config: JwtConfig,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    stamp: Stamp,
    keys: Arc<Keys>,
}

impl KeyFile {
    pub(super) fn open(config: &JwtConfig) -> Result<Self, String> {
        let stamp = stamp(&config.key_file);
        let keys = Arc::new(read(config)?);
        Ok(Self {
            config: config.clone(),
            seen: Mutex::new(Seen { stamp, keys }),
        })
    }

    /// The keys as they are now. Those from before go on to count where a new file cannot be used; that is
    /// said once for each change.
    pub(super) fn keys(&self) -> Arc<Keys> {
        let mut seen = self.seen.lock();
        // Before the content: what is written in between is seen the next time.
        let stamp = stamp(&self.config.key_file);
        if seen.stamp != stamp {
            seen.stamp = stamp;
            let file = self.config.key_file.display();
            match read(&self.config) {
                Ok(keys) => {
                    seen.keys = Arc::new(keys);
                    tracing::info!(%file, "the keys for tokens have changed");
                }
                Err(error) => {
                    tracing::error!(%file, error, "the keys for tokens stay as they were");
                }
            }
        }
        seen.keys.clone()
    }
}

fn read(config: &JwtConfig) -> Result<Keys, String> {
    let text = config.read_key()?;
    let keys = match config.is_secret() {
        true => secret(&text, &config.algorithms)?,
        false => public(&text, &config.algorithms)?,
    };
    let lacks = |algorithm: &&Algorithm| !keys.has_one_for(**algorithm);
    match config.algorithms.iter().find(lacks) {
        Some(algorithm) => Err(format!("it has no key for {algorithm:?}")),
        None => Ok(keys),
    }
}

/// As it stands, without the newline at its end.
fn secret(text: &str, accepted: &[Algorithm]) -> Result<Keys, String> {
    let secret = text.trim_end_matches(['\r', '\n']);
    // Its other half is public, or it is itself: with either everybody could sign.
    if secret.contains(BEGIN) || Keys::of_set(secret.as_bytes(), &[]).is_ok() {
        return Err(
            "it holds a key pair's key or a set of keys, not a secret for HS256 and its like; \
             name the algorithm of the keys, such as RS256"
                .to_owned(),
        );
    }
    let longest = accepted.iter().copied().map(secret_bytes).max();
    let needed = longest.unwrap_or_default();
    if secret.len() < needed {
        return Err(format!("the secret is shorter than {needed} characters"));
    }
    let key = Key::secret(secret.as_bytes(), accepted);
    Ok(Keys::unnamed(vec![key]))
}

/// As many as the hash has (RFC 7518, 3.2).
fn secret_bytes(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::HS512 => 64,
        Algorithm::HS384 => 48,
        _ => 32,
    }
}

fn public(text: &str, accepted: &[Algorithm]) -> Result<Keys, String> {
    if text.trim_start().starts_with('{') {
        let keys = Keys::of_set(text.as_bytes(), accepted)?;
        return match keys.is_empty() {
            true => Err("it has no key that can be used".to_owned()),
            false => Ok(keys),
        };
    }
    let blocks: Vec<&str> = text
        .match_indices(BEGIN)
        .map(|(at, _)| &text[at..])
        .collect();
    if blocks.is_empty() {
        return Err(
            "it is neither PEM nor a JWK set; for a secret, name its algorithm, such as HS256"
                .to_owned(),
        );
    }
    if blocks.len() > MOST {
        return Err(format!("it has more than {MOST} keys"));
    }
    let keys = blocks.into_iter().map(|block| pem(block, accepted));
    Ok(Keys::unnamed(keys.collect::<Result<_, _>>()?))
}

/// The key at the beginning of this text.
fn pem(text: &str, accepted: &[Algorithm]) -> Result<Key, String> {
    let label = text
        .strip_prefix(BEGIN)
        .and_then(|rest| rest.split_once("-----"));
    let label = label.map_or("", |(label, _)| label);
    if !PUBLIC_KEYS.contains(&label) {
        return Err(format!(
            "it holds a {label:?}; expected public keys only (`openssl pkey -pubout`)"
        ));
    }
    let bytes = text.as_bytes();
    let key = DecodingKey::from_rsa_pem(bytes)
        .or_else(|_| DecodingKey::from_ec_pem(bytes))
        .or_else(|_| DecodingKey::from_ed_pem(bytes));
    let jwk = key.and_then(|key| Jwk::from_decoding_key(&key, None));
    let jwk = jwk.map_err(|_| "a key in it is damaged, or of a kind that is not known here")?;
    Key::of(&jwk, accepted).map_err(|rule| format!("a key in it cannot be used: {rule}"))
}
