//! A log of any size, and the one error in the middle of it.

use serde_json::json;

use crate::support::{Agent, Options, Yard};

const MEGABYTES: usize = 500;
const ERROR: &str = "src/parser.c:1234:5: error: expected ';' before 'return'";

/// The test client holds every answer to its bound.
#[tokio::test]
async fn one_error_in_half_a_gigabyte_is_named() {
    let mut yard = Yard::asleep(Options::default());
    let half = format!(
        "yes 'cc -O2 -Wall -c -o build/some/file.o src/some/file.c' | head -c {}000000",
        MEGABYTES / 2
    );
    yard.origin.write(
        "Makefile",
        format!("all:\n\t@{half}; echo; echo \"{ERROR}\"; {half}; echo; exit 1\n"),
    );
    yard.origin.commit("much");
    yard.origin.push("main");
    yard.start().await;
    let agent = Agent::new(&yard);
    let mut made = agent
        .call("make", json!({ "repo": "demo", "branch": "main" }))
        .await;
    while made["ended"] != true {
        made = agent
            .call("run_wait", json!({ "run_id": made["run_id"] }))
            .await;
    }
    assert_eq!(
        (&made["state"], &made["truncated"]),
        (&json!("failed"), &json!(true))
    );
    let found = agent
        .call("diagnostics", json!({ "run_id": made["run_id"] }))
        .await;
    for (place, diagnostic) in [
        ("make", &made["diagnostics"][0]),
        ("diagnostics", &found["diagnostics"][0]),
    ] {
        assert_eq!(diagnostic["file"], "src/parser.c", "{place}");
        assert_eq!(diagnostic["line"], 1234);
        assert!(
            diagnostic["context"].as_str().unwrap().contains(ERROR),
            "{place}: {diagnostic}"
        );
    }
    let line = &found["diagnostics"][0]["log_line"];
    let range = json!({ "run_id": made["run_id"], "first_line": line, "last_line": line });
    assert_eq!(
        agent.call("run_log", range).await["text"],
        format!("{ERROR}\n")
    );
    let search = json!({ "run_id": made["run_id"], "grep": "parser\\.c:\\d+" });
    assert_eq!(
        agent.call("run_log", search).await["matches"][0]["line"],
        *line
    );
    yard.stop().await;
}

/// What JSON has to escape takes six times its room.
#[tokio::test]
async fn output_that_grows_by_escaping_is_bounded_too() {
    let mut yard = Yard::asleep(Options::default());
    let noise = "head -c 200000 /dev/zero | tr '\\0' '\\001'";
    let quotes = "head -c 200000 /dev/zero | tr '\\0' '\\042'";
    let bytes = "head -c 200000 /dev/zero | tr '\\0' '\\377'";
    yard.origin.write(
        "Makefile",
        format!("all:\n\t@{noise}; echo; {quotes}; echo; {bytes}\nnoise:\n\t@{noise}\n"),
    );
    yard.origin.commit("noise");
    yard.origin.push("main");
    yard.start().await;
    let agent = Agent::new(&yard);
    for target in ["all", "noise"] {
        let asked = json!({ "repo": "demo", "branch": "main", "args": [target] });
        let made = agent.call("make", asked).await;
        assert_eq!(made["truncated"], true);
        assert!(!made["output"].as_str().unwrap().is_empty());
        let mut cursor = json!("b0");
        for _ in 0..5 {
            let page = agent
                .call(
                    "run_log",
                    json!({ "run_id": made["run_id"], "cursor": cursor }),
                )
                .await;
            assert_ne!(page["next_cursor"], cursor, "it goes on");
            cursor = page["next_cursor"].clone();
        }
    }
    yard.stop().await;
}
