//! What agents need to know of runs and verbs is in text and structure.

use serde_json::{Value, json};

use crate::support::{Agent, Yard, git};

fn main_with(mut arguments: Value) -> Value {
    arguments["repo"] = "demo".into();
    arguments["branch"] = "main".into();
    arguments
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_alone_or_saved_is_told() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    agent
        .call("make", main_with(json!({ "args": ["who"] })))
        .await;
    std::fs::write(yard.workspace("main").join("name.txt"), "mine\n").unwrap();
    yard.origin.at("main");
    yard.origin.write("name.txt", "theirs\n");
    let theirs = yard.origin.commit("theirs");
    yard.origin.push("main");
    let result = agent
        .tool("make", main_with(json!({ "args": ["who"] })))
        .await;
    let made = &result["structuredContent"];
    assert_eq!(
        (&made["notices"][0]["code"], &made["dirty"]),
        (&json!("left_alone"), &json!(true))
    );
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("left_alone") && text.contains("uncommitted changes"),
        "{text}"
    );
    // An agent that waits for it, or reads its log, is told as well.
    let run = json!({ "run_id": made["run_id"] });
    for tool in ["run_wait", "run_log"] {
        let again = agent.tool(tool, run.clone()).await;
        assert_eq!(
            again["structuredContent"]["notices"], made["notices"],
            "{tool}"
        );
        let text = again["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("left_alone"), "{tool}: {text}");
    }
    let reset = json!({ "args": ["who"], "sync": "reset" });
    let result = agent.tool("make", main_with(reset)).await;
    let made = &result["structuredContent"];
    assert_eq!(made["commit"], theirs);
    let salvages = yard.salvages("main").await;
    let id = salvages[0]["id"].as_str().unwrap();
    let notice = made["notices"][0]["message"].as_str().unwrap();
    assert!(notice.contains(id), "{notice}");
    assert!(result["content"][0]["text"].as_str().unwrap().contains(id));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fewer_commits_than_were_asked_for_are_truncated() {
    let mut yard = Yard::new().await;
    for n in 0..60 {
        let message = format!("commit {n}: {}", "with a rather long subject ".repeat(12));
        yard.origin.commit(&message);
    }
    yard.origin.push("main");
    let agent = Agent::of_git(&yard, "main");
    let (mut seen, mut skip) = (0, 0);
    loop {
        let page = agent
            .call("git_log", json!({ "count": 50, "skip": skip }))
            .await;
        let count = page["commits"].as_array().unwrap().len();
        let asked_all = count == 50;
        let is_last = page["next"].is_null();
        assert_eq!(page["truncated"], !asked_all && !is_last, "{count}");
        seen += count;
        let Some(next) = page["next"].as_u64() else {
            break;
        };
        assert!(next > skip);
        skip = next;
    }
    assert_eq!(seen, 61);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_gets_past_an_entry_that_is_longer_than_an_answer() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.commit(&"long ".repeat(10_000));
    for name in ["b-long", "c-long"] {
        yard.origin.push(name);
    }
    yard.origin.branch("d-short");
    let agent = Agent::of_git(&yard, "main");
    agent.call("git_fetch", json!({})).await;
    let (mut names, mut skip) = (Vec::new(), 0);
    for _ in 0..20 {
        let asked = json!({ "action": "list", "remote": true, "skip": skip });
        let page = agent.call("git_branch", asked).await;
        let branches = page["branches"].as_array().unwrap();
        names.extend(
            branches
                .iter()
                .map(|item| item["name"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_u64() else {
            break;
        };
        assert!(next > skip, "it goes on");
        skip = next;
    }
    assert!(
        names.iter().any(|name| name.ends_with("d-short")),
        "{names:?}"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_goes_on_takes_the_message_that_it_is_given() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write("name.txt", "theirs\n");
    yard.origin.commit("theirs");
    yard.origin.push("other");
    let agent = Agent::of_git(&yard, "main");
    agent.call("git_fetch", json!({})).await;
    std::fs::write(yard.workspace("main").join("name.txt"), "ours\n").unwrap();
    agent
        .call("git_commit", json!({ "message": "ours", "all": true }))
        .await;
    let stopped = agent
        .call("git_merge", json!({ "from": "origin/other" }))
        .await;
    assert_eq!(stopped["state"], "conflicts", "{stopped}");
    agent.call("git_resolve", json!({ "all": "theirs" })).await;
    let refusal = agent
        .refusal("git_merge", json!({ "action": "abort", "message": "x" }))
        .await;
    assert!(refusal.contains("field: message"), "{refusal}");
    let message = "# both, as agreed\n\nwith a body";
    agent
        .call(
            "git_merge",
            json!({ "action": "continue", "message": message }),
        )
        .await;
    let written = git(&yard.workspace("main"), &["log", "-1", "--format=%B"]);
    assert_eq!(written, message);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_is_clean_or_dirty() {
    let mut yard = Yard::new().await;
    let agent = Agent::of_git(&yard, "main");
    let status = agent.call("git_status", json!({})).await;
    assert_eq!(
        (&status["clean"], &status["dirty"]),
        (&json!(true), &json!(false))
    );
    std::fs::write(yard.workspace("main").join("new.txt"), "").unwrap();
    for asked in [json!({}), json!({ "ignored": true })] {
        let status = agent.call("git_status", asked).await;
        assert_eq!(
            (&status["clean"], &status["dirty"]),
            (&json!(false), &json!(true))
        );
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_answers_when_the_run_has_ended_and_leaves_no_error() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    let started = json!({ "args": ["gate"], "wait": 0 });
    let started = agent.call("make", main_with(started)).await;
    let run = started["run_id"].as_str().unwrap();
    yard.follow(run).await.until_line("waiting").await;
    let result = agent.tool("run_cancel", json!({ "run_id": run })).await;
    assert_eq!(result["structuredContent"]["state"], "cancelled");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, format!("run {run} is cancelled"));
    let record = yard.get_json(&format!("/api/runs/{run}")).await;
    assert_eq!(record["diagnostics"], Value::Null, "{record}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_word_of_progress_names_the_run() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    let call = json!({
        "name": "make", "arguments": main_with(json!({ "args": ["who"] })),
        "_meta": { "progressToken": "p" },
    });
    let mut answering = agent.ask("tools/call", call).await;
    let first = loop {
        let message = answering.next().await.unwrap();
        if message["method"] == "notifications/progress" {
            break message["params"]["message"].as_str().unwrap().to_owned();
        }
    };
    let result = answering.end().await.unwrap();
    let run = result["structuredContent"]["run_id"].as_str().unwrap();
    assert_eq!(first, format!("run_id {run}"));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_again_finds_the_same_run_until_something_is_written() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    agent
        .call("make", main_with(json!({ "args": ["who"] })))
        .await;
    let call = json!({ "args": ["gate"], "wait": 0 });
    let first = agent.call("make", main_with(call.clone())).await;
    let run = first["run_id"].as_str().unwrap();
    yard.follow(run).await.until_line("waiting").await;
    let again = agent.call("make", main_with(call.clone())).await;
    assert_eq!(again["run_id"], first["run_id"]);
    // Another principal has a run of its own.
    let token = yard.token(json!({ "role": "dev", "name": "other" })).await;
    let other = Agent::new(&yard).holding(&token);
    let theirs = other.call("make", main_with(call.clone())).await;
    assert_ne!(theirs["run_id"], first["run_id"]);
    let next = theirs["next"].as_str().unwrap();
    assert!(
        next.contains(run),
        "it says behind which run it waits: {next}"
    );
    std::fs::write(yard.workspace("main").join("name.txt"), "changed\n").unwrap();
    let later = agent.call("make", main_with(call)).await;
    assert_ne!(later["run_id"], first["run_id"]);
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    for started in [&first, &theirs, &later] {
        yard.ended(started["run_id"].as_str().unwrap()).await;
    }
    yard.stop().await;
}
