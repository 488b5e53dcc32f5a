//! A remote with thousands of refs: each look and each listing asks it once, whatever it has.

use serde_json::json;

use super::hooks::start_hooked;
use super::{ON_PUSH, PIPELINES};
use crate::support::remotes::{Auth, HttpRemote};
use crate::support::{Options, Yard};

const BRANCHES: usize = 3_000;
const TAGS: usize = 1_000;
/// What one question is over HTTP: which protocol it speaks, and the list.
const ONE_QUESTION: usize = 2;

/// All branches, page by page.
async fn listed(yard: &Yard) -> usize {
    let (mut count, mut after) = (0, String::new());
    loop {
        let path = format!("/api/repos/demo/branches?remote=true&limit=500{after}");
        let page = yard.get_json(&path).await;
        count += page["items"].as_array().unwrap().len();
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return count,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_refs_are_one_question_for_each_look_and_listing() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.workflow("ci.yml", ON_PUSH);
    yard.origin.add_refs(BRANCHES, TAGS);
    let remote = HttpRemote::start(&yard.origin, Auth::Anyone).await;
    start_hooked(&mut yard, "", remote.options("")).await;
    let before = remote.requests();
    yard.asked_by_hook().await;
    let asked = remote.requests() - before;
    assert!(asked <= ONE_QUESTION, "{asked} requests for a look");
    assert_eq!(yard.get_json(PIPELINES).await["items"], json!([]));

    let before = remote.requests();
    assert_eq!(listed(&yard).await, BRANCHES + 1);
    let asked = remote.requests() - before;
    assert!(asked <= ONE_QUESTION, "{asked} requests for a listing");

    // One of them moves, and it alone is built.
    let commit = yard.origin.branch("heads-1500");
    yard.asked_by_hook().await;
    let only = yard.ended_pipelines(1).await.remove(0);
    assert_eq!(
        (&only["branch"], &only["commit"]),
        (&json!("heads-1500"), &json!(commit))
    );
    yard.stop().await;
}
