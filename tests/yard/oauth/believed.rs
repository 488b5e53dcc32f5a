//! Which issuers are believed, and what is not followed.

use jsonwebtoken::Algorithm;
use serde_json::json;

use super::issuer::{KEYS, METADATA, TestIssuer};
use super::pairs::Pair;
use super::{AUDIENCE, claims, open, who};
use crate::support::remotes::TlsFront;

fn oauth(issuer: &str, more: &str) -> String {
    format!("[oauth]\nissuer = {issuer:?}\naudience = {AUDIENCE:?}\n{more}\n")
}

#[tokio::test]
async fn what_is_said_of_another_or_elsewhere_is_not_believed() {
    let pair = Pair::new(Algorithm::ES256);
    let thiefs = TestIssuer::new(&[pair.jwk("one")]).await;
    let thiefs_keys = format!("{}{KEYS}", thiefs.url);
    for case in 0..8 {
        let issuer = TestIssuer::new(&[pair.jwk("one")]).await;
        let own = |uri: &str| json!({ "issuer": issuer.url, "jwks_uri": uri });
        match case {
            0 => issuer.says(
                METADATA,
                &json!({ "issuer": thiefs.url, "jwks_uri": thiefs_keys }),
            ),
            1 => issuer.sends_elsewhere(METADATA, &format!("{}{METADATA}", thiefs.url)),
            2 => issuer.sends_elsewhere(KEYS, &thiefs_keys),
            3 => issuer.says(METADATA, &own("http://keys.example.org/")),
            4 => issuer.says(METADATA, &own("file:///etc/passwd")),
            5 => issuer.says(METADATA, "<html>welcome</html>"),
            6 => issuer.says(KEYS, &"x".repeat(300 * 1024)),
            _ => issuer.says(KEYS, &json!({ "keys": vec![pair.jwk("one"); 101] })),
        }
        let jwts = open(&oauth(&issuer.url, "refetch = \"0s\"")).unwrap();
        let token = pair.sign("one", &claims(&issuer.url, json!({})));
        let refused = who(&jwts, &token).await.unwrap_err();
        assert_eq!(
            refused.code, "issuer_unreachable",
            "case {case}: {refused:?}"
        );
    }
    assert!(thiefs.asked().is_empty(), "{:?}", thiefs.asked());
}

#[tokio::test]
async fn an_issuer_with_a_path_or_a_private_authority_is_found() {
    let pair = Pair::new(Algorithm::ES256);
    let issuer = TestIssuer::silent().await;
    let dir = tempfile::tempdir().unwrap();
    let front = TlsFront::start(dir.path(), issuer.address).await;
    let name = format!("https://{}/team", front.host());
    let metadata = |uri: String| json!({ "issuer": name, "jwks_uri": uri });
    issuer.says(KEYS, &json!({ "keys": [pair.jwk("one")] }));
    issuer.says(
        "/team/.well-known/openid-configuration",
        &metadata(format!("https://{}{KEYS}", front.host())),
    );
    let token = pair.sign("one", &claims(&name, json!({})));

    let ca_file = format!("ca_file = {:?}\nrefetch = \"0s\"", front.ca_file);
    let jwts = open(&oauth(&name, &ca_file)).unwrap();
    assert_eq!(who(&jwts, &token).await.unwrap().name(), "oauth:alice");
    assert_eq!(
        issuer.asked(),
        [
            "/.well-known/oauth-authorization-server/team",
            "/.well-known/openid-configuration/team",
            "/team/.well-known/openid-configuration",
            KEYS,
        ]
    );
    // Whom nobody else trusts is not trusted by itself.
    let stranger = open(&oauth(&name, "")).unwrap();
    let refused = who(&stranger, &token).await.unwrap_err();
    assert_eq!(refused.code, "issuer_unreachable");
    // From an issuer behind TLS keys come with it, too.
    issuer.says(
        "/team/.well-known/openid-configuration",
        &metadata(format!("{}{KEYS}", issuer.url)),
    );
    let jwts = open(&oauth(&name, &ca_file)).unwrap();
    let refused = who(&jwts, &token).await.unwrap_err();
    assert_eq!(refused.code, "issuer_unreachable");

    // Where the operator says where the keys are, nobody is asked.
    let asked = issuer.asked().len();
    let jwks_uri = format!("jwks_uri = \"{}{KEYS}\"", issuer.url);
    let jwts = open(&oauth(&name, &jwks_uri)).unwrap();
    assert!(who(&jwts, &token).await.is_ok());
    assert_eq!(issuer.asked()[asked..], [KEYS]);

    std::fs::write(dir.path().join("none.pem"), "no certificate").unwrap();
    let none = format!("ca_file = {:?}", dir.path().join("none.pem"));
    assert!(open(&oauth(&name, &none)).unwrap_err().contains("ca_file"));
}
