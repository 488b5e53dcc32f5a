//! Tokens by a key file: each algorithm, what is refused at the start, and files that change.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::json;
use tempfile::TempDir;

use super::pairs::{Pair, openssl, signed};
use super::{AUDIENCE, claims, open, who};
use crate::support::{Options, Yard};

const ISSUER: &str = "https://ci.example.org";
const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn jwt(file: &Path, more: &str) -> String {
    format!("[jwt]\nkey_file = {file:?}\nissuer = {ISSUER:?}\naudience = {AUDIENCE:?}\n{more}\n")
}

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Replaced in one step, as it ought to be.
    fn write(&self, name: &str, content: &str) -> PathBuf {
        let (path, new) = (self.0.path().join(name), self.0.path().join("new"));
        std::fs::write(&new, content).unwrap();
        std::fs::set_permissions(&new, Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(new, &path).unwrap();
        path
    }
}

#[tokio::test]
async fn each_algorithm_counts_by_its_key_and_by_no_other() {
    use Algorithm as A;
    let files = Files::new();
    let good = claims(ISSUER, json!({}));
    let rsa = Pair::new(A::RS256);
    let mut tokens = Vec::new();
    for algorithm in [A::ES256, A::ES384, A::EdDSA] {
        let pair = Pair::new(algorithm);
        tokens.push((algorithm, pair.public_pem.clone(), pair.sign("any", &good)));
    }
    for algorithm in [A::RS256, A::PS256, A::RS512] {
        let header = json!({ "alg": algorithm });
        let token = signed(&header, &good, &rsa.private, algorithm);
        tokens.push((algorithm, rsa.public_pem.clone(), token));
    }
    for algorithm in [A::HS256, A::HS512] {
        let key = EncodingKey::from_secret(SECRET.as_bytes());
        let token = signed(&json!({ "alg": algorithm }), &good, &key, algorithm);
        tokens.push((algorithm, format!("{SECRET}\n"), token));
    }
    for (algorithm, key, token) in &tokens {
        let file = files.write("key", key);
        let named = format!("algorithms = [\"{algorithm:?}\"]");
        let jwts = open(&jwt(&file, &named)).unwrap();
        for (of, _, other) in &tokens {
            let is_taken = who(&jwts, other).await.is_ok();
            assert_eq!(
                is_taken,
                of == algorithm,
                "{of:?} by a key for {algorithm:?}"
            );
        }
        // What goes without saying of a public key has to be said of a secret.
        let unsaid = open(&jwt(&file, ""));
        match algorithm {
            A::HS256 | A::HS512 => assert!(unsaid.unwrap_err().contains("neither PEM")),
            A::RS512 | A::PS256 => assert!(who(&unsaid.unwrap(), token).await.is_err()),
            _ => assert!(who(&unsaid.unwrap(), token).await.is_ok(), "{algorithm:?}"),
        }
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_meant_is_refused_at_the_start() {
    let files = Files::new();
    let (rsa, ec) = (Pair::new(Algorithm::RS256), Pair::new(Algorithm::ES256));
    let set = json!({ "keys": [ec.jwk("one")] }).to_string();
    let short = openssl("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024", "");
    let short = openssl("pkey -pubout", &short);
    let hs = "algorithms = [\"HS256\"]";
    for (key, more, reason) in [
        (rsa.public_pem.as_str(), hs, "not a secret"),
        (rsa.private_pem.as_str(), hs, "not a secret"),
        (set.as_str(), hs, "not a secret"),
        (&SECRET[..31], hs, "shorter than 32"),
        (
            &SECRET[..63],
            "algorithms = [\"HS256\", \"HS512\"]",
            "shorter than 64",
        ),
        (rsa.private_pem.as_str(), "", "public keys only"),
        (
            ec.private_pem.as_str(),
            "algorithms = [\"ES256\"]",
            "public keys only",
        ),
        (
            rsa.public_pem.as_str(),
            "algorithms = [\"ES256\"]",
            "does not go with",
        ),
        (
            ec.public_pem.as_str(),
            "algorithms = [\"ES384\"]",
            "does not go with",
        ),
        (
            set.as_str(),
            "algorithms = [\"ES256\", \"RS256\"]",
            "no key for RS256",
        ),
        (short.as_str(), "", "less than 2048 bits"),
        (
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            "",
            "damaged",
        ),
        ("{\"keys\": []}", "", "no key that can be used"),
        ("", "", "neither PEM"),
    ] {
        let file = files.write("key", key);
        let told = open(&jwt(&file, more)).unwrap_err();
        assert!(told.starts_with("auth.jwt.key_file: "), "{told}");
        assert!(told.contains(reason), "{more}: {told}");
        assert!(key.is_empty() || !told.contains(key), "{told}");
    }
    let secret = files.write("secret", SECRET);
    std::fs::set_permissions(&secret, Permissions::from_mode(0o644)).unwrap();
    assert!(open(&jwt(&secret, hs)).unwrap_err().contains("chmod 600"));
    assert!(
        open(&jwt(Path::new("/nonexistent"), ""))
            .unwrap_err()
            .contains("failed to read")
    );
}

#[tokio::test]
async fn keys_change_with_their_file_under_a_daemon_that_runs() {
    let files = Files::new();
    let (one, two) = (Pair::new(Algorithm::ES256), Pair::new(Algorithm::ES256));
    let good = claims(ISSUER, json!({}));
    let (by_one, by_two) = (one.sign("one", &good), two.sign("two", &good));
    let file = files.write("key", &one.public_pem);
    let options = Options {
        tables: format!(
            "[auth.jwt]\n{}",
            jwt(&file, "leeway = \"0s\"").trim_start_matches("[jwt]\n")
        ),
        bare: true,
        ..Options::default()
    };
    let mut yard = Yard::with(options).await;
    let both_taken = async || {
        let (one, two) = (super::shown(&yard, &by_one), super::shown(&yard, &by_two));
        (one.await.0 == 200, two.await.0 == 200)
    };
    assert_eq!(both_taken().await, (true, false));
    files.write(
        "key",
        &format!("# both\n{}{}", one.public_pem, two.public_pem),
    );
    assert_eq!(both_taken().await, (true, true));
    files.write("key", "rubbish");
    assert_eq!(
        both_taken().await,
        (true, true),
        "it says so in its log, and goes on"
    );
    files.write(
        "key",
        &json!({ "keys": [one.jwk("one"), two.jwk("2")] }).to_string(),
    );
    assert_eq!(
        both_taken().await,
        (true, false),
        "a set is chosen from by name"
    );
    std::fs::remove_file(&file).unwrap();
    assert_eq!(both_taken().await, (true, false));
    files.write("key", &two.public_pem);
    assert_eq!(both_taken().await, (false, true));
    yard.stop().await;
}
