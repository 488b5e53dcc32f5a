//! Who gets in: senders and keys.

use super::{refused, untouched};
use crate::support::{Options, Raw, Yard};

const RUN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// Every address but the two open ones.
fn guarded() -> Vec<(&'static str, String)> {
    let mut all: Vec<(&str, String)> = [
        ("GET", "/readyz"),
        ("GET", "/metrics"),
        ("GET", "/api/repos"),
        ("POST", "/api/repos"),
        ("GET", "/api/repos/demo"),
        ("DELETE", "/api/repos/demo"),
        ("GET", "/api/repos/demo/branches"),
        ("GET", "/api/repos/demo/branches/main"),
        ("PUT", "/api/repos/demo/branches/main"),
        ("DELETE", "/api/repos/demo/branches/main"),
        ("GET", "/api/repos/demo/branches/main/env"),
        ("POST", "/api/repos/demo/branches/main/ls"),
        ("POST", "/api/repos/demo/branches/main/read_file"),
        ("POST", "/api/repos/demo/branches/main/git/quick"),
        ("POST", "/stream/repos/demo/branches/main/make"),
        ("POST", "/stream/repos/demo/branches/main/git"),
        ("POST", "/stream/repos/demo/branches/main/task"),
        ("GET", "/api/runs"),
        ("GET", "/api/whoami"),
        ("GET", "/api/tokens"),
        ("POST", "/api/tokens"),
        ("DELETE", "/api/tokens/some"),
        ("GET", "/mcp"),
        ("POST", "/mcp"),
        ("DELETE", "/mcp"),
    ]
    .map(|(method, path)| (method, path.to_owned()))
    .into();
    for (method, path) in [
        ("GET", "/stream/runs/{}"),
        ("GET", "/api/runs/{}"),
        ("GET", "/api/runs/{}/log"),
        ("POST", "/api/runs/{}/cancel"),
    ] {
        all.push((method, path.replace("{}", RUN)));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_key_no_address_answers() {
    // All of these are failures, and more than anybody may have otherwise.
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_failures_per_minute = 1000000\n".to_owned(),
        ..Options::default()
    })
    .await;
    let key = yard.key();
    let flipped: String = key.chars().rev().collect();
    let credentials = [
        None,
        Some(String::new()),
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some("Bearer wrong".to_owned()),
        Some(format!("Bearer {}", &key[..key.len() - 1])),
        Some(format!("Bearer {}", &key[..1])),
        Some(format!("Bearer {key}x")),
        Some(format!("Bearer {key}{key}")),
        Some(format!("Bearer {flipped}")),
        Some(format!("Bearer {}", key.to_ascii_uppercase())),
        Some(format!("Basic {key}")),
        Some(format!("Token {key}")),
        Some(key.clone()),
        Some(format!("Bearer{key}")),
        Some(format!("Bearer {key} {key}")),
    ];
    for (method, path) in guarded() {
        for credential in &credentials {
            let input = format!("{method} {path} with {credential:?}");
            let mut request = Raw::new(method, &path)
                .header("Content-Type", "application/json")
                .header("Content-Length", "2")
                .body(b"{}".to_vec());
            if let Some(credential) = credential {
                request = request.header("Authorization", credential.clone());
            }
            let answer = request.send(&yard).await;
            assert_eq!(answer.status, 401, "{input}: {answer:?}");
            answer.problem(&input);
            assert!(answer.head.contains("www-authenticate: bearer"), "{input}");
            assert!(
                !answer.body.contains(&key),
                "{input}: the answer tells the key"
            );
        }
        for query in [
            "token",
            "key",
            "access_token",
            "authorization",
            "session_key",
        ] {
            let target = format!("{path}?{query}={key}");
            let answer = Raw::new(method, &target).send(&yard).await;
            assert_eq!(
                answer.status, 401,
                "{method} {path} with ?{query}=: {answer:?}"
            );
        }
    }
    for open in ["/", "/healthz"] {
        assert_eq!(
            Raw::new("GET", open).send(&yard).await.status,
            200,
            "{open}"
        );
    }
    let good = Raw::new("GET", "/api/repos").header("Authorization", format!("bearer {key}"));
    assert_eq!(good.send(&yard).await.status, 200);
    untouched(&yard).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_mebibyte_is_refused_and_others_are_served() {
    let mut yard = Yard::new().await;
    for size in [64 * 1024, 1024 * 1024] {
        let token = format!("Bearer {}", "x".repeat(size));
        let request = Raw::new("GET", "/api/repos").header("Authorization", token);
        let answer = request.send(&yard).await;
        assert!(
            [401, 431].contains(&answer.status),
            "{size}: {}",
            answer.status
        );
    }
    yard.get_json("/api/repos").await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_can_be_a_part_of_a_foreign_page() {
    let mut yard = Yard::new().await;
    for (method, target, headers) in [
        ("GET", "/", ""),
        ("GET", "/icon.svg", ""),
        ("GET", "/openapi.json", ""),
        ("GET", "/healthz", ""),
        ("GET", "/api/repos", ""),
        ("GET", "/nowhere", ""),
        ("POST", "/healthz", ""),
        ("OPTIONS", "/api/repos", ""),
        ("GET", "/healthz", "evil.example"),
    ] {
        let mut request = Raw::new(method, target);
        if !headers.is_empty() {
            request = request.header("Host", headers);
        }
        let answer = request.send(&yard).await;
        for header in [
            "cross-origin-resource-policy: same-origin",
            "x-content-type-options: nosniff",
        ] {
            assert_eq!(
                answer.head.matches(header).count(),
                1,
                "{target}: {answer:?}"
            );
        }
    }
    let known = yard.get("/api/repos").await;
    assert_eq!(
        known.headers()["cross-origin-resource-policy"],
        "same-origin"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_hosts_and_origins_are_refused() {
    let mut yard = Yard::new().await;
    let own = yard.url.strip_prefix("http://").unwrap().to_owned();
    let port = own.rsplit(':').next().unwrap().to_owned();
    let hosts = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1@evil.example:{port}"),
        "10.0.0.1".to_owned(),
        "0.0.0.0".to_owned(),
        "a.localhost".to_owned(),
        "[::ffff:10.0.0.1]".to_owned(),
        String::new(),
    ];
    for host in &hosts {
        for target in ["/", "/healthz", "/api/repos"] {
            let request = Raw::json(&yard, "GET", target, "").header("Host", host.clone());
            let answer = request.send(&yard).await;
            refused(
                &answer,
                &[400, 403],
                "Host",
                &format!("{target} as {host:?}"),
            );
        }
    }
    let origins = [
        "http://evil.example".to_owned(),
        "https://evil.example".to_owned(),
        "null".to_owned(),
        String::new(),
        "file://".to_owned(),
        "http://127.0.0.1:1".to_owned(),
        "http://127.0.0.1".to_owned(),
        format!("http://evil.example#{own}"),
        format!("http://{own}.evil.example"),
        format!("http://{own}@evil.example"),
        format!("http://evil.example://{own}"),
        own.clone(),
    ];
    for origin in &origins {
        for (method, target) in [
            ("GET", "/healthz"),
            ("POST", "/stream/repos/demo/branches/main/make"),
            ("OPTIONS", "/api/repos"),
        ] {
            let request = Raw::json(&yard, method, target, "").header("Origin", origin.clone());
            let answer = request.send(&yard).await;
            let input = format!("{method} {target} from {origin:?}");
            assert!(
                !answer.head.contains("access-control-allow-origin"),
                "{input}: {answer:?}"
            );
            if method != "OPTIONS" {
                refused(&answer, &[403], "Origin", &input);
            }
        }
    }
    // The daemon serves plain HTTP, so a page of https came from elsewhere.
    for origin in [
        format!("https://{own}"),
        format!("HTTPS://{own}"),
        format!("ftp://{own}"),
        format!("ws://{own}"),
    ] {
        let request = Raw::json(&yard, "GET", "/api/repos", "").header("Origin", origin.clone());
        refused(&request.send(&yard).await, &[403], "Origin", &origin);
    }
    // Two of a kind: which of them would count for whom?
    for (name, one, other) in [
        ("Host", own.clone(), own.clone()),
        ("Host", own.clone(), "evil.example".to_owned()),
        ("Host", "evil.example".to_owned(), own.clone()),
    ] {
        let request = Raw::json(&yard, "GET", "/healthz", "");
        let request = request
            .header(name, one.clone())
            .header(name, other.clone());
        let input = format!("{one} and {other}");
        refused(&request.send(&yard).await, &[400], "Host", &input);
    }
    let origin = format!("http://{own}");
    let two = Raw::json(&yard, "GET", "/healthz", "").header("Origin", origin.clone());
    let two = two.header("Origin", "http://evil.example");
    refused(&two.send(&yard).await, &[400], "Origin", "two origins");
    let elsewhere = Raw::json(&yard, "GET", "http://evil.example/healthz", "");
    refused(
        &elsewhere.send(&yard).await,
        &[400],
        "Host",
        "another host in the target",
    );
    let target = format!("{origin}/healthz");
    let here = Raw::json(&yard, "GET", &target, "");
    assert_eq!(here.send(&yard).await.status, 200);
    for host in ["localhost", "127.0.0.1", "[::1]", "127.0.0.2"] {
        for port in [format!(":{port}"), String::new()] {
            let host = format!("{host}{port}");
            let request = Raw::json(&yard, "GET", "/api/repos", "")
                .header("Host", host.clone())
                .header("Origin", format!("http://{host}"));
            assert_eq!(request.send(&yard).await.status, 200, "{host}");
        }
    }
    untouched(&yard).await;
    yard.stop().await;
}

/// What a page can send without asking first: no form reaches a handler.
#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_not_json() {
    let mut yard = Yard::new().await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/jsonp",
        "",
    ] {
        for (method, target, body) in [
            (
                "POST",
                "/stream/repos/demo/branches/main/make",
                "{\"args\":[\"who\"]}",
            ),
            (
                "POST",
                "/stream/repos/demo/branches/main/git",
                "{\"operation\":\"status\"}",
            ),
            (
                "POST",
                "/api/repos/demo/branches/main/read_file",
                "{\"path\":\"name.txt\"}",
            ),
            (
                "POST",
                "/api/repos",
                "{\"name\":\"x\",\"url\":\"https://example.com/x\"}",
            ),
            ("PUT", "/api/repos/demo/branches/main", "{}"),
        ] {
            let mut request = Raw::new(method, target)
                .header("Authorization", format!("Bearer {}", yard.key()))
                .header("Content-Length", body.len().to_string())
                .body(body.into());
            if !kind.is_empty() {
                request = request.header("Content-Type", kind);
            }
            let answer = request.send(&yard).await;
            refused(
                &answer,
                &[415],
                "Content-Type",
                &format!("{method} {target} as {kind:?}"),
            );
        }
    }
    untouched(&yard).await;
    yard.stop().await;
}
