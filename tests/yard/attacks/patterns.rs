//! Globs and regular expressions that are made to do harm: refused by the field, or answered, and never a panic.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Raw, Yard};

fn hostile() -> Vec<String> {
    let nested = |depth: usize| format!("{}*{}", "{".repeat(depth), "}".repeat(depth));
    vec![
        nested(65),
        nested(200),
        nested(300),
        nested(5_000),
        format!("{}*{}", "{\\}".repeat(300), "}".repeat(300)),
        format!("{}*{}", "{a,".repeat(300), "}".repeat(300)),
        format!("{}*{}", "{[}]".repeat(300), "}".repeat(300)),
        "*".repeat(5_000),
        "?".repeat(5_000),
        "**/".repeat(400),
        "[".repeat(300),
        "[a-".to_owned(),
        "{*".to_owned(),
        "*\\".to_owned(),
        "{a,b}*".repeat(100),
        "(".repeat(300),
        "(".repeat(100_000),
        "a".repeat(200_000) + "*",
        "(a*)*{1000}".repeat(10),
        "\\p{L}{1000}{1000}".to_owned(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn patterns_cannot_break_who_reads_them() {
    let mut yard = Yard::new().await;
    yard.put("/api/repos/demo/branches/main", json!({})).await;
    let branch = "/api/repos/demo/branches/main";
    for pattern in hostile() {
        let shown: String = pattern.chars().take(20).collect();
        let asked: [(&str, String, Value); 9] = [
            (
                "branches",
                "/stream/repos/demo/make".to_owned(),
                json!({ "branches": [pattern] }),
            ),
            (
                "branches",
                "/api/tokens".to_owned(),
                json!({ "role": "ui", "expires": "1m", "branches": [pattern] }),
            ),
            (
                "repos",
                "/api/tokens".to_owned(),
                json!({ "role": "ui", "expires": "1m", "repos": [pattern] }),
            ),
            (
                "glob",
                format!("{branch}/grep"),
                json!({ "pattern": "x", "glob": pattern }),
            ),
            (
                "pattern",
                format!("{branch}/grep"),
                json!({ "pattern": pattern }),
            ),
            (
                "pattern",
                format!("{branch}/git/branch"),
                json!({ "action": "list", "pattern": pattern }),
            ),
            (
                "pattern",
                format!("{branch}/git/tag"),
                json!({ "action": "list", "pattern": pattern }),
            ),
            (
                "author",
                format!("{branch}/git/log"),
                json!({ "author": pattern }),
            ),
            (
                "grep",
                format!("{branch}/git/log"),
                json!({ "grep": pattern }),
            ),
        ];
        for (field, path, body) in asked {
            let request = yard.request(Method::POST, &path).json(&body);
            let request = request.header("prefer", "respond-async");
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            let text = answer.text().await.unwrap();
            let input = format!("{path} {field} {shown}");
            assert!(status < 500, "{input}: {status} {text}");
            if status >= 400 && status != 404 {
                let problem: Value = serde_json::from_str(&text).unwrap();
                assert!(
                    [field, "action"].contains(&problem["field"].as_str().unwrap_or_default()),
                    "{input}: {problem}"
                );
                assert!(text.len() < 32_000, "{input}: {}", text.len());
            }
        }
    }
    assert_eq!(yard.get("/api/repos").await.status(), 200);
    yard.stop().await;
}

/// To the library that reads rules of `.gitignore` braces nest, and a parser that recurses has a stack of some size.
#[tokio::test(flavor = "multi_thread")]
async fn rules_of_a_worktree_cannot_break_a_search() {
    let mut yard = Yard::new().await;
    yard.put("/api/repos/demo/branches/main", json!({})).await;
    let rules = |depth: usize| {
        let deep = format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
        format!("{deep}\n{}\nhidden.txt\n", "[".repeat(depth))
    };
    let worktree = yard.workspace("main");
    std::fs::write(worktree.join("hidden.txt"), "needle\n").unwrap();
    std::fs::write(worktree.join("seen.txt"), "needle\n").unwrap();
    for depth in [300, 50_000] {
        std::fs::write(worktree.join(".gitignore"), rules(depth)).unwrap();
        let body = json!({ "pattern": "needle" }).to_string();
        let path = "/api/repos/demo/branches/main/grep";
        let answer = Raw::json(&yard, "POST", path, body).send(&yard).await;
        assert_eq!(answer.status, 200, "{depth}: {answer:?}");
        assert!(answer.body.contains("seen.txt"), "{depth}: {answer:?}");
        // The rules that are good count all the same.
        assert!(!answer.body.contains("hidden.txt"), "{depth}: {answer:?}");
    }
    yard.stop().await;
}
