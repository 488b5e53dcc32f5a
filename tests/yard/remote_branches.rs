//! The branches that only the remote has: asked for once, however many pages they fill.

use serde_json::Value;

use crate::support::remotes::{Auth, HttpRemote};
use crate::support::{Options, Yard, git};

const BRANCHES: usize = 300;
/// What one question is over HTTP: which protocol it speaks, and the list.
const ONE_QUESTION: usize = 2;

/// All pages of so many.
async fn listed(yard: &Yard, limit: usize) -> (Vec<String>, Vec<Value>) {
    let (mut names, mut notices, mut after) = (Vec::new(), Vec::new(), String::new());
    loop {
        let path = format!("/api/repos/demo/branches?remote=true&limit={limit}{after}");
        let page = yard.get_json(&path).await;
        for item in page["items"].as_array().unwrap() {
            names.push(item["branch"].as_str().unwrap().to_owned());
        }
        notices.extend(page.get("notice").cloned());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return (names, notices),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_pages_are_one_question() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.add_refs(BRANCHES, 0);
    let remote = HttpRemote::start(&yard.origin, Auth::Anyone).await;
    yard.configure(remote.options(""));
    yard.start().await;
    yard.make("main", &["who"]).await;
    let before = remote.requests();
    let (names, notices) = listed(&yard, 10).await;
    assert_eq!((names.len(), notices), (BRANCHES + 1, Vec::new()));
    let asked = remote.requests() - before;
    assert!(asked <= ONE_QUESTION, "{asked} requests");
    yard.stop().await;
}

#[tokio::test]
async fn a_remote_without_branches_says_so() {
    let mut yard = Yard::new().await;
    let bare = yard.origin.bare.clone();
    git(&bare, &["tag", "v1", "main"]);
    git(&bare, &["update-ref", "-d", "refs/heads/main"]);
    let (names, notices) = listed(&yard, 10).await;
    assert_eq!(names, [""; 0]);
    assert!(notices[0].as_str().unwrap().contains("tags"), "{notices:?}");
    yard.stop().await;

    git(&bare, &["update-ref", "-d", "refs/tags/v1"]);
    yard.start().await;
    let (_, notices) = listed(&yard, 10).await;
    assert!(
        notices[0].as_str().unwrap().contains("empty"),
        "{notices:?}"
    );
    yard.stop().await;
}
