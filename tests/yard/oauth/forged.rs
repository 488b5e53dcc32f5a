//! Tokens that nobody should have taken.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::issuer::{KEYS, METADATA, TestIssuer};
use super::pairs::{Pair, signed, unsigned};
use super::{AUDIENCE, claims, shown, yard_of};

#[tokio::test]
async fn forged_tokens_are_refused_and_the_issuer_is_left_alone() {
    let (own, rsa) = (Pair::new(Algorithm::ES256), Pair::new(Algorithm::RS256));
    let thief = Pair::new(Algorithm::ES256);
    let mut for_encryption = thief.jwk("enc");
    for_encryption["use"] = "enc".into();
    let secret = "a secret that the issuer has published";
    let published = [
        own.jwk("own"),
        rsa.jwk("rsa"),
        for_encryption,
        json!({ "kty": "oct", "kid": "oct", "alg": "HS256", "k": BASE64_URL_SAFE_NO_PAD.encode(secret) }),
        json!({ "kty": "AKP", "kid": "to-come", "alg": "ML-DSA-44", "pub": "x" }),
        json!("no key at all"),
    ];
    let issuer = TestIssuer::new(&published).await;
    let thiefs = TestIssuer::new(&[thief.jwk("own")]).await;
    let mut yard = yard_of(&issuer, "refetch = \"1h\"").await;
    let good = claims(&issuer.url, json!({}));
    let now = jiff::Timestamp::now().as_second();
    let with = |changes: Value| own.sign("own", &claims(&issuer.url, changes));
    let headed = |header: Value| own.sign_with(&header, &good);
    let by_secret = |header: Value, secret: &[u8]| {
        let key = EncodingKey::from_secret(secret);
        signed(&header, &good, &key, Algorithm::HS256)
    };
    let token = own.sign("own", &good);
    assert_eq!(shown(&yard, &token).await.0, 200);
    assert_eq!(shown(&yard, &rsa.sign("rsa", &good)).await.0, 200);

    let (start, signature) = token.rsplit_once('.').unwrap();
    let (header, _) = start.split_once('.').unwrap();
    let richer = BASE64_URL_SAFE_NO_PAD
        .encode(claims(&issuer.url, json!({ "scope": "repo:read admin" })).to_string());
    let thiefs_key = thief.jwk("own");
    let thiefs_keys = format!("{}{KEYS}", thiefs.url);
    let none = |alg: &str| format!("{}.", unsigned(&json!({ "alg": alg, "kid": "own" }), &good));
    let forged = [
        ("expired", with(json!({ "exp": now - 31 })), "has expired"),
        (
            "too early",
            with(json!({ "nbf": now + 90 })),
            "does not count yet",
        ),
        ("for ever", with(json!({ "exp": null })), "never expires"),
        ("of nobody", with(json!({ "sub": null })), "whose it is"),
        (
            "for another",
            with(json!({ "aud": "https://other.example" })),
            "another audience",
        ),
        (
            "for nobody",
            with(json!({ "aud": null })),
            "another audience",
        ),
        (
            "for a part of it",
            with(json!({ "aud": &AUDIENCE[..24] })),
            "another audience",
        ),
        (
            "of another",
            own.sign("own", &claims("https://other.example", json!({}))),
            "another issuer",
        ),
        (
            "of a longer name",
            own.sign("own", &claims(&format!("{}/", issuer.url), json!({}))),
            "another issuer",
        ),
        ("unsigned", none("none"), "algorithm that is not accepted"),
        (
            "unsigned in capitals",
            none("NONE"),
            "algorithm that is not accepted",
        ),
        (
            "unsigned, it says",
            none("ES256"),
            "signature that is wrong",
        ),
        (
            "by the public key",
            by_secret(
                json!({ "alg": "HS256", "kid": "rsa" }),
                rsa.public_pem.as_bytes(),
            ),
            "algorithm that is not accepted",
        ),
        (
            "by the published secret",
            by_secret(json!({ "alg": "HS256", "kid": "oct" }), secret.as_bytes()),
            "algorithm that is not accepted",
        ),
        (
            "by a secret as ES256",
            by_secret(
                json!({ "alg": "ES256", "kid": "own" }),
                own.public_pem.as_bytes(),
            ),
            "signature that is wrong",
        ),
        (
            "an accepted algorithm of another key",
            headed(json!({ "alg": "RS256", "kid": "own" })),
            "not known here",
        ),
        (
            "a key of another's",
            thief.sign("own", &good),
            "signature that is wrong",
        ),
        (
            "a key for encryption",
            thief.sign("enc", &good),
            "not known here",
        ),
        (
            "richer claims",
            format!("{header}.{richer}.{signature}"),
            "signature that is wrong",
        ),
        (
            "a part of the signature",
            token[..token.len() - 4].to_owned(),
            "signature that is wrong",
        ),
        (
            "an empty signature",
            format!("{start}."),
            "signature that is wrong",
        ),
        (
            "a key that is a path",
            headed(json!({ "alg": "ES256", "kid": "../../../dev/null" })),
            "not known here",
        ),
        (
            "a key that is a URL",
            thief.sign(&thiefs_keys, &good),
            "not known here",
        ),
        (
            "a key that is a query",
            headed(json!({ "alg": "ES256", "kid": "' OR 1=1 --" })),
            "not known here",
        ),
        (
            "its own key",
            thief.sign_with(
                &json!({ "alg": "ES256", "kid": "own", "jwk": thiefs_key }),
                &good,
            ),
            "signature that is wrong",
        ),
        (
            "keys elsewhere",
            thief.sign_with(
                &json!({ "alg": "ES256", "kid": "own", "jku": thiefs_keys, "x5u": thiefs_keys }),
                &good,
            ),
            "signature that is wrong",
        ),
        (
            "another's claims of where",
            thief.sign("own", &claims(&thiefs.url, json!({}))),
            "another issuer",
        ),
        (
            "what is critical",
            headed(json!({ "alg": "ES256", "kid": "own", "crit": ["exp"] })),
            "critical",
        ),
        (
            "a token that says goodbye",
            headed(json!({ "alg": "ES256", "kid": "own", "typ": "logout+jwt" })),
            "not for access",
        ),
        ("no JSON", "e30.bm8.AA".to_owned(), "cannot be read"),
        ("no base64", "a+/b.c=.d".to_owned(), "cannot be read"),
        ("nothing but dots", "..".to_owned(), "cannot be read"),
    ];
    for (name, token, reason) in forged {
        let (status, why) = shown(&yard, &token).await;
        let reason = reason.replace("cannot be read", "not a JWT that can be read");
        assert_eq!(status, 401, "{name}: {why}");
        assert!(why.contains(&reason), "{name}: {why}");
        assert!(
            token.len() < 8 || !why.contains(&token),
            "{name}: it is told"
        );
    }
    // Which of several keys it is has to be said; the one of its kind is no question.
    let unnamed = own.sign_with(&json!({ "alg": "ES256" }), &good);
    assert_eq!(shown(&yard, &unnamed).await.0, 200);

    let mut asking = tokio::task::JoinSet::new();
    for n in 0..30 {
        let token = thief.sign(&format!("invented-{n}"), &good);
        let request = yard.client.get(format!("{}/api/repos", yard.url));
        asking.spawn(request.bearer_auth(token).send());
    }
    for answer in asking.join_all().await {
        assert_eq!(answer.unwrap().status(), 401);
    }
    assert_eq!(
        issuer.asked(),
        [METADATA, KEYS],
        "it was asked at the start only"
    );
    assert!(thiefs.asked().is_empty(), "{:?}", thiefs.asked());
    yard.stop().await;
}
