//! Many at once.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Yard, git, problem_of};

#[tokio::test(flavor = "multi_thread")]
async fn fifty_first_requests_make_one_clone_and_fifty_right_workspaces() {
    fifty_first_requests(5).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_fifty_first_requests_again_and_again() {
    fifty_first_requests(40).await;
}

async fn fifty_first_requests(times: usize) {
    for _ in 0..times {
        let mut yard = Yard::new().await;
        let branches: Vec<_> = (0..50).map(|n| format!("many/{n}")).collect();
        let commits: Vec<_> = branches
            .iter()
            .map(|branch| yard.origin.branch(branch))
            .collect();
        let yard_ref = &yard;
        let all = branches
            .iter()
            .map(|branch| async move { yard_ref.make(branch, &["who"]).await });
        let results = join_all(all).await;
        for ((branch, commit), events) in branches.iter().zip(&commits).zip(results) {
            let last = events.last().unwrap();
            assert_eq!(last.data["state"], "succeeded", "{branch}: {events:?}");
            assert_eq!(last.data["commit"], commit.as_str());
            let out: Vec<u8> = events.iter().flat_map(|e| e.bytes()).collect();
            assert_eq!(String::from_utf8(out).unwrap().trim(), branch);
            let workspace = yard.workspace(branch);
            assert_eq!(
                git(&workspace, &["rev-parse", "--abbrev-ref", "HEAD"]),
                *branch
            );
            assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
        }
        assert_eq!(clones_in(&yard.workspaces), 1);
        yard.stop().await;
    }
}

/// Every clone leaves one pack per fetch and one store; a second would have left its staging or store.
fn clones_in(workspaces: &Path) -> usize {
    assert_eq!(
        std::fs::read_dir(workspaces.join(".branchyard/staging"))
            .unwrap()
            .count(),
        0
    );
    let log = std::fs::read_to_string(workspaces.join("demo/.git/logs/refs/remotes/origin/main"))
        .unwrap();
    log.lines().count()
}

/// Polls all futures together; a small stand-in that keeps the answers in order.
pub(crate) async fn join_all<F: std::future::Future>(
    futures: impl Iterator<Item = F>,
) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.map(|f| (Box::pin(f), None)).collect();
    std::future::poll_fn(move |cx| {
        let mut waiting = false;
        for (future, slot) in &mut pending {
            if slot.is_none() {
                match future.as_mut().poll(cx) {
                    std::task::Poll::Ready(value) => *slot = Some(value),
                    std::task::Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(
            pending
                .iter_mut()
                .filter_map(|(_, slot)| slot.take())
                .collect(),
        )
    })
    .await
}

#[tokio::test]
async fn a_repository_is_cloned_before_its_first_use_where_one_asks() {
    let mut yard = Yard::new().await;
    let before = yard.get_json("/api/repos/demo").await;
    assert_eq!(
        (&before["cloned"], &before["default_branch"]),
        (&json!(false), &Value::Null)
    );
    for _ in 0..2 {
        let cloned = yard.post_json("/api/repos/demo/clone", json!({})).await;
        assert_eq!(
            (
                &cloned["cloned"],
                &cloned["default_branch"],
                &cloned["workspaces"]
            ),
            (&json!(true), &json!("main"), &json!(0))
        );
    }
    assert_eq!(clones_in(&yard.workspaces), 1);
    let nowhere = json!({ "name": "nowhere", "url": yard.dir.path().join("nowhere.git") });
    yard.post_json("/api/repos", nowhere).await;
    let (status, problem) =
        problem_of(yard.post("/api/repos/nowhere/clone", json!({})).await).await;
    assert_eq!(status, 502, "{problem}");
    let audit = yard.get_json("/api/audit?action=repo.clone").await;
    assert_eq!(audit["items"].as_array().unwrap().len(), 3, "{audit}");
    yard.stop().await;
}
