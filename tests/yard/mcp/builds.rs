//! make, task, git, and what becomes of their runs.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Agent, Answering, Options, Yard, failing, until};

/// A target that runs until `open` stands in the test's directory, and others that end by themselves.
fn makefile(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "\
all:
\t@printf '\\033[32mbuilt\\033[0m %s\\n' \"$$BRANCHYARD_BRANCH\"
long:
\t@n=0; while [ ! -e {dir}/open ]; do n=$$((n+1)); echo line $$n; sleep 0.05; done; echo opened; touch {dir}/ended
bar:
\t@printf '10%%\\r50%%\\r100%%\\n'
many:
\t@seq -f 'line number %g of many' 1 5000
env:
\t@echo $$GREETING
"
    )
}

async fn yard() -> Yard {
    let mut yard = Yard::asleep(Options {
        repo: "tasks = { hello = [\"echo\", \"hello\"] }\n".to_owned(),
        ..Options::default()
    });
    yard.origin.write("Makefile", makefile(yard.dir.path()));
    yard.origin.commit("targets");
    yard.origin.push("main");
    yard.start().await;
    yard
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "callers write it on the spot"
)]
fn main_with(more: Value) -> Value {
    let mut place = json!({ "repo": "demo", "branch": "main" });
    let fields = more.as_object().unwrap().clone();
    place.as_object_mut().unwrap().extend(fields);
    place
}

fn open(yard: &Yard) {
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
}

#[tokio::test]
async fn a_build_is_answered_with_its_commit_its_end_and_plain_output() {
    let mut yard = yard().await;
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        let result = agent.tool("make", main_with(json!({}))).await;
        let built = &result["structuredContent"];
        assert_eq!(built["state"], "succeeded");
        assert_eq!(
            (&built["exit_code"], &built["ended"]),
            (&json!(0), &json!(true))
        );
        assert_eq!(built["commit"], yard.origin.head());
        assert_eq!(built["output"], "built main\n");
        assert_eq!(
            (&built["truncated"], &built["next"]),
            (&json!(false), &json!(null))
        );
        let id = built["run_id"].as_str().unwrap();
        assert_eq!(result["content"][1]["type"], "resource_link");
        assert_eq!(result["content"][1]["uri"], format!("run://{id}/log"));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("succeeded") && text.contains("built main"),
            "{text}"
        );
    }
    let agent = Agent::new(&yard);
    let task = agent
        .call(
            "task",
            main_with(json!({ "task": "hello", "args": "you two" })),
        )
        .await;
    assert_eq!(task["output"], "hello you two\n");
    let greeted = main_with(json!({ "args": ["env"], "env": { "GREETING": "good day" } }));
    assert_eq!(agent.call("make", greeted).await["output"], "good day\n");
    let bar = agent
        .call("make", main_with(json!({ "args": ["bar"] })))
        .await;
    assert_eq!(bar["output"], "100%\n");
    yard.stop().await;
}

#[tokio::test]
async fn a_failed_build_is_a_normal_answer_with_what_it_complained_about() {
    let mut yard = Yard::new().await;
    for (file, content) in failing::c() {
        yard.origin.write(file, content);
    }
    yard.origin.commit("broken");
    yard.origin.push("main");
    let agent = Agent::new(&yard);
    let built = agent.call("make", main_with(json!({}))).await;
    assert_eq!(built["state"], "failed");
    assert!(built["errors"].as_u64().unwrap() > 0);
    let first = &built["diagnostics"][0];
    assert_eq!(first["severity"], "error");
    assert!(first["file"].as_str().unwrap().ends_with(".c"));
    let context = first["context"].as_str().unwrap();
    assert!(
        context.contains(first["message"].as_str().unwrap()),
        "{first}"
    );
    let all = agent
        .call("diagnostics", json!({ "run_id": built["run_id"] }))
        .await;
    assert_eq!(all["diagnostics"][0], *first);
    let warnings = json!({ "run_id": built["run_id"], "severity": "warning" });
    let warnings = agent.call("diagnostics", warnings).await;
    let items = warnings["diagnostics"].as_array().unwrap();
    assert!(items.iter().all(|item| item["severity"] == "warning"));
    yard.stop().await;
}

