//! Reads that have to wait for a remote keep their client informed, and themselves to its patience.

use std::process::Command;

use rustix::fs::{Mode, OFlags};
use serde_json::json;

use crate::support::{Agent, Yard};

#[tokio::test]
async fn every_read_that_waits_for_a_clone_says_so() {
    let mut yard = Yard::new().await;
    // Whoever asks the remote for its branches waits until somebody writes into this.
    let refs = yard.origin.bare.join("packed-refs");
    let made = Command::new("mkfifo").arg(&refs).status();
    assert!(made.unwrap().success());
    let agent = Agent::new(&yard);
    let meta = json!({ "progressToken": "p" });
    let status = json!({ "repo": "demo", "branch": "main", "operation": "status" });
    let look = json!({ "name": "git", "arguments": status, "_meta": meta });
    let file = json!({ "uri": "workspace://demo/main/Makefile", "_meta": meta });
    let (look, file) = tokio::join!(
        agent.ask("tools/call", look),
        agent.ask("resources/read", file),
    );
    let mut answers = [look, file];
    for answer in &mut answers {
        let told = answer.next().await.unwrap();
        assert_eq!(told["method"], "notifications/progress", "{told}");
    }
    let writer = rustix::fs::open(&refs, OFlags::RDWR | OFlags::NONBLOCK, Mode::empty());
    std::fs::remove_file(&refs).unwrap();
    drop(writer.unwrap());
    for answer in &mut answers {
        answer.end().await.unwrap();
    }
    yard.stop().await;
}
