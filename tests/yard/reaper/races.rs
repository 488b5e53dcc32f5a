//! The reaper against requests: a request wins, or gets a fresh workspace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::support::text_of;

#[tokio::test(flavor = "multi_thread")]
async fn requests_succeed_while_everything_is_reaped_all_the_time() {
    race(200).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_requests_succeed_while_everything_is_reaped_all_the_time() {
    race(5000).await;
}

/// Each has somebody who asks for it all the time.
const BRANCHES: [&str; 3] = ["one", "two", "three"];

/// So many passes that remove whatever they find, while builds and reads go on.
async fn race(passes: usize) {
    // Whatever is on disk is too much.
    let mut yard = yard("max_size = \"1B\"").await;
    for branch in BRANCHES {
        yard.origin.branch(branch);
    }
    let shared = Arc::new(yard);
    let ended = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(AtomicUsize::new(0));
    let mut askers = Vec::new();
    for branch in BRANCHES {
        let (yard, ended, asked) = (shared.clone(), ended.clone(), asked.clone());
        askers.push(tokio::spawn(async move {
            for kind in ["make", "ls", "read"].iter().cycle() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                ask(&yard, branch, kind).await;
                asked.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    let (mut removed, mut done) = (0, 0);
    while done < passes || removed < passes / 10 {
        let reaping = reap(&shared).await;
        for item in reaping["items"].as_array().unwrap() {
            removed += usize::from(item["outcome"]["result"] == "done");
        }
        done += 1;
    }
    ended.store(true, Ordering::Relaxed);
    for asker in askers {
        asker.await.unwrap();
    }
    assert!(asked.load(Ordering::Relaxed) > 10);
    yard = Arc::into_inner(shared).unwrap();
    yard.stop().await;
}

async fn ask(yard: &Yard, branch: &str, kind: &str) {
    match kind {
        "make" => {
            let events = yard.make(branch, &["who"]).await;
            let last = events.last().unwrap();
            assert_eq!(last.data["state"], "succeeded", "{events:?}");
            assert_eq!(text_of(&events), format!("{branch}\n"));
        }
        "ls" => {
            let path = format!("/api/repos/demo/branches/{branch}/ls");
            let listed = yard.post_json(&path, json!({})).await;
            assert_eq!(listed["entries"].as_array().unwrap().len(), 2, "{listed}");
        }
        _ => {
            let path = format!("/api/repos/demo/branches/{branch}/read_file");
            let read = yard.post_json(&path, json!({"path": "name.txt"})).await;
            assert_eq!(read["text"], format!("{branch}\n"));
        }
    }
}
