//! Webhooks, signed as Standard Webhooks has it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

use super::{DELIVERIES, WORKFLOW};
use crate::support::{Options, Received, Receiver, Yard, secret_file};

const KEY: &[u8] = b"a key of thirty-two bytes or so.";

fn signature(sent: &Received) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(KEY).unwrap();
    let (id, time) = (sent.header("webhook-id"), sent.header("webhook-timestamp"));
    mac.update(format!("{id}.{time}.{}", sent.body).as_bytes());
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}

#[tokio::test]
async fn each_state_is_told_and_signed() {
    let receiver = Receiver::start().await;
    let mut yard = Yard::asleep(Options::default());
    let secret = format!("whsec_{}", BASE64_STANDARD.encode(KEY));
    let file = secret_file(&yard, "webhook-secret", &secret);
    let url = &receiver.url;
    yard.configure(Options {
        tables: format!(
            "[webhooks.chat]\nurl = \"{url}/chat\"\nrepos = [\"d*\"]\nsecret_file = {file:?}\n\
             [webhooks.others]\nurl = \"{url}/others\"\nrepos = [\"x*\"]\n"
        ),
        ..Options::default()
    });
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.start().await;
    let ended = yard.pushed().await;
    let delivered = yard.all_delivered().await;
    let all = receiver.received();
    for sent in &all {
        assert_eq!(sent.path, "/chat");
        assert_eq!(sent.header("webhook-signature"), signature(sent));
        assert_eq!(sent.json()["data"]["pipeline_id"], ended["pipeline_id"]);
    }
    let last = all.last().unwrap();
    assert_eq!(last.json()["type"], "pipeline.succeeded");
    assert_eq!(
        last.json()["data"]["jobs"],
        json!([{ "job": "test", "state": "succeeded", "reason": null }])
    );
    // Once more, under the same id.
    let delivery = delivered.last().unwrap()["delivery_id"].as_str().unwrap();
    assert_eq!(last.header("webhook-id"), delivery);
    yard.post_json(&format!("{DELIVERIES}/{delivery}/redeliver"), json!({}))
        .await;
    yard.all_delivered().await;
    let again = receiver.received().pop().unwrap();
    assert_eq!(
        (again.header("webhook-id"), &again.body),
        (delivery, &last.body)
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_copy_of_a_yard_tells_nothing_of_what_the_original_does() {
    let receiver = Receiver::start().await;
    let mut yard = Yard::asleep(Options::default());
    let gate = yard.dir.path().join("open");
    yard.configure(Options {
        tables: format!(
            "[webhooks.chat]\nurl = \"{}/chat\"\n[after.all]\ncommand = [\"touch\", {:?}]\nsandbox = false\n",
            receiver.url,
            yard.dir.path().join("told")
        ),
        ..Options::default()
    });
    let wait = format!("until [ -e {} ]; do sleep 0.02; done", gate.display());
    let job = format!("{{runs-on: linux, timeout-minutes: 1, steps: [{{run: {wait:?}}}]}}");
    yard.origin
        .workflow("ci.yml", &format!("on: push\njobs: {{test: {job}}}\n"));
    let mut daemon = yard.start_binary(&[]).await;
    let started = yard
        .post_json("/api/repos/demo/pipelines", json!({ "event": "push" }))
        .await;
    let path = format!(
        "/api/pipelines/{}",
        started["pipeline_id"].as_str().unwrap()
    );
    yard.until_json(&path, |pipeline| {
        pipeline["jobs"][0]["steps"][0]["state"] == "running"
    })
    .await;
    yard.all_delivered().await;
    let before = receiver.received().len();
    let (original, address) = (yard.workspaces.clone(), yard.url.clone());
    let copy = yard.dir.path().join("copied");
    let copied = std::process::Command::new("cp")
        .args(["-a".as_ref(), original.as_os_str(), copy.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    yard.workspaces = copy;
    let mut second = yard.start_binary(&[]).await;
    assert_eq!(yard.get_json(&path).await["state"], "cancelled");
    second.stop().await;
    assert_eq!(receiver.received().len(), before);
    assert!(!yard.dir.path().join("told").exists());
    (yard.workspaces, yard.url) = (original, address);
    std::fs::write(gate, "").unwrap();
    assert_eq!(
        yard.get_json(&format!("{path}?wait=50s")).await["state"],
        "succeeded"
    );
    yard.all_delivered().await;
    assert!(yard.dir.path().join("told").exists());
    daemon.stop().await;
}
