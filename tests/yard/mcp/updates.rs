//! Resources that change, and those who want to hear of it.

use reqwest::Method;
use serde_json::json;
use tokio::runtime::Handle;

use crate::support::{Agent, Answering, Yard, until};

/// As many as one may watch, and more than anything else here takes in tasks.
const MANY: usize = 64;

async fn both(yard: &Yard) -> [Agent; 2] {
    [Agent::new(yard), Agent::older(yard, &[]).await]
}

fn file(name: &str) -> String {
    format!("workspace://demo/main/{name}")
}

/// Names of files that are not there.
fn many() -> Vec<String> {
    (0..MANY).map(|n| file(&format!("missing-{n}"))).collect()
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

async fn watch_many(agent: &Agent) -> Answering {
    let names = many();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let changes = agent.watch(&names).await;
    until("they are watched", || tasks() >= MANY).await;
    changes
}

/// What watched is gone.
async fn all_gone() {
    until("nothing is watched any more", || tasks() < MANY / 2).await;
}

#[tokio::test]
async fn a_log_that_grows_is_told_of_until_its_end() {
    let mut yard = Yard::new().await;
    for agent in both(&yard).await {
        let run = yard
            .start_detached("main", json!({ "args": ["gate"] }))
            .await;
        let mut viewer = yard.follow(&run).await;
        viewer.until_line("waiting").await;
        let uri = format!("run://{run}/log");
        let mut changes = agent.watch(&[&uri]).await;
        assert_eq!(agent.text(&uri).await, "waiting\n");
        std::fs::write(yard.workspace("main").join("open"), "").unwrap();
        while agent.text(&uri).await != "waiting\npassed\n" {
            assert_eq!(changes.update().await, uri);
        }
        yard.ended(&run).await;
        std::fs::remove_file(yard.workspace("main").join("open")).unwrap();
        if agent.session().is_some() {
            // Whoever comes late to wait for the end is told as well.
            let late = Agent::older(&yard, &[]).await;
            assert_eq!(late.watch(&[&uri]).await.update().await, uri);
        }
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_file_that_changes_comes_or_goes_is_told_of() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let path = yard.workspace("main").join("notes.txt");
    let uri = file("notes.txt");
    for agent in both(&yard).await {
        let mut changes = agent.watch(&[&uri]).await;
        for content in ["one\n", "two\n"] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(changes.update().await, uri);
            assert_eq!(agent.text(&uri).await, content);
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(changes.update().await, uri);
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_repo_or_workspace_that_comes_is_told_of_and_watching_makes_none() {
    let mut yard = Yard::new().await;
    for (agent, name) in both(&yard).await.into_iter().zip(["second", "third"]) {
        let mut changes = agent.watch(&["yard://repos"]).await;
        let (_, uri) = (
            yard.origin.branch(name),
            format!("workspace://demo/{name}/name.txt"),
        );
        let mut inside = match agent.session() {
            None => agent.watch(&[&uri]).await,
            Some(_) => Agent::older(&yard, &[]).await.watch(&[&uri]).await,
        };
        yard.post_json(
            "/api/repos",
            json!({ "name": name, "url": yard.origin.url() }),
        )
        .await;
        assert_eq!(changes.update().await, "yard://repos");
        assert!(
            agent
                .text("yard://repos")
                .await
                .contains(&format!("\"{name}\""))
        );
        assert!(!yard.workspace(name).exists(), "a watch makes no workspace");
        yard.make(name, &["who"]).await;
        assert_eq!(changes.update().await, "yard://repos");
        assert_eq!(inside.update().await, uri);
    }
    yard.stop().await;
}

#[tokio::test]
async fn nothing_is_told_after_unsubscribing() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let agent = Agent::older(&yard, &[]).await;
    let (left, kept) = (file("left.txt"), file("kept.txt"));
    let mut changes = agent.watch(&[&left, &kept]).await;
    let unsubscribed = agent.request("resources/unsubscribe", json!({ "uri": left }));
    unsubscribed.await.unwrap();
    let write = |name: &str, content: &str| {
        std::fs::write(yard.workspace("main").join(name), content).unwrap();
    };
    write("left.txt", "x");
    // Between the two looks that see these, whoever watched the other would have looked as well.
    for content in ["1", "22", "333"] {
        write("kept.txt", content);
        assert_eq!(changes.update().await, kept);
    }
    yard.stop().await;
}

#[tokio::test]
async fn what_is_watched_is_bounded_and_goes_with_the_request() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    let changes = watch_many(&agent).await;
    drop(changes);
    all_gone().await;
    // The same again takes no place.
    let mut wanted = vec![many()[0].clone(); 2];
    wanted.extend(many());
    wanted.extend([file("one-more"), "file:///etc/passwd".to_owned()]);
    let params = json!({ "notifications": { "resourceSubscriptions": wanted } });
    let mut changes = agent.ask("subscriptions/listen", params).await;
    let told = changes.next().await.unwrap();
    let accepted = &told["params"]["notifications"]["resourceSubscriptions"];
    let mut accepted: Vec<String> = serde_json::from_value(accepted.clone()).unwrap();
    accepted.dedup();
    assert_eq!(accepted, many());
    for _ in many() {
        changes.update().await;
    }
    drop(changes);
    for (uri, said) in [
        (
            "run://0190d5a0-0000-7000-8000-000000000000/log",
            "there is no run",
        ),
        ("workspace://demo/main/../x", "leads out of the workspace"),
    ] {
        let params = json!({ "notifications": { "resourceSubscriptions": [uri] } });
        let refused = agent
            .request("subscriptions/listen", params)
            .await
            .unwrap_err();
        assert!(
            refused["message"].as_str().unwrap().contains(said),
            "{refused}"
        );
    }
    all_gone().await;
    yard.stop().await;
}

#[tokio::test]
async fn what_is_watched_is_bounded_and_goes_with_the_session() {
    let mut yard = Yard::new().await;
    let agent = Agent::older(&yard, &[]).await;
    let changes = watch_many(&agent).await;
    for (uri, said) in [
        (file("one-more"), "at most 64"),
        (
            "run://0190d5a0-0000-7000-8000-000000000000/log".to_owned(),
            "there is no run",
        ),
        (file("../x"), "leads out of the workspace"),
        ("yard://else".to_owned(), "no resource"),
    ] {
        let refused = agent
            .request("resources/subscribe", json!({ "uri": uri }))
            .await;
        let refused = refused.unwrap_err();
        assert!(
            refused["message"].as_str().unwrap().contains(said),
            "{refused}"
        );
    }
    // Again is not more, and another's are not counted here.
    agent
        .request("resources/subscribe", json!({ "uri": many()[0] }))
        .await
        .unwrap();
    let other = Agent::older(&yard, &[]).await;
    other
        .request("resources/subscribe", json!({ "uri": file("one-more") }))
        .await
        .unwrap();
    for uri in many() {
        agent
            .request("resources/unsubscribe", json!({ "uri": uri }))
            .await
            .unwrap();
    }
    all_gone().await;
    drop(changes);

    let changes = watch_many(&agent).await;
    let over = yard
        .request(Method::DELETE, "/mcp")
        .header("mcp-session-id", agent.session().unwrap())
        .send()
        .await
        .unwrap();
    assert!(over.status().is_success());
    all_gone().await;
    drop(changes);
    yard.stop().await;
}

#[tokio::test]
async fn what_is_watched_goes_with_the_daemon() {
    let mut yard = Yard::new().await;
    let [newer, older] = both(&yard).await;
    let changes = (watch_many(&newer).await, watch_many(&older).await);
    yard.stop().await;
    all_gone().await;
    drop(changes);
}
