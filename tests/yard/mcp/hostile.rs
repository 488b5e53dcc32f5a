//! Arguments that were made to do harm get a short answer, and always one.

use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard};

/// Each takes six bytes in an answer.
fn bells(count: usize) -> String {
    "\u{7}".repeat(count)
}

#[tokio::test]
async fn numbers_beyond_all_bounds_are_answered() {
    let mut yard = Yard::new().await;
    let run = yard.make("main", &["who"]).await[0].data["run_id"].clone();
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        for (tool, field) in [
            ("grep", "context"),
            ("grep", "limit"),
            ("read_file", "start_line"),
            ("read_file", "end_line"),
            ("run_log", "tail"),
            ("run_log", "first_line"),
            ("run_log", "context"),
            ("run_wait", "wait"),
        ] {
            for number in [json!(u64::MAX), json!(u64::MAX / 2), json!(0), json!(-1)] {
                let mut arguments = match tool {
                    "grep" => json!({ "repo": "demo", "branch": "main", "pattern": "x" }),
                    "read_file" => json!({ "repo": "demo", "branch": "main", "path": "Makefile" }),
                    "run_log" if field == "context" => json!({ "run_id": run, "grep": "x" }),
                    _ => json!({ "run_id": run }),
                };
                arguments[field] = number;
                agent.tool(tool, arguments).await;
            }
        }
        for (tool, cursor) in [
            ("run_log", format!("b{}", u64::MAX)),
            ("run_wait", format!("b{}", u64::MAX)),
            ("diagnostics", u64::MAX.to_string()),
        ] {
            let asked = json!({ "run_id": run, "cursor": cursor });
            agent.call(tool, asked).await;
        }
    }
    yard.stop().await;
}

#[tokio::test]
async fn no_refusal_is_longer_than_an_answer() {
    let mut yard = Yard::new().await;
    let on_main = |name: &str, value: Value| {
        let mut arguments = json!({ "repo": "demo", "branch": "main" });
        arguments[name] = value;
        arguments
    };
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        for (tool, arguments) in [
            ("ls", on_main(&bells(5_000), json!(1))),
            ("ls", on_main("path", bells(5_000).into())),
            ("read_file", on_main("path", bells(3_000).into())),
            ("make", on_main("args", json!([bells(5_000)]))),
            ("make", on_main("sync", bells(5_000).into())),
            ("make", on_main("env", json!({ bells(5_000): "x" }))),
            ("task", on_main("task", bells(5_000).into())),
            ("git", on_main("operation", bells(5_000).into())),
        ] {
            agent.refusal(tool, arguments).await;
        }
        let prompt = json!({ "name": "wrap_up", "arguments": { bells(5_000): "x" } });
        agent.bounded("prompts/get", prompt).await.unwrap_err();
    }
    let agent = Agent::older(&yard, &[]).await;
    for uri in [
        bells(5_000),
        format!("workspace://demo/main/{}", bells(5_000)),
    ] {
        for method in ["resources/read", "resources/subscribe"] {
            let asked = json!({ "uri": uri });
            agent.bounded(method, asked).await.unwrap_err();
        }
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_repo_with_thousands_of_tasks_is_listed() {
    let tasks: Vec<_> = (0..3_000)
        .map(|n| format!("task-{n} = [\"true\"]"))
        .collect();
    let mut yard = Yard::with(Options {
        repo: format!("tasks = {{ {} }}", tasks.join(", ")),
        ..Options::default()
    })
    .await;
    yard.make("main", &["who"]).await;
    let agent = Agent::new(&yard);
    for asked in [
        json!({}),
        json!({ "repo": "demo" }),
        json!({ "repo": "demo", "branch": "main" }),
    ] {
        let listed = agent.call("list", asked).await;
        let tasks = listed["repos"][0]["tasks"].as_array().unwrap();
        assert!(tasks.len() > 100 && listed["truncated"] == true, "{listed}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_cursor_of_something_else_is_refused_before_anything_is_waited_for() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.write("Makefile", "all:\n\t@sleep 100\n");
    yard.origin.commit("it takes its time");
    yard.origin.push("main");
    yard.start().await;
    let run = yard.start_detached("main", json!({})).await;
    let agent = Agent::new(&yard);
    let waiting = json!({ "run_id": run, "cursor": "l1" });
    let asked = json!({
        "name": "run_wait", "arguments": waiting, "_meta": { "progressToken": "p" },
    });
    let first = agent.ask("tools/call", asked).await.next().await.unwrap();
    assert_eq!(first["result"]["isError"], true, "{first}");
    agent.call("run_cancel", json!({ "run_id": run })).await;
    yard.ended(&run).await;
    yard.stop().await;
}
