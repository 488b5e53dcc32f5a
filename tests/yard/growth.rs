//! What may grow without end: the history of runs, and the workspaces of a repo.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Options, PATIENCE, Yard, problem_of};

/// Puts copies of an ended run into the history, made so many milliseconds after 2026 began.
fn plant(yard: &Yard, like: &str, ages: impl Iterator<Item = u64>) -> Vec<String> {
    let ids = ages.map(|millis| {
        let hex = format!("{:012x}", 1_767_225_600_000 + millis);
        let id = format!("{}-{}-7000-8000-{millis:012x}", &hex[..8], &hex[8..]);
        let (from, to) = (yard.run_dir(like), yard.run_dir(&id));
        std::fs::create_dir(&to).unwrap();
        for file in std::fs::read_dir(&from).unwrap().flatten() {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
        let path = to.join("run.json");
        let mut record: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        record["run_id"] = json!(id);
        std::fs::write(path, record.to_string()).unwrap();
        id
    });
    ids.collect()
}

/// The ids of all runs by `query`, page by page.
async fn listed(yard: &Yard, query: &str) -> Vec<String> {
    let (mut all, mut before) = (Vec::new(), String::new());
    loop {
        let page = yard
            .get_json(&format!("/api/runs?limit=7{query}{before}"))
            .await;
        for run in page["items"].as_array().unwrap() {
            all.push(run["run_id"].as_str().unwrap().to_owned());
        }
        match page["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => return all,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_that_the_index_lacks_are_found_while_the_daemon_serves() {
    let mut yard = Yard::new().await;
    let events = yard.make("main", &["who"]).await;
    let run = events[0].data["run_id"].as_str().unwrap().to_owned();
    yard.stop().await;

    let mut ids = plant(&yard, &run, 0..40);
    // One without a record never was a run.
    std::fs::remove_file(yard.run_dir(&ids[3]).join("run.json")).unwrap();
    ids.remove(3);
    for name in ["yard.db", "yard.db-wal", "yard.db-shm"] {
        drop(std::fs::remove_file(
            yard.workspaces.join(".branchyard").join(name),
        ));
    }
    yard.start().await;
    // What is recent is there from the first request on, and each by its id.
    assert_eq!(listed(&yard, "").await[0], run);
    assert_eq!(yard.log(&ids[0]).await, "main\n");
    ids.push(run);
    ids.reverse();
    let complete = async { while listed(&yard, "").await.len() < ids.len() {} };
    let complete = tokio::time::timeout(PATIENCE, complete).await;
    complete.expect("all are found");
    assert_eq!(listed(&yard, "").await, ids);
    for (query, count) in [
        ("&repo=demo&branch=main&kind=make&state=succeeded", 40),
        ("&state=succeeded&kind=make", 40),
        ("&repo=demo&state=failed", 0),
        ("&branch=main&kind=git", 0),
        ("&repo=demo&since=1h&state=succeeded", 40),
    ] {
        assert_eq!(listed(&yard, query).await.len(), count, "{query}");
    }
    let token = json!({"name": "other", "role": "dev", "repos": ["demo"], "branches": ["other"]});
    let token = yard.token(token).await;
    let path = format!("{}/api/runs?limit=7", yard.url);
    let request = yard.client.get(path).bearer_auth(token);
    let page = crate::support::json_of(request.send().await.unwrap()).await;
    assert_eq!(page, json!({"items": [], "next": null}));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workspaces_are_listed_page_by_page() {
    let mut yard = Yard::asleep(Options::default());
    let names = ["main", "a", "b/c", "b/d", "e", "f"];
    for name in &names[1..] {
        yard.origin.push(name);
    }
    yard.origin.push("only/remote");
    yard.start().await;
    for name in names {
        yard.make(name, &["who"]).await;
    }
    let mut expected: BTreeSet<_> = names.map(str::to_owned).into();
    assert_eq!(pages(&yard, "").await, expected);
    expected.insert("only/remote".to_owned());
    assert_eq!(pages(&yard, "&remote=true").await, expected);
    expected.remove("only/remote");

    // A list is what is there now, whatever was listed before.
    assert!(
        yard.delete("/api/repos/demo/branches/e")
            .await
            .status()
            .is_success()
    );
    expected.remove("e");
    assert_eq!(pages(&yard, "").await, expected);
    yard.make("e", &["who"]).await;
    expected.insert("e".to_owned());
    assert_eq!(pages(&yard, "").await, expected);
    let whole = yard.get_json("/api/repos/demo/branches").await;
    assert_eq!(whole["items"].as_array().unwrap().len(), names.len());
    assert_eq!(whole["next"], json!(null));
    let refused = yard.get("/api/repos/demo/branches?limit=0").await;
    let (status, problem) = problem_of(refused).await;
    assert_eq!((status, &problem["field"]), (422, &json!("limit")));
    yard.stop().await;
}

async fn pages(yard: &Yard, query: &str) -> BTreeSet<String> {
    let (mut all, mut after) = (BTreeSet::new(), String::new());
    loop {
        let path = format!("/api/repos/demo/branches?limit=2{query}{after}");
        let page = yard.get_json(&path).await;
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        for item in items {
            let branch = item["branch"].as_str().unwrap().to_owned();
            assert!(all.insert(branch), "{page} was there before");
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={}", crate::support::encode(next)),
            None => return all,
        }
    }
}