#[tokio::test]
async fn a_long_build_goes_on_and_is_waited_for_with_its_output_in_order() {
    let mut yard = yard().await;
    let agent = Agent::older(&yard, &[]).await;
    let started = agent
        .call("make", main_with(json!({ "args": "long", "wait": 0.5 })))
        .await;
    assert_eq!(started["ended"], false);
    let next = started["next"].as_str().unwrap();
    let id = started["run_id"].clone();
    assert!(
        next.contains("run_wait") && next.contains(id.as_str().unwrap()),
        "{next}"
    );
    let (mut log, mut cursor) = (
        started["output"].as_str().unwrap().to_owned(),
        started["next_cursor"].clone(),
    );
    for round in 0.. {
        if round == 2 {
            open(&yard);
        }
        let wait = json!({ "run_id": id, "wait": "300ms", "cursor": cursor });
        let waited = agent.call("run_wait", wait).await;
        log.push_str(waited["output"].as_str().unwrap());
        cursor = waited["next_cursor"].clone();
        assert_eq!(waited["truncated"], false);
        if waited["ended"] == true {
            assert_eq!(waited["state"], "succeeded");
            break;
        }
    }
    assert_eq!(log, yard.log(id.as_str().unwrap()).await);
    yard.stop().await;
}

#[tokio::test]
async fn progress_is_told_to_one_who_gave_a_token() {
    let mut yard = yard().await;
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        let params = json!({
            "name": "make",
            "arguments": main_with(json!({ "args": "long" })),
            "_meta": { "progressToken": "p1" },
        });
        let mut answering = agent.ask("tools/call", params).await;
        let (mut said, mut last) = (Vec::new(), 0.0);
        while said.len() < 3 {
            let message = answering.next().await.unwrap();
            assert_eq!(message["method"], "notifications/progress");
            assert_eq!(message["params"]["progressToken"], "p1");
            let progress = message["params"]["progress"].as_f64().unwrap();
            assert!(progress > last);
            last = progress;
            said.push(message["params"]["message"].as_str().unwrap().to_owned());
        }
        assert!(said.iter().any(|text| text.contains("line ")), "{said:?}");
        open(&yard);
        assert_eq!(
            answering.end().await.unwrap()["structuredContent"]["state"],
            "succeeded"
        );
        std::fs::remove_file(yard.dir.path().join("open")).unwrap();
    }
    yard.stop().await;
}

