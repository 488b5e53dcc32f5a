//! Keys come and go at the issuer while the daemon runs.

use jsonwebtoken::Algorithm;
use serde_json::json;

use super::issuer::{KEYS, METADATA, TestIssuer};
use super::pairs::Pair;
use super::{claims, shown, yard_of};

#[tokio::test]
async fn keys_come_and_go_at_the_issuer() {
    let (one, two) = (Pair::new(Algorithm::ES256), Pair::new(Algorithm::EdDSA));
    let issuer = TestIssuer::new(&[one.jwk("one")]).await;
    let mut yard = yard_of(&issuer, "refetch = \"0s\"").await;
    let claims = claims(&issuer.url, json!({}));
    let (by_one, by_two) = (one.sign("one", &claims), two.sign("two", &claims));
    assert_eq!(shown(&yard, &by_one).await.0, 200);
    let (status, why) = shown(&yard, &by_two).await;
    assert_eq!(status, 401, "{why}");

    // It appears, and is found at once.
    issuer.publishes(&[one.jwk("one"), two.jwk("two")]);
    assert_eq!(shown(&yard, &by_two).await.0, 200);
    assert_eq!(shown(&yard, &by_one).await.0, 200);
    let asked = issuer.times_asked(KEYS);
    for _ in 0..5 {
        assert_eq!(shown(&yard, &by_two).await.0, 200);
    }
    assert_eq!(issuer.times_asked(KEYS), asked, "known keys are kept");
    assert_eq!(issuer.times_asked(METADATA), 1, "and where they are");

    // The old one goes, which is seen when the keys are next looked at.
    issuer.publishes(&[two.jwk("two")]);
    let unknown = two.sign("three", &claims);
    assert_eq!(shown(&yard, &unknown).await.0, 401);
    let (status, why) = shown(&yard, &by_one).await;
    assert!(status == 401 && why.contains("not known here"), "{why}");
    assert_eq!(shown(&yard, &by_two).await.0, 200);

    // While it cannot be reached, what it said last counts.
    issuer.fails(KEYS);
    issuer.fails(METADATA);
    assert_eq!(shown(&yard, &unknown).await.0, 401);
    assert_eq!(shown(&yard, &by_two).await.0, 200);
    // And where it has moved its keys to is found again.
    issuer.says(
        METADATA,
        &json!({ "issuer": issuer.url, "jwks_uri": format!("{}/moved", issuer.url) }),
    );
    issuer.says("/moved", &json!({ "keys": [one.jwk("one")] }));
    assert_eq!(shown(&yard, &by_one).await.0, 200);
    assert_eq!(shown(&yard, &by_two).await.0, 401);
    yard.stop().await;
}

#[tokio::test]
async fn a_daemon_whose_issuer_never_answered_says_so() {
    let issuer = TestIssuer::silent().await;
    let pair = Pair::new(Algorithm::ES256);
    let mut yard = yard_of(&issuer, "refetch = \"0s\"").await;
    let token = pair.sign("one", &claims(&issuer.url, json!({})));
    let (status, why) = shown(&yard, &token).await;
    assert_eq!(status, 503, "{why}");
    assert!(why.contains("issuer_unreachable"), "{why}");
    // Others get in as ever.
    assert_eq!(yard.get("/api/repos").await.status(), 200);

    issuer.says(
        "/.well-known/openid-configuration",
        &json!({ "issuer": issuer.url, "jwks_uri": format!("{}/jwks", issuer.url) }),
    );
    issuer.says("/jwks", &json!({ "keys": [pair.jwk("one")] }));
    assert_eq!(shown(&yard, &token).await.0, 200);
    yard.stop().await;
}
