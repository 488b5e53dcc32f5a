//! Searching a workspace, over both faces.

use std::os::unix::fs::symlink;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Agent, Yard, problem_of};

const GREP: &str = "/api/repos/demo/branches/main/grep";

fn on_main(mut arguments: Value) -> Value {
    arguments["repo"] = "demo".into();
    arguments["branch"] = "main".into();
    arguments
}

async fn yard_with(files: &[(&str, &str)]) -> Yard {
    let yard = Yard::new().await;
    for (path, text) in files {
        yard.origin.write(path, text);
    }
    yard.origin.commit("files");
    yard.origin.push("main");
    yard
}

#[tokio::test]
async fn lines_are_found_with_what_is_around_them() {
    let mut yard = yard_with(&[
        ("src/a.c", "int one;\nint Two;\nint three;\n"),
        ("src/b.h", "int two;\n"),
    ])
    .await;
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        let asked =
            json!({ "pattern": r"\btwo\b", "ignore_case": true, "context": 1, "glob": "*.c" });
        let result = agent.tool("grep", on_main(asked)).await;
        let found = &result["structuredContent"];
        assert_eq!(
            found["matches"],
            json!([{
                "path": "src/a.c", "line": 2, "column": 5, "text": "int Two;",
                "before": ["int one;"], "after": ["int three;"],
            }])
        );
        assert_eq!(found["truncated"], false);
        assert_eq!(found["commit"], yard.origin.head());
        assert_eq!(
            result["content"][0]["text"],
            "src/a.c-1-int one;\nsrc/a.c:2:int Two;\nsrc/a.c-3-int three;\n"
        );
    }
    let agent = Agent::new(&yard);
    let none = agent
        .tool("grep", on_main(json!({ "pattern": "nowhere" })))
        .await;
    assert_eq!(none["content"][0]["text"], "nothing was found");

    let over_http = json!({ "pattern": "two", "path": "src" });
    let answer = yard.post_json(GREP, over_http).await;
    assert_eq!(answer["matches"][0]["path"], "src/b.h");
    assert_eq!(
        (&answer["branch"], &answer["next"]),
        (&json!("main"), &json!(null))
    );
    let refused = yard.post(GREP, json!({ "pattern": "(" })).await;
    let (status, problem) = problem_of(refused).await;
    assert_eq!((status, &problem["field"]), (422, &json!("pattern")));
    let refused = yard
        .post(GREP, json!({ "pattern": "x", "path": ".." }))
        .await;
    assert_eq!(problem_of(refused).await.0, 403);
    yard.stop().await;
}

#[tokio::test]
async fn many_matches_come_in_pages_and_long_lines_in_part() {
    let long = format!("{}needle{}\n", "\u{1}".repeat(30_000), "x".repeat(100_000));
    let mut yard = yard_with(&[("long", &long)]).await;
    let names: Vec<_> = (0..40).map(|n| format!("many/{n:02}")).collect();
    for name in &names {
        yard.origin.write(name, "needle\n".repeat(50));
    }
    yard.origin.commit("many");
    yard.origin.push("main");
    let agent = Agent::new(&yard);
    let (mut found, mut cursor) = (Vec::new(), json!(null));
    loop {
        let asked = json!({ "pattern": "needle", "limit": 1000, "context": 10, "cursor": cursor });
        let page = agent.call("grep", on_main(asked)).await;
        for hit in page["matches"].as_array().unwrap() {
            found.push((
                hit["path"].as_str().unwrap().to_owned(),
                hit["line"].as_u64().unwrap(),
            ));
        }
        assert_eq!(page["truncated"], page["next_cursor"].is_string());
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let mut expected = vec![("long".to_owned(), 1)];
    for name in names {
        expected.extend((1..=50).map(|line| (name.clone(), line)));
    }
    assert_eq!(found, expected);
    yard.stop().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_named() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    for (arguments, field) in [
        (json!({}), "pattern"),
        (json!({ "pattern": "" }), "pattern"),
        (json!({ "pattern": "(a{100}){100}{100}" }), "pattern"),
        (json!({ "pattern": "(".repeat(100_000) }), "pattern"),
        (json!({ "pattern": "x", "context": 11 }), "context"),
        (json!({ "pattern": "x", "limit": 0 }), "limit"),
        (json!({ "pattern": "x", "limit": -1 }), "limit"),
        (json!({ "pattern": "x", "glob": "[" }), "glob"),
        (json!({ "pattern": "x", "cursor": "7" }), "cursor"),
        (json!({ "pattern": "x", "recursive": true }), "recursive"),
    ] {
        let refusal = agent.refusal("grep", on_main(arguments)).await;
        assert!(refusal.contains(&format!("field: {field}")), "{refusal}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_swapped_for_a_link_during_searches_never_leads_out() {
    let names: Vec<_> = (0..300).map(|n| format!("real/{n:03}")).collect();
    let files: Vec<_> = names.iter().map(|name| (&**name, "harmless\n")).collect();
    let mut yard = yard_with(&files).await;
    let outside = yard.dir.path().join("real");
    std::fs::create_dir(&outside).unwrap();
    for name in &names {
        std::fs::write(yard.dir.path().join(name), "secret\n").unwrap();
    }
    let agent = Agent::new(&yard);
    agent.call("ls", on_main(json!({}))).await;
    let workspace = yard.workspace("main");
    symlink(&outside, workspace.join("link")).unwrap();
    let enough = CancellationToken::new();
    let swapping = tokio::task::spawn_blocking({
        let enough = enough.clone();
        move || {
            let (link, real) = (workspace.join("link"), workspace.join("real"));
            while !enough.is_cancelled() {
                renameat_with(CWD, &link, CWD, &real, RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    for _ in 0..50 {
        let asked = json!({ "pattern": "secret|harmless", "limit": 1000 });
        let found = agent.call("grep", on_main(asked)).await;
        for hit in found["matches"].as_array().unwrap() {
            assert_eq!(hit["text"], "harmless");
        }
    }
    enough.cancel();
    swapping.await.unwrap();
    yard.stop().await;
}
