//! Row 17: what is almost a token opens nothing, and says nothing.

use serde_json::json;

use super::{make, name_of};
use crate::support::{Options, Raw, Yard};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_almost_a_token_opens_nothing() {
    let mut yard = Yard::with(Options {
        bare: true,
        ..Options::default()
    })
    .await;
    let token = make(&yard, &yard.key(), "admin", "admin").await;
    let other = make(&yard, &yard.key(), "admin", "other").await;
    let (head, secret) = token.rsplit_once('_').unwrap();
    let (_, other_secret) = other.rsplit_once('_').unwrap();
    let flipped = match secret.strip_suffix('0') {
        Some(rest) => format!("{head}_{rest}1"),
        None => format!("{head}_{}0", &secret[..secret.len() - 1]),
    };
    let mut answers = Vec::new();
    for credential in [
        "byt_".to_owned(),
        head.to_owned(),
        format!("{head}_"),
        token[..token.len() - 1].to_owned(),
        token[..token.len() / 2].to_owned(),
        flipped,
        format!("{token}0"),
        format!("{token}_{secret}"),
        format!("{head}_{other_secret}"),
        format!("byt_000000000000_{secret}"),
        format!("byt_' OR 1=1 --_{secret}"),
        format!("byt_{}", "0".repeat(8 * 1024)),
    ] {
        for (method, path) in [
            ("GET", "/api/tokens"),
            ("POST", "/mcp"),
            ("DELETE", "/api/tokens/other"),
        ] {
            let request = Raw::new(method, path)
                .header("Authorization", format!("Bearer {credential}"))
                .header("Content-Length", "0");
            let answer = request.send(&yard).await;
            assert_eq!(answer.status, 401, "{method} {path} {credential}");
            assert!(answer.head.contains("www-authenticate: bearer"));
            let problem = answer.problem(&credential);
            answers.push((problem["detail"].clone(), problem["help"].clone()));
        }
    }
    answers.dedup();
    assert_eq!(
        answers.len(),
        1,
        "nobody is told how close it was: {answers:?}"
    );
    let secretless =
        Raw::new("GET", "/api/tokens").header("Authorization", format!("Bearer {secret}"));
    assert_eq!(secretless.send(&yard).await.status, 401);
    let great = format!("Bearer byt_{}", "0".repeat(1024 * 1024));
    let great = Raw::new("GET", "/api/tokens").header("Authorization", great);
    assert!([401, 431].contains(&great.send(&yard).await.status));
    for query in ["token", "key", "access_token"] {
        let target = format!("/api/tokens?{query}={token}");
        assert_eq!(Raw::new("GET", &target).send(&yard).await.status, 401);
    }
    assert_eq!(name_of(&yard, &token).await, json!("token:admin"));
    assert_eq!(name_of(&yard, &other).await, json!("token:other"));
    yard.stop().await;
}
