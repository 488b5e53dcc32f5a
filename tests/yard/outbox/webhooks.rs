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
