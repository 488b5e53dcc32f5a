//! Keys that tokens are signed with, and which of them is meant.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use super::refusal::Refusal;
use super::token::Token;

/// Of one set; each may cost a signature to try.
const MOST: usize = 100;
const SHORTEST_RSA_BYTES: usize = 2048 / 8;

#[derive(Debug)]
pub(super) struct Keys {
    keys: Vec<Key>,
    /// Whether a token has to say by name which of them it means; else all that fit are tried.
    are_named: bool,
}

#[derive(Debug)]
pub(super) struct Key {
    kid: Option<String>,
    /// What it may be used for; what a token says of itself does not widen it.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

impl Keys {
    /// Keys without names.
    pub(super) fn unnamed(keys: Vec<Key>) -> Self {
        let are_named = false;
        Self { keys, are_named }
    }

    /// A JWK set (RFC 7517). Keys in it that cannot count are passed over: sets hold keys for other uses,
    /// and of kinds that are still to come.
    pub(super) fn of_set(json: &[u8], accepted: &[Algorithm]) -> Result<Self, String> {
        let set: Set = serde_json::from_slice(json)
            .map_err(|error| format!("it is not a set of keys: {error}"))?;
        if set.keys.len() > MOST {
            return Err(format!("it has more than {MOST} keys"));
        }
        let read = |key: Value| {
            let key = serde_json::from_value::<Jwk>(key).map_err(|_| "it is not a key");
            key.and_then(|jwk| Key::of(&jwk, accepted))
        };
        let keys = set.keys.into_iter().filter_map(|key| read(key).ok());
        Ok(Self {
            keys: keys.collect(),
            are_named: true,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) fn has_one_for(&self, algorithm: Algorithm) -> bool {
        self.keys.iter().any(|key| key.fits(algorithm))
    }

    /// Whether it could be signed with one of these, so that nobody needs to be asked for others.
    pub(super) fn know(&self, token: &Token<'_>) -> bool {
        !self.meant(token).is_empty()
    }

    /// Refuses what none of these signed.
    pub(super) fn prove(&self, token: &Token<'_>) -> Result<(), Refusal> {
        let meant = self.meant(token);
        if meant.is_empty() {
            return Err(Refusal::Token(
                "is signed with a key that is not known here",
            ));
        }
        if self.are_named && token.kid.is_none() && meant.len() > 1 {
            return Err(Refusal::Token(
                "does not say which of several keys it is signed with",
            ));
        }
        match meant.iter().any(|key| key.signed(token)) {
            true => Ok(()),
            false => Err(Refusal::Token("has a signature that is wrong")),
        }
    }

    fn meant(&self, token: &Token<'_>) -> Vec<&Key> {
        let is_meant = |key: &&Key| {
            let is_named = !self.are_named || token.kid.is_none() || key.kid == token.kid;
            is_named && key.fits(token.algorithm)
        };
        self.keys.iter().filter(is_meant).collect()
    }
}

impl Key {
    pub(super) fn secret(secret: &[u8], accepted: &[Algorithm]) -> Self {
        Self {
            kid: None,
            algorithms: accepted.to_vec(),
            key: DecodingKey::from_secret(secret),
        }
    }

    /// For those of the `accepted` algorithms that it can be used with; where none are named, for the one
    /// that is usual. Never for one of secrets.
    pub(super) fn of(jwk: &Jwk, accepted: &[Algorithm]) -> Result<Self, &'static str> {
        let common = &jwk.common;
        let signs = common.public_key_use.as_ref();
        let may = common.key_operations.as_ref();
        if !signs.is_none_or(|of| *of == PublicKeyUse::Signature)
            || !may.is_none_or(|may| may.contains(&KeyOperations::Verify))
        {
            return Err("it is a key for something else than signatures");
        }
        let possible = possible(jwk)?;
        let own = common.key_algorithm.map(Algorithm::try_from);
        let own = own
            .transpose()
            .map_err(|_| "its algorithm is not known here")?;
        let counts = |algorithm: &Algorithm| match (own, accepted) {
            (Some(own), []) => own == *algorithm,
            (None, []) => possible[0] == *algorithm,
            (own, accepted) => {
                own.is_none_or(|own| own == *algorithm) && accepted.contains(algorithm)
            }
        };
        let algorithms: Vec<_> = possible.iter().copied().filter(counts).collect();
        if algorithms.is_empty() {
            return Err("its kind does not go with the algorithms that are accepted");
        }
        let key = DecodingKey::from_jwk(jwk).map_err(|_| "it is damaged")?;
        let kid = common.key_id.clone();
        Ok(Self {
            kid,
            algorithms,
            key,
        })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    fn signed(&self, token: &Token<'_>) -> bool {
        let message = token.message.as_bytes();
        let proven =
            jsonwebtoken::crypto::verify(token.signature, message, &self.key, token.algorithm);
        proven.unwrap_or(false)
    }
}

/// What a key of this kind can be used for at all, the usual first.
fn possible(jwk: &Jwk) -> Result<&'static [Algorithm], &'static str> {
    use Algorithm as A;
    match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) => {
            let modulus = BASE64_URL_SAFE_NO_PAD.decode(&rsa.n);
            let modulus = modulus.map_err(|_| "it is damaged")?;
            let bytes = modulus.iter().skip_while(|byte| **byte == 0).count();
            match bytes < SHORTEST_RSA_BYTES {
                true => Err("it is an RSA key of less than 2048 bits"),
                false => Ok(&[A::RS256, A::RS384, A::RS512, A::PS256, A::PS384, A::PS512]),
            }
        }
        AlgorithmParameters::EllipticCurve(ec) => match ec.curve {
            EllipticCurve::P256 => Ok(&[A::ES256]),
            EllipticCurve::P384 => Ok(&[A::ES384]),
            _ => Err("its curve is not one of P-256, P-384 and Ed25519"),
        },
        AlgorithmParameters::OctetKeyPair(pair) => match pair.curve {
            EllipticCurve::Ed25519 => Ok(&[A::EdDSA]),
            _ => Err("its curve is not one of P-256, P-384 and Ed25519"),
        },
        // A secret that is published is none, so it is not taken for one either.
        _ => Err("it is not a public key of a kind that is known here"),
    }
}
