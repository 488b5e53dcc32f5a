//! Bodies that are too deep, too large, or not what they should be.

use serde_json::{Value, json};

use super::{refused, untouched};
use crate::support::{Options, Raw, Yard, problem_of};

const MAKE: &str = "/stream/repos/demo/branches/main/make";
const GIT: &str = "/stream/repos/demo/branches/main/git";
const QUICK: &str = "/api/repos/demo/branches/main/git/quick";
const READ: &str = "/api/repos/demo/branches/main/read_file";
const LS: &str = "/api/repos/demo/branches/main/ls";
const PUT: &str = "/api/repos/demo/branches/main";
const REPOS: &str = "/api/repos";

const TAKERS: &[(&str, &str)] = &[
    ("POST", MAKE),
    ("POST", GIT),
    ("POST", QUICK),
    ("POST", READ),
    ("POST", LS),
    ("POST", REPOS),
    ("PUT", PUT),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_body_nested_without_end_is_refused() {
    let mut yard = Yard::new().await;
    let depth = 100_000;
    let bodies = [
        ("[…", "[".repeat(depth)),
        ("[…]", "[".repeat(depth) + &"]".repeat(depth)),
        ("{a:…}", "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth)),
        (
            "args",
            format!("{{\"args\":{}{}}}", "[".repeat(depth), "]".repeat(depth)),
        ),
        (
            "env",
            format!(
                "{{\"env\":{}{}}}",
                "{\"a\":".repeat(depth),
                "}".repeat(depth)
            ),
        ),
        (
            "path",
            format!("{{\"path\":{}{}}}", "[".repeat(depth), "]".repeat(depth)),
        ),
    ];
    for (what, body) in &bodies {
        for (method, target) in TAKERS {
            let input = format!("{method} {target} with {what}");
            let answer = Raw::json(&yard, method, target, body.as_str())
                .send(&yard)
                .await;
            assert!(
                [400, 422].contains(&answer.status),
                "{input}: {}",
                answer.status
            );
            answer.problem(&input);
        }
    }
    untouched(&yard).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_the_limit_is_refused_however_it_is_sent() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_body = \"64KiB\"\n".to_owned(),
        ..Options::default()
    })
    .await;
    let padding = " ".repeat(65 * 1024);
    for (method, target) in TAKERS {
        let whole = Raw::json(&yard, method, target, format!("{padding}{{}}"));
        refused(
            &whole.send(&yard).await,
            &[413],
            "body",
            &format!("{method} {target}"),
        );

        // It claims a gibibyte; nobody waits for that.
        let key = format!("Bearer {}", yard.key());
        let claimed = Raw::new(method, target)
            .header("Authorization", key.clone())
            .header("Content-Type", "application/json")
            .header("Content-Length", (1_u64 << 30).to_string())
            .body(padding.clone().into());
        refused(
            &claimed.send(&yard).await,
            &[413],
            "body",
            &format!("{method} {target} of 1 GiB"),
        );

        let chunk = format!("{:x}\r\n{padding}\r\n", padding.len());
        let chunked = Raw::new(method, target)
            .header("Authorization", key)
            .header("Content-Type", "application/json")
            .header("Transfer-Encoding", "chunked")
            .body(format!("{chunk}{chunk}").into());
        refused(
            &chunked.send(&yard).await,
            &[413],
            "body",
            &format!("{method} {target} in chunks"),
        );
    }
    untouched(&yard).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_and_wrong_types_are_named() {
    let mut yard = Yard::new().await;
    let cases: Vec<(&str, &str, Value, &str)> = vec![
        ("POST", MAKE, json!({"arg": []}), "arg"),
        (
            "POST",
            MAKE,
            json!({"args": ["who"], "shell": "id"}),
            "shell",
        ),
        ("POST", MAKE, json!({"args": 1}), "args"),
        ("POST", MAKE, json!({"args": [1]}), "args"),
        ("POST", MAKE, json!({"args": {"a": 1}}), "args"),
        ("POST", MAKE, json!({"env": []}), "env"),
        ("POST", MAKE, json!({"env": {"A": 1}}), "env.A"),
        ("POST", MAKE, json!({"timeout": 5}), "timeout"),
        ("POST", MAKE, json!({"timeout": "soon"}), "timeout"),
        ("POST", MAKE, json!({"timeout": "0s"}), "timeout"),
        ("POST", MAKE, json!({"timeout": "9999999h"}), "timeout"),
        ("POST", MAKE, json!({"sync": "sometimes"}), "sync"),
        ("POST", MAKE, json!({"sync": "commit"}), "commit"),
        ("POST", MAKE, json!({"commit": "main"}), "commit"),
        (
            "POST",
            MAKE,
            json!({"sync": "commit", "commit": "--help"}),
            "commit",
        ),
        ("POST", MAKE, json!({"stale": "yes"}), "stale"),
        ("POST", MAKE, json!({"detach": 1}), "detach"),
        ("POST", MAKE, json!({"operation": "status"}), "operation"),
        ("POST", MAKE, json!({"repo": "other"}), "repo"),
        ("POST", MAKE, json!({"branch": "other"}), "branch"),
        ("POST", MAKE, json!({"branch": "-x"}), "branch"),
        ("POST", GIT, json!({}), "operation"),
        ("POST", GIT, json!({"operation": ["status"]}), "operation"),
        (
            "POST",
            GIT,
            json!({"operation": "status", "task": "x"}),
            "task",
        ),
        ("POST", QUICK, json!({}), "operation"),
        (
            "POST",
            QUICK,
            json!({"operation": "status", "cwd": "/"}),
            "cwd",
        ),
        ("POST", READ, json!({}), "path"),
        ("POST", READ, json!({"path": 1}), "path"),
        (
            "POST",
            READ,
            json!({"path": "x", "start_line": -1}),
            "start_line",
        ),
        (
            "POST",
            READ,
            json!({"path": "x", "start_line": 1e99}),
            "start_line",
        ),
        ("POST", READ, json!({"path": "x", "follow": true}), "follow"),
        ("POST", LS, json!({"path": []}), "path"),
        ("POST", LS, json!({"recursive": "yes"}), "recursive"),
        ("POST", LS, json!({"depth": 1}), "depth"),
        ("POST", REPOS, json!({}), "name"),
        ("POST", REPOS, json!({"name": "x"}), "url"),
        (
            "POST",
            REPOS,
            json!({"name": 1, "url": "https://example.com/x"}),
            "name",
        ),
        (
            "POST",
            REPOS,
            json!({"name": "x", "url": "https://example.com/x", "hooks": 1}),
            "hooks",
        ),
        ("PUT", PUT, json!({"from": 1}), "from"),
        ("PUT", PUT, json!({"force": true}), "force"),
        ("PUT", PUT, json!({"branch": "other"}), "branch"),
    ];
    for (method, target, body, field) in cases {
        let input = format!("{method} {target} {body}");
        let answer = Raw::json(&yard, method, target, body.to_string())
            .send(&yard)
            .await;
        refused(&answer, &[422], field, &input);
    }
    for body in ["null", "1", "\"x\"", "[]", "true"] {
        for (method, target) in TAKERS {
            let input = format!("{method} {target} {body}");
            let answer = Raw::json(&yard, method, target, body).send(&yard).await;
            assert_eq!(answer.status, 422, "{input}: {answer:?}");
            answer.problem(&input);
        }
    }
    for body in [
        "{",
        "{}{}",
        "{} x",
        "{\"args\":[\"\\ud800\"]}",
        "nul",
        "{'a':1}",
        "\u{feff}{}",
        "{\"args\":[],\"args\":[]",
    ] {
        for (method, target) in TAKERS {
            let input = format!("{method} {target} {body}");
            let answer = Raw::json(&yard, method, target, body).send(&yard).await;
            assert!([400, 422].contains(&answer.status), "{input}: {answer:?}");
            answer.problem(&input);
        }
    }
    untouched(&yard).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wild_query_strings_are_refused() {
    let mut yard = Yard::new().await;
    for target in [
        "/api/runs?limit=-1",
        "/api/runs?limit=x",
        "/api/runs?limit=99999999999999999999999",
        "/api/runs?state=sideways",
        "/api/runs?branch=-x",
        "/api/runs?repo=..",
        "/api/runs?before=x",
        "/api/runs?order=asc",
        "/api/repos/demo/branches?remote=perhaps",
        "/api/repos/demo/branches?x=1",
    ] {
        let (status, problem) = problem_of(yard.get(target).await).await;
        assert!([400, 422].contains(&status), "{target}: {problem}");
    }
    for id in [
        "x",
        "..",
        "%2e%2e",
        "-1",
        "01890a5d-ac96-774b-bcce-b302099a8057%00",
        "%ff",
    ] {
        for (method, target) in [
            ("GET", format!("/api/runs/{id}")),
            ("GET", format!("/api/runs/{id}/log")),
            ("GET", format!("/stream/runs/{id}")),
            ("POST", format!("/api/runs/{id}/cancel")),
        ] {
            let input = format!("{method} {target}");
            let answer = Raw::json(&yard, method, &target, "").send(&yard).await;
            assert!([400, 404].contains(&answer.status), "{input}: {answer:?}");
            answer.problem(&input);
        }
    }
    yard.stop().await;
}
