//! Repositories: registered, listed, kept, found again, forgotten.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Options, Yard, events_of, git, json_of, problem_of, text_of};

/// Name and source of every repo in the listing.
async fn listed(yard: &Yard) -> Vec<(String, String)> {
    let listing = yard.get_json("/api/repos").await;
    assert_eq!(listing["next"], Value::Null);
    let text = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
    let items = listing["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| (text(item, "name"), text(item, "source")))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(name, source)| ((*name).to_owned(), (*source).to_owned()))
        .collect()
}

async fn make(yard: &Yard, repo: &str, branch: &str) -> String {
    let path = format!("/stream/repos/{repo}/branches/{branch}/make");
    let events = events_of(yard.post(&path, json!({"args": ["who"]})).await).await;
    let state = &events.last().unwrap().data["state"];
    assert_eq!(state, "succeeded", "{repo} {branch}: {events:?}");
    text_of(&events)
}

fn bare() -> Options {
    // Local repositories stay allowed, but none is configured.
    Options {
        bare: true,
        tables: "[git]\nallow_local = true\n".to_owned(),
        ..Options::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_repo_is_listed_shown_built_and_kept_across_restarts() {
    let mut yard = Yard::new().await;
    let url = yard.origin.url();
    let body = json!({"name": "second", "url": url, "default_branch": "main"});
    let answer = yard.post("/api/repos", body).await;
    assert_eq!(answer.status(), StatusCode::CREATED);
    let made = json_of(answer).await;
    let expected = json!({
        "name": "second", "url": url, "default_branch": "main", "source": "registered",
        "cloned": false, "workspaces": 0, "tasks": [],
    });
    assert_eq!(made, expected);
    assert_eq!(yard.get_json("/api/repos/second").await, expected);
    let both = pairs(&[("demo", "config"), ("second", "registered")]);
    assert_eq!(listed(&yard).await, both);

    assert_eq!(make(&yard, "second", "main").await, "main\n");
    let shown = yard.get_json("/api/repos/second").await;
    assert_eq!(
        (&shown["cloned"], &shown["workspaces"]),
        (&json!(true), &json!(1))
    );
    let other = yard.get_json("/api/repos/demo").await;
    assert_eq!(
        other["cloned"], false,
        "the two are two, though their URL is one"
    );

    yard.stop().await;
    yard.start().await;
    assert_eq!(listed(&yard).await, both);
    assert_eq!(yard.get_json("/api/repos/second").await, shown);
    assert_eq!(make(&yard, "second", "main").await, "main\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_taken_once() {
    let mut yard = Yard::new().await;
    let url = yard.origin.url();
    yard.post_json("/api/repos", json!({"name": "second", "url": url}))
        .await;
    for name in ["second", "demo"] {
        for url in [url.as_str(), "https://example.com/other"] {
            let answer = yard
                .post("/api/repos", json!({"name": name, "url": url}))
                .await;
            let (status, problem) = problem_of(answer).await;
            let got = (status, &problem["code"], &problem["field"]);
            assert_eq!(
                got,
                (409, &json!("repo_exists"), &json!("name")),
                "{name} {url}"
            );
        }
    }
    // Names that differ by case alone are two, also on disk.
    yard.post_json("/api/repos", json!({"name": "Second", "url": url}))
        .await;
    yard.origin.branch("topic");
    make(&yard, "second", "main").await;
    make(&yard, "Second", "topic").await;
    for (repo, workspaces) in [("second", ["main"]), ("Second", ["topic"])] {
        let branches = yard.get_json(&format!("/api/repos/{repo}/branches")).await;
        let names: Vec<_> = branches["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|b| &b["branch"])
            .collect();
        assert_eq!(names, workspaces, "{repo}");
    }
    let (status, problem) = problem_of(yard.get("/api/repos/third").await).await;
    assert_eq!((status, &problem["code"]), (404, &json!("repo_not_found")));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repo_goes_only_when_nothing_of_it_is_used() {
    let mut yard = Yard::new().await;
    let url = yard.origin.url();
    yard.post_json("/api/repos", json!({"name": "second", "url": url}))
        .await;
    make(&yard, "second", "main").await;
    let (status, problem) = problem_of(yard.delete("/api/repos/second").await).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("repo_in_use")),
        "{problem}"
    );
    let home = yard.workspaces.join("second");
    assert!(home.join("main/name.txt").exists());

    let (status, problem) = problem_of(yard.delete("/api/repos/demo").await).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("repo_configured")),
        "{problem}"
    );

    let gone = yard.delete("/api/repos/second/branches/main").await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    let gone = yard.delete("/api/repos/second").await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    assert!(!home.exists());
    assert_eq!(listed(&yard).await, pairs(&[("demo", "config")]));
    let (status, _) = problem_of(yard.delete("/api/repos/second").await).await;
    assert_eq!(status, 404);

    yard.stop().await;
    yard.start().await;
    assert_eq!(
        listed(&yard).await,
        pairs(&[("demo", "config")]),
        "it does not come back"
    );
    let trash = yard.workspaces.join(".branchyard/trash");
    assert_eq!(
        std::fs::read_dir(trash).unwrap().count(),
        0,
        "the trash was emptied"
    );
    yard.post_json("/api/repos", json!({"name": "second", "url": url}))
        .await;
    assert_eq!(
        make(&yard, "second", "main").await,
        "main\n",
        "the name is free again"
    );
    yard.stop().await;
}

/// A branch that only the store has would be lost with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_repo_with_commits_that_only_it_has_does_not_go() {
    let mut yard = Yard::new().await;
    let url = yard.origin.url();
    yard.post_json("/api/repos", json!({"name": "second", "url": url}))
        .await;
    make(&yard, "second", "main").await;
    let store = yard.workspaces.join("second/.git");
    let origin = "refs/remotes/origin/main";
    let tree = format!("{origin}^{{tree}}");
    let only_here = git(
        &store,
        &["commit-tree", &tree, "-p", origin, "-m", "only here"],
    );
    git(&store, &["branch", "kept", &only_here]);
    yard.delete("/api/repos/second/branches/main").await;
    let (status, problem) = problem_of(yard.delete("/api/repos/second").await).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("repo_in_use")),
        "{problem}"
    );
    assert!(
        problem["detail"].as_str().unwrap().contains("kept"),
        "{problem}"
    );
    assert!(store.exists());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_on_disk_is_found_though_nobody_declares_it() {
    let mut yard = Yard::new().await;
    make(&yard, "demo", "main").await;
    yard.stop().await;
    yard.configure(bare());
    yard.start().await;
    assert_eq!(listed(&yard).await, pairs(&[("demo", "found")]));
    let shown = yard.get_json("/api/repos/demo").await;
    assert_eq!(shown["url"], yard.origin.url());
    assert_eq!(
        shown["default_branch"], "main",
        "what the remote's HEAD said is remembered"
    );
    yard.origin.branch("topic");
    assert_eq!(make(&yard, "demo", "topic").await, "topic\n");
    let branches = yard.get_json("/api/repos/demo/branches").await;
    assert_eq!(branches["items"].as_array().unwrap().len(), 2);

    // Nothing but it says where it came from, so forgetting it means removing it.
    for branch in ["main", "topic"] {
        let path = format!("/api/repos/demo/branches/{branch}");
        assert_eq!(yard.delete(&path).await.status(), StatusCode::NO_CONTENT);
    }
    let gone = yard.delete("/api/repos/demo").await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    yard.stop().await;
    yard.start().await;
    assert_eq!(listed(&yard).await, pairs(&[]));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_that_is_down_is_said_and_the_next_request_works() {
    let mut yard = Yard::new().await;
    let away = yard.dir.path().join("origin-away.git");
    std::fs::rename(&yard.origin.bare, &away).unwrap();
    let requests = [
        (
            "make",
            "/stream/repos/demo/branches/main/make",
            json!({"args": ["who"]}),
        ),
        (
            "read",
            "/api/repos/demo/branches/main/read_file",
            json!({"path": "name.txt"}),
        ),
        ("ls", "/api/repos/demo/branches/main/ls", json!({})),
    ];
    for (what, path, body) in &requests {
        let (status, problem) = problem_of(yard.post(path, body.clone()).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (502, &json!("remote_not_found")),
            "{what}: {problem}"
        );
    }
    let put = yard.put("/api/repos/demo/branches/main", json!({})).await;
    assert_eq!(problem_of(put).await.0, 502);
    let list = yard.get("/api/repos/demo/branches?remote=true").await;
    assert_eq!(problem_of(list).await.0, 502);
    let staging = yard.workspaces.join(".branchyard/staging");
    assert_eq!(
        std::fs::read_dir(staging).unwrap().count(),
        0,
        "no half-made clone is left"
    );
    assert_eq!(yard.get_json("/api/repos/demo").await["cloned"], false);

    std::fs::rename(&away, &yard.origin.bare).unwrap();
    assert_eq!(make(&yard, "demo", "main").await, "main\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_of_the_remote_are_listed_beside_the_workspaces() {
    let mut yard = Yard::new().await;
    let topic = yard.origin.branch("topic/one");
    let names = |listing: &Value| -> Vec<(String, bool)> {
        let items = listing["items"].as_array().unwrap();
        items
            .iter()
            .map(|b| {
                (
                    b["branch"].as_str().unwrap().to_owned(),
                    b["path"].is_string(),
                )
            })
            .collect()
    };
    let pair = |name: &str, here| (name.to_owned(), here);
    let path = "/api/repos/demo/branches";
    assert_eq!(names(&yard.get_json(path).await), []);
    let remote = yard.get_json(&format!("{path}?remote=true")).await;
    assert_eq!(
        names(&remote),
        [pair("main", false), pair("topic/one", false)]
    );
    assert_eq!(remote["items"][1]["commit"], topic.as_str());
    assert_eq!(
        yard.get_json("/api/repos/demo").await["cloned"],
        false,
        "asking clones nothing"
    );

    make(&yard, "demo", "main").await;
    yard.origin.branch("third");
    assert_eq!(names(&yard.get_json(path).await), [pair("main", true)]);
    let remote = yard.get_json(&format!("{path}?remote=true")).await;
    let expected = [
        pair("main", true),
        pair("third", false),
        pair("topic/one", false),
    ];
    assert_eq!(names(&remote), expected);
    yard.origin.delete("third");
    let remote = yard.get_json(&format!("{path}?remote=true")).await;
    assert_eq!(
        names(&remote),
        [pair("main", true), pair("topic/one", false)]
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_comes_with_tasks_environment_and_build_output() {
    let mut yard = Yard::new().await;
    let url = yard.origin.url();
    let wish = json!({
        "name": "more", "url": url, "build_output": ["*.made"],
        "tasks": { "greet": ["sh", "-c", "echo $GREETING; touch x.made"] }, "env": { "GREETING": "hello" },
    });
    for (field, value) in [
        ("tasks.greet", json!({ "greet": [] })),
        ("tasks.no name", json!({ "no name": ["true"] })),
        ("env.no name", json!({ "no name": "x" })),
        ("build_output[0]", json!(["["])),
    ] {
        let mut wrong = wish.clone();
        wrong[field.split(['.', '[']).next().unwrap()] = value;
        let (status, problem) = problem_of(yard.post("/api/repos", wrong).await).await;
        assert_eq!(
            (status, &problem["field"]),
            (422, &json!(field)),
            "{problem}"
        );
    }
    assert_eq!(yard.post("/api/repos", wish).await.status(), 201);
    // Kept over a restart, too.
    for _ in 0..2 {
        let path = "/stream/repos/more/branches/main/task";
        let events = events_of(yard.post(path, json!({ "task": "greet" })).await).await;
        assert_eq!(text_of(&events), "hello\n", "{events:?}");
        let described = yard.get_json("/api/repos/more/branches/main").await;
        assert_eq!(
            described["pins"],
            json!([]),
            "what the task made is build output"
        );
        yard.stop().await;
        yard.start().await;
    }
    yard.stop().await;
}
