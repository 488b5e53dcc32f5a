//! Key pairs, and tokens that are signed with them however one likes.

use std::io::Write;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

pub struct Pair {
    pub algorithm: Algorithm,
    pub private: EncodingKey,
    pub private_pem: String,
    pub public_pem: String,
}

impl Pair {
    pub fn new(algorithm: Algorithm) -> Self {
        use Algorithm as A;
        let kind = match algorithm {
            A::ES256 => "EC -pkeyopt ec_paramgen_curve:P-256",
            A::ES384 => "EC -pkeyopt ec_paramgen_curve:P-384",
            A::EdDSA => "ED25519",
            _ => "RSA -pkeyopt rsa_keygen_bits:2048",
        };
        let private_pem = openssl(&format!("genpkey -algorithm {kind}"), "");
        let pem = private_pem.as_bytes();
        let private = match algorithm {
            A::ES256 | A::ES384 => EncodingKey::from_ec_pem(pem),
            A::EdDSA => EncodingKey::from_ed_pem(pem),
            _ => EncodingKey::from_rsa_pem(pem),
        };
        Self {
            algorithm,
            private: private.unwrap(),
            public_pem: openssl("pkey -pubout", &private_pem),
            private_pem,
        }
    }

    /// The public half, as an issuer publishes it.
    pub fn jwk(&self, kid: &str) -> Value {
        let jwk = Jwk::from_encoding_key(&self.private, self.algorithm).unwrap();
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["kid"] = kid.into();
        jwk["use"] = "sig".into();
        jwk
    }

    pub fn sign(&self, kid: &str, claims: &Value) -> String {
        let header = json!({ "alg": self.algorithm, "typ": "at+jwt", "kid": kid });
        self.sign_with(&header, claims)
    }

    /// With any header at all.
    pub fn sign_with(&self, header: &Value, claims: &Value) -> String {
        signed(header, claims, &self.private, self.algorithm)
    }
}

pub fn signed(header: &Value, claims: &Value, key: &EncodingKey, by: Algorithm) -> String {
    let message = unsigned(header, claims);
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, by).unwrap();
    format!("{message}.{signature}")
}

/// The two parts that are signed.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

pub fn openssl(args: &str, input: &str) -> String {
    let mut child = Command::new("openssl")
        .args(args.split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "openssl {args}");
    String::from_utf8(output.stdout).unwrap()
}