/// Starts a long make and returns what answers it, its request's id and the run's.
async fn ask_long(yard: &Yard, agent: &Agent, on_cancel: Option<&str>) -> (Answering, u64, String) {
    let known = yard.get_json("/api/runs?state=running").await["items"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(known, 0);
    let id = 4711;
    let mut arguments = main_with(json!({ "args": "long" }));
    if let Some(on_cancel) = on_cancel {
        arguments["on_cancel"] = on_cancel.into();
    }
    let params = json!({
        "name": "make",
        "arguments": arguments,
        // Its notices open the stream, so that there is something to leave.
        "_meta": { "progressToken": "p" },
    });
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    let mut answering = Answering::new(agent.send(&message).await);
    let run = loop {
        answering.next().await.unwrap();
        let running = yard.get_json("/api/runs?state=running").await;
        if let Some(run) = running["items"][0]["run_id"].as_str() {
            break run.to_owned();
        }
    };
    (answering, id, run)
}

#[tokio::test]
async fn a_cancelled_request_leaves_its_build_alone_unless_it_was_asked_to_end_it() {
    let mut yard = yard().await;
    for (older, on_cancel, end) in [
        (true, None, "succeeded"),
        (false, None, "succeeded"),
        (true, Some("cancel"), "cancelled"),
        (false, Some("cancel"), "cancelled"),
    ] {
        let agent = match older {
            true => Agent::older(&yard, &[]).await,
            false => Agent::new(&yard),
        };
        let (answering, request, run) = ask_long(&yard, &agent, on_cancel).await;
        if older {
            let params = json!({ "requestId": request, "reason": "enough" });
            agent.notify("notifications/cancelled", params).await;
        }
        // In the newer protocol this is how a request is cancelled.
        drop(answering);
        if end == "succeeded" {
            let ended = yard.dir.path().join("ended");
            open(&yard);
            until("the build ends by itself", || ended.exists()).await;
            std::fs::remove_file(yard.dir.path().join("open")).unwrap();
            std::fs::remove_file(ended).unwrap();
        }
        assert_eq!(
            yard.ended(&run).await["state"],
            end,
            "{older} {on_cancel:?}"
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_run_is_cancelled_by_its_id_and_found_in_the_list() {
    let mut yard = yard().await;
    let agent = Agent::new(&yard);
    let started = agent
        .call("make", main_with(json!({ "args": "long", "wait": 0 })))
        .await;
    let id = started["run_id"].clone();
    let listed = agent.call("runs", json!({ "repo": "demo" })).await;
    assert_eq!(listed["runs"][0]["run_id"], id);
    // A search of what is there so far goes on with what comes.
    let mut search = json!({ "run_id": id, "grep": "^line 3$" });
    let line = loop {
        let found = agent.call("run_log", search.clone()).await;
        if let Some(line) = found["matches"][0]["line"].as_u64() {
            break line;
        }
        search["cursor"] = found["next_cursor"].clone();
    };
    assert_eq!(line, 3);
    agent.call("run_cancel", json!({ "run_id": id })).await;
    let waited = agent.call("run_wait", json!({ "run_id": id })).await;
    assert_eq!(waited["state"], "cancelled");
    let none = agent
        .call("runs", json!({ "repo": "demo", "branch": "other" }))
        .await;
    assert_eq!(none["runs"], json!([]));
    let gone = json!({ "run_id": "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b" });
    assert!(
        agent
            .refusal("run_wait", gone)
            .await
            .contains("run_not_found")
    );
    yard.stop().await;
}

#[tokio::test]
async fn the_same_key_finds_the_same_run() {
    let mut yard = yard().await;
    let agent = Agent::new(&yard);
    let asked = main_with(json!({ "idempotency_key": "once" }));
    let first = agent.call("make", asked.clone()).await;
    assert_eq!(agent.call("make", asked).await["run_id"], first["run_id"]);
    let other = main_with(json!({ "idempotency_key": "once", "args": "bar" }));
    assert!(agent.refusal("make", other).await.contains("once"));
    yard.stop().await;
}

#[tokio::test]
async fn a_log_is_read_by_tail_range_search_and_cursor() {
    let mut yard = yard().await;
    let agent = Agent::new(&yard);
    let built = agent
        .call("make", main_with(json!({ "args": "many" })))
        .await;
    let id = &built["run_id"];
    let log = |more: Value| {
        let mut asked = json!({ "run_id": id });
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        asked
    };
    let tail = agent.call("run_log", log(json!({ "tail": 2 }))).await;
    assert_eq!(
        tail["text"],
        "line number 4999 of many\nline number 5000 of many\n"
    );
    let range = agent
        .call("run_log", log(json!({ "first_line": 10, "last_line": 11 })))
        .await;
    assert_eq!(
        range["text"],
        "line number 10 of many\nline number 11 of many\n"
    );
    assert_eq!(
        (&range["truncated"], &tail["next_cursor"]),
        (&json!(false), &json!(null))
    );

    let (mut all, mut cursor) = (String::new(), json!("b0"));
    while cursor.is_string() {
        let page = agent
            .call("run_log", log(json!({ "cursor": cursor })))
            .await;
        all.push_str(page["text"].as_str().unwrap());
        cursor = page["next_cursor"].clone();
    }
    assert_eq!(all, yard.log(id.as_str().unwrap()).await);

    let (mut found, mut cursor) = (Vec::new(), json!(null));
    loop {
        let asked = log(json!({ "grep": "number \\d*7 of", "context": 1, "cursor": cursor }));
        let page = agent.call("run_log", asked).await;
        for item in page["matches"].as_array().unwrap() {
            found.push(item["line"].as_u64().unwrap());
        }
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let expected: Vec<u64> = (1..=5000).filter(|n| n % 10 == 7).collect();
    assert_eq!(found, expected);

    for (asked, field) in [
        (json!({ "tail": 2, "grep": "x" }), "pattern"),
        (json!({ "pattern": "(" }), "pattern"),
        (json!({ "start_line": 0 }), "start_line"),
        (json!({ "first_line": 5, "last_line": 4 }), "end_line"),
        (json!({ "end_line": 4 }), "end_line"),
        (json!({ "context": 1 }), "context"),
        (json!({ "grep": "x", "context": 21 }), "context"),
        (json!({ "cursor": "x" }), "cursor"),
        (json!({ "cursor": "l5" }), "cursor"),
        (json!({ "grep": "x", "cursor": "b5" }), "cursor"),
        (json!({ "tail": -1 }), "tail"),
        (json!({ "tial": 1 }), "tial"),
    ] {
        let refusal = agent.refusal("run_log", log(asked.clone())).await;
        assert!(
            refusal.contains(&format!("field: {field}")),
            "{asked}: {refusal}"
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn git_looks_beside_a_build_and_writes_as_a_run() {
    let mut yard = yard().await;
    let agent = Agent::new(&yard);
    let started = agent
        .call("make", main_with(json!({ "args": "long", "wait": 0.3 })))
        .await;
    let status = agent
        .call("git", main_with(json!({ "operation": "status" })))
        .await;
    assert_eq!(
        (&status["exit_code"], &status["run_id"]),
        (&json!(0), &json!(null))
    );
    assert_eq!(status["commit"], yard.origin.head());
    let log = main_with(json!({ "operation": "log", "args": "-n1 --format=%s" }));
    assert_eq!(agent.call("git", log).await["output"], "targets\n");
    open(&yard);
    agent
        .call("run_wait", json!({ "run_id": started["run_id"] }))
        .await;

    std::fs::write(yard.workspace("main").join("new.txt"), "new").unwrap();
    for (operation, args) in [("add", "new.txt"), ("commit", "-m 'a new file'")] {
        let done = main_with(json!({ "operation": operation, "args": args }));
        let done = agent.call("git", done).await;
        assert_eq!(
            (&done["state"], &done["exit_code"]),
            (&json!("succeeded"), &json!(0)),
            "{done}"
        );
    }
    let ahead = agent
        .call(
            "git",
            main_with(json!({ "operation": "show", "args": "--stat" })),
        )
        .await;
    assert!(ahead["output"].as_str().unwrap().contains("new.txt"));
    let refusal = agent
        .refusal("git", main_with(json!({ "operation": "config" })))
        .await;
    assert!(
        refusal.contains("git_forbidden") || refusal.contains("field:"),
        "{refusal}"
    );
    yard.stop().await;
}

#[tokio::test]
async fn wrong_arguments_are_named_with_their_mend() {
    let mut yard = yard().await;
    let agent = Agent::new(&yard);
    for (arguments, said) in [
        (json!({ "repo": "demo" }), "field: branch"),
        (
            json!({ "repo": "no-such", "branch": "main" }),
            "field: repo",
        ),
        (json!({ "repo": "demo", "branch": "no-such" }), "branch"),
        (json!({ "repo": "demo", "branch": "-x" }), "field: branch"),
        (json!({ "repo": 5, "branch": "main" }), "field: repo"),
        (main_with(json!({ "wait": "soon" })), "field: wait"),
        (main_with(json!({ "wait": -1 })), "field: wait"),
        (main_with(json!({ "sync": "pull" })), "field: sync"),
        (main_with(json!({ "args": "--eval=x" })), "field: args"),
        (
            main_with(json!({ "env": { "LD_PRELOAD": "x" } })),
            "field: env",
        ),
        (main_with(json!({ "targets": ["x"] })), "field: targets"),
        (main_with(json!({ "commit": "abc" })), "field: commit"),
        (main_with(json!({ "timeout": "soon" })), "field: timeout"),
    ] {
        let refusal = agent.refusal("make", arguments.clone()).await;
        assert!(refusal.contains(said), "{arguments}: {refusal}");
    }
    // However long what was wrong is, the answer is short.
    let long = "x".repeat(50_000);
    agent
        .refusal("make", main_with(json!({ long.clone(): 1 })))
        .await;
    agent
        .refusal("make", json!({ "repo": long, "branch": "main" }))
        .await;
    let words: Vec<_> = (0..900)
        .map(|n| format!("VARIABLE_{n}={}", "v".repeat(90)))
        .collect();
    let made = agent
        .call("make", main_with(json!({ "args": words })))
        .await;
    assert_eq!(made["state"], "succeeded");
    let unknown = json!({ "name": "no_such_tool", "arguments": {} });
    let error = agent.request("tools/call", unknown).await.unwrap_err();
    assert_eq!(error["code"], -32602);
    yard.stop().await;
}
