//! Names of this machine that no rule of spelling knows: those of its own `/etc/hosts`.

use serde_json::json;

use super::asleep;
use crate::support::remotes::{Auth, HttpRemote};
use crate::support::{Yard, problem_of};

/// A name that leads to loopback and does not look like it; `None` where this machine has none.
fn name_of_loopback() -> Option<String> {
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let name = hosts.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        words.next().filter(|address| *address == "127.0.0.1")?;
        words
            .find(|name| !name.contains("localhost") && !name.contains('_'))
            .map(str::to_owned)
    });
    if name.is_none() {
        println!("skipped: /etc/hosts has no other name for 127.0.0.1");
    }
    name
}

fn url(remote: &HttpRemote, name: &str) -> String {
    format!("http://{name}:{}/origin.git", remote.address.port())
}

async fn start(yard: &mut Yard, remote: &HttpRemote, more: &str) {
    let mut options = remote.options("");
    options.git = format!("allow_protocols = [\"http\", \"ssh\"]\n{more}\n");
    yard.configure(options);
    yard.start().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leads_to_an_inner_address_is_for_the_operator_only() {
    let Some(name) = name_of_loopback() else {
        return;
    };
    let mut yard = asleep();
    let remote = HttpRemote::start(&yard.origin, Auth::Anyone).await;
    let port = remote.address.port();
    start(&mut yard, &remote, "").await;
    let before = remote.requests();
    for url in [
        url(&remote, &name),
        url(&remote, &name.to_ascii_uppercase()),
        url(&remote, &format!("{name}.")),
        format!("ssh://git@{name}:{port}/x"),
        format!("git@{name}:x"),
    ] {
        let body = json!({ "name": "inner", "url": url });
        let (status, problem) = problem_of(yard.post("/api/repos", body).await).await;
        assert_eq!(
            (status, &problem["field"]),
            (400, &json!("url")),
            "{url}: {problem}"
        );
        assert!(
            problem["help"]
                .as_str()
                .unwrap()
                .contains("git.allow_hosts"),
            "{problem}"
        );
        let body = json!({ "url": url, "agent_id": "a", "task_id": "t" });
        let (status, problem) = problem_of(yard.post("/api/git/clone", body).await).await;
        assert_eq!(
            (status, &problem["field"]),
            (400, &json!("url")),
            "{url}: {problem}"
        );
    }
    yard.stop().await;

    // It led elsewhere when it was registered.
    let kept = yard.workspaces.join(".branchyard/repos/inner.json");
    let registered = json!({ "name": "inner", "url": url(&remote, &name) });
    std::fs::write(&kept, registered.to_string()).unwrap();
    start(&mut yard, &remote, "").await;
    for path in ["/api/repos/inner/branches?remote=true"] {
        let (status, problem) = problem_of(yard.get(path).await).await;
        let expected = (502, &json!("remote_inner_address"));
        assert_eq!((status, &problem["code"]), expected, "{problem}");
    }
    let prepared = yard.put("/api/repos/inner/branches/main", json!({})).await;
    let (_, problem) = problem_of(prepared).await;
    assert_eq!(problem["code"], "remote_inner_address", "{problem}");
    assert_eq!(remote.requests(), before, "it was never asked");
    yard.stop().await;

    // The operator says that it may.
    start(&mut yard, &remote, &format!("allow_hosts = [{name:?}]")).await;
    let body = json!({ "name": "allowed", "url": url(&remote, &name) });
    yard.post_json("/api/repos", body).await;
    for repo in ["inner", "allowed"] {
        let prepared = yard
            .put(&format!("/api/repos/{repo}/branches/main"), json!({}))
            .await;
        assert_eq!(prepared.status(), 200, "{repo}");
    }
    yard.stop().await;
    // Cloned while it was allowed, and not any more.
    start(&mut yard, &remote, "").await;
    let before = remote.requests();
    let body = json!({ "operation": "fetch", "sync": "none" });
    let run = yard
        .post("/stream/repos/inner/branches/main/git", body)
        .await;
    let said = run.text().await.unwrap();
    assert!(said.contains("remote_inner_address"), "{said}");
    assert_eq!(remote.requests(), before);
    yard.stop().await;
}
