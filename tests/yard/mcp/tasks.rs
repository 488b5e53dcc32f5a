//! Runs as tasks of the protocol's extension, and questions to the client's user.

use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A client that declares the extension with every request.
fn with_tasks(mut params: Value) -> Value {
    let able = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    params["_meta"] = json!({ CAPABILITIES: able });
    params
}

fn asking(mut params: Value) -> Value {
    params["_meta"] = json!({ CAPABILITIES: { "elicitation": {} } });
    params
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

fn make(target: &str) -> Value {
    let arguments = json!({ "repo": "demo", "branch": "main", "args": [target] });
    call("make", &arguments)
}

async fn get(agent: &Agent, task: &Value) -> Value {
    let params = with_tasks(json!({ "taskId": task }));
    agent.request("tasks/get", params).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_run_is_a_task_which_outlives_the_daemon() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    let mut agent = Agent::new(&yard);
    let hello = agent.request("server/discover", json!({})).await.unwrap();
    let offered = &hello["capabilities"]["extensions"];
    assert!(
        offered["io.modelcontextprotocol/tasks"].is_object(),
        "{hello}"
    );

    // What ends in a moment is answered at once, and who cannot take tasks gets none.
    yard.make("main", &["who"]).await;
    let quick = agent
        .request("tools/call", with_tasks(make("who")))
        .await
        .unwrap();
    assert_eq!(quick["structuredContent"]["state"], "succeeded", "{quick}");
    let mut patient = make("gate");
    patient["arguments"]["wait"] = json!(0);
    let plain = agent.request("tools/call", patient).await.unwrap();
    assert_eq!(plain["structuredContent"]["ended"], false, "{plain}");
    let run = plain["structuredContent"]["run_id"].as_str().unwrap();
    let mut events = yard.follow(run).await;
    events.until(|event| event.data["state"] == "running").await;

    let begun = agent
        .request("tools/call", with_tasks(make("gate")))
        .await
        .unwrap();
    assert_eq!(
        (&begun["resultType"], &begun["status"]),
        (&json!("task"), &json!("working"))
    );
    // The same build was under way: the same task.
    assert_eq!(begun["taskId"], run, "{begun}");
    let task = begun["taskId"].clone();
    assert_eq!(get(&agent, &task).await["status"], "working");

    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    agent.move_to(&yard);
    assert_eq!(get(&agent, &task).await["status"], "working");
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    yard.ended(task.as_str().unwrap()).await;
    let ended = get(&agent, &task).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["structuredContent"]["state"], "succeeded");
    assert_eq!(ended["result"]["structuredContent"]["run_id"], task);

    // Without the capability, or with no such task, it is said so.
    let refused = agent.request("tasks/get", json!({ "taskId": task })).await;
    assert_eq!(refused.unwrap_err()["code"], -32021);
    let refused = agent
        .request("tasks/get", with_tasks(json!({ "taskId": "x" })))
        .await;
    assert_eq!(refused.unwrap_err()["code"], -32602);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_cancelled_by_those_who_may() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    let begun = agent
        .request("tools/call", with_tasks(make("gate")))
        .await
        .unwrap();
    let task = begun["taskId"].clone();
    let cancel = with_tasks(json!({ "taskId": task }));

    let reader = json!({"name": "r", "scopes": ["repo:read"], "repos": ["demo"]});
    let reader = Agent::new(&yard).holding(&yard.token(reader).await);
    let refused = reader.request("tasks/cancel", cancel.clone()).await;
    assert_eq!(refused.unwrap_err()["code"], -32602);
    let other = json!({"name": "o", "role": "dev", "repos": ["demo"], "branches": ["other"]});
    let other = Agent::new(&yard).holding(&yard.token(other).await);
    for method in ["tasks/get", "tasks/cancel"] {
        let refused = other.request(method, cancel.clone()).await;
        let said = refused.unwrap_err()["message"].as_str().unwrap().to_owned();
        assert!(
            said.contains("not_found") || said.contains("bounds"),
            "{method}: {said}"
        );
    }
    assert_eq!(get(&agent, &task).await["status"], "working");

    agent.request("tasks/cancel", cancel).await.unwrap();
    assert_eq!(get(&agent, &task).await["status"], "cancelled");
    yard.stop().await;
}

fn reset() -> Value {
    call("git_reset", &json!({ "mode": "hard" }))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_to_be_confirmed_is_asked_of_the_user() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    yard.make("topic", &[]).await;
    let agent = Agent::of_git(&yard, "topic");
    let file = yard.workspace("topic").join("name.txt");
    let now = || std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, "mine\n").unwrap();

    // A client that cannot ask is told what to do, as before.
    let told = agent.request("tools/call", reset()).await.unwrap();
    assert_eq!(told["isError"], true, "{told}");

    let asked = agent.request("tools/call", asking(reset())).await.unwrap();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["confirm"];
    assert_eq!(question["method"], "elicitation/create");
    let words = question["params"]["message"].as_str().unwrap();
    assert!(
        words.contains("git_reset") && words.contains("name.txt"),
        "{words}"
    );

    let answered = |answer: Value| {
        let mut params = asking(reset());
        params["inputResponses"] = json!({ "confirm": answer });
        params
    };
    for no in [
        json!({ "action": "decline" }),
        json!({ "action": "accept", "content": { "confirm": false } }),
    ] {
        let said = agent.request("tools/call", answered(no)).await.unwrap();
        let text = said["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("declined"), "{said}");
    }
    assert_eq!(now(), "mine\n");
    let yes = json!({ "action": "accept", "content": { "confirm": true } });
    let done = agent.request("tools/call", answered(yes)).await.unwrap();
    assert_ne!(done["isError"], true, "{done}");
    assert_eq!(now(), "topic\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_the_older_protocol_is_asked_within_the_call() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    yard.make("topic", &[]).await;
    let headers = [
        ("branchyard-toolsets", "git_write"),
        ("branchyard-repo", "demo"),
        ("branchyard-branch", "topic"),
    ];
    let able = json!({ "elicitation": {} });
    let agent = Agent::older_able(&yard, &headers, able).await;
    let file = yard.workspace("topic").join("name.txt");
    for (answer, left) in [
        (json!({ "action": "cancel" }), "mine\n"),
        (
            json!({ "action": "accept", "content": { "confirm": true } }),
            "topic\n",
        ),
    ] {
        std::fs::write(&file, "mine\n").unwrap();
        let mut answering = agent.ask("tools/call", reset()).await;
        let question = answering.next().await.unwrap();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
        assert!(agent.send(&answer).await.status().is_success());
        answering.end().await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), left);
    }
    yard.stop().await;
}
