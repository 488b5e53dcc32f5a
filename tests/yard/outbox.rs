//! What others are told of pipelines: statuses of commits, and webhooks.

mod statuses;
mod webhooks;

use serde_json::{Value, json};

use crate::support::remotes::HttpRemote;
use crate::support::{Options, Receiver, Yard, yard_of_forge};

const WORKFLOW: &str = "on: push\njobs: {test: {runs-on: linux, steps: [{run: make who}]}}\n";
const DELIVERIES: &str = "/api/repos/demo/deliveries";

/// A yard that tells a forge of this kind of its workflow file.
async fn told(kind: &str, forge: &Receiver) -> (Yard, HttpRemote) {
    let (mut yard, remote) = yard_of_forge(kind, forge, Options::default()).await;
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.start().await;
    (yard, remote)
}

impl Yard {
    /// Runs a pipeline for a push, to its end.
    pub async fn pushed(&self) -> Value {
        let started = self
            .post_json("/api/repos/demo/pipelines", json!({ "event": "push" }))
            .await;
        let id = started["pipeline_id"].as_str().unwrap();
        self.get_json(&format!("/api/pipelines/{id}?wait=100s"))
            .await
    }

    /// Waits until no message waits to be sent; all that there are, oldest first.
    async fn all_delivered(&self) -> Vec<Value> {
        let page = self
            .until_json(DELIVERIES, |page| {
                let mut items = page["items"].as_array().unwrap().iter();
                items.all(|item| item["state"] == "delivered")
            })
            .await;
        let mut items = page["items"].as_array().unwrap().clone();
        items.reverse();
        items
    }
}
