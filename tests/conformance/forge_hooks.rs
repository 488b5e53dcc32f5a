//! What others say of our webhooks: GitHub's own library signs its own examples for us, and the libraries of Standard
//! Webhooks verify what we send.

use std::process::Stdio;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::mpsc;

use crate::installed::{at, node, python, run};
use crate::support::{Options, PATIENCE, Yard, secret_file};

const SECRET: &str = "It's a Secret to Everybody";
const WEBHOOK_SECRET: &str = "whsec_YSBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyBvciBzby4=";
const WORKFLOW: &str = "on: push\njobs: {test: {runs-on: linux, steps: [{run: \"true\"}]}}\n";

#[tokio::test]
async fn examples_that_github_signs_are_taken_and_others_are_not() {
    let mut yard = Yard::asleep(Options::default());
    let file = secret_file(&yard, "hook-secret", SECRET);
    yard.configure(Options {
        repo: format!(
            "webhook_secret_file = {file:?}\n[repos.demo.pipelines]\nauto = true\npoll = \"1h\""
        ),
        ..Options::default()
    });
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.start().await;
    until(&yard, "/api/repos/demo", |repo| {
        repo["watch"]["looked_at"].is_string()
    })
    .await;
    yard.origin.branch("feature/x");
    let mut signing = node();
    signing.arg(at("drivers/forge-hooks.mjs")).arg(SECRET);
    let printed = run(signing).await;
    assert!(
        printed.status.success(),
        "{}",
        String::from_utf8_lossy(&printed.stderr)
    );
    let printed = String::from_utf8(printed.stdout).unwrap();
    let examples: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(examples.len() > 40, "{}", examples.len());
    for example in &examples {
        let body = example["body"].as_str().unwrap();
        let mut flipped = body.as_bytes().to_vec();
        flipped[body.len() / 2] ^= 1;
        for (body, status) in [
            (body.as_bytes().to_vec(), 202),
            (flipped, 401),
            (body.as_bytes().to_vec(), 202),
        ] {
            let request = yard
                .client
                .post(format!("{}/hooks/demo", yard.url))
                .header("x-github-event", example["event"].as_str().unwrap())
                .header(
                    "x-hub-signature-256",
                    example["signature"].as_str().unwrap(),
                )
                .header("content-type", "application/json")
                .body(body);
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), status, "{}", example["event"]);
        }
    }
    let page = until(&yard, "/api/repos/demo/pipelines", |page| {
        let items = page["items"].as_array().unwrap();
        !items.is_empty() && items.iter().all(|item| item["ended_at"].is_string())
    })
    .await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "{page:#}");
    yard.stop().await;
}

#[tokio::test]
async fn libraries_of_standard_webhooks_verify_what_is_sent() {
    let (sender, mut received) = mpsc::unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let service = axum::Router::new().fallback(take).with_state(sender);
    let serving = tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    let mut yard = Yard::asleep(Options::default());
    let file = secret_file(&yard, "webhook-secret", WEBHOOK_SECRET);
    yard.configure(Options {
        tables: format!("[webhooks.chat]\nurl = {url:?}\nsecret_file = {file:?}\n"),
        ..Options::default()
    });
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.start().await;
    yard.post_json("/api/repos/demo/pipelines", json!({ "event": "push" }))
        .await;
    let sent = tokio::time::timeout(PATIENCE, received.recv()).await;
    let sent: Value = sent.unwrap().unwrap();
    let mut changed = sent.clone();
    changed["body"] = json!(sent["body"].as_str().unwrap().replace("demo", "dome"));
    for (message, is_genuine) in [(&sent, true), (&changed, false)] {
        let mut by_npm = node();
        by_npm.arg(at("drivers/verify-webhook.mjs"));
        let mut by_pypi = python();
        by_pypi.arg(at("drivers/verify_webhook.py"));
        for verify in [by_npm, by_pypi] {
            assert_eq!(verifies(verify, message).await, is_genuine, "{message:#}");
        }
    }
    serving.abort();
    yard.stop().await;
}

async fn take(State(sender): State<mpsc::UnboundedSender<Value>>, headers: HeaderMap, body: Bytes) {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let sent = json!({
        "secret": WEBHOOK_SECRET,
        "headers": {
            "webhook-id": header("webhook-id"),
            "webhook-timestamp": header("webhook-timestamp"),
            "webhook-signature": header("webhook-signature"),
        },
        "body": String::from_utf8(body.to_vec()).unwrap(),
    });
    // The test may have what it needs by now.
    let _ = sender.send(sent);
}

async fn verifies(mut command: Command, message: &Value) -> bool {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(message.to_string().as_bytes())
        .await
        .unwrap();
    drop(input);
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let output = output.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match said.trim() {
        "genuine" => true,
        "forged" => false,
        _ => panic!("{said}{}", String::from_utf8_lossy(&output.stderr)),
    }
}

pub async fn until(yard: &Yard, path: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..600 {
        let last = yard.get_json(path).await;
        if is_it(&last) {
            return last;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{path} never came to that");
}
