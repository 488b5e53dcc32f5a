//! changelog.

use serde_json::{Value, json};

use super::each;
use crate::support::{Agent, Yard, git, problem_of};

const MESSAGES: [&str; 7] = [
    "feat(api): add a door (#12)",
    "fix: close it",
    "feat(api)!: lock it (#13)\n\nWhy not.\n\nBREAKING CHANGE: keys\nare needed\nRefs: #9",
    "Tidy up\n\nCo-authored-by: Ada <ada@localhost>\nCo-authored-by: Test <test@localhost>",
    "docs: say so",
    "fix(ui): open it\n\nBREAKING CHANGE: handles turn left",
    "feat: add a window",
];

#[tokio::test]
async fn commits_since_the_last_tag_are_sorted() {
    let mut yard = Yard::new().await;
    yard.verb("main", "log", json!({})).await;
    let workspace = yard.workspace("main");
    let commit = |message: &str| {
        git(
            &workspace,
            &["commit", "-q", "--allow-empty", "-m", message],
        );
    };
    commit("feat: before the tag");
    git(&workspace, &["tag", "-a", "-m", "x", "v1.4.2"]);
    MESSAGES.into_iter().for_each(commit);
    git(&workspace, &["checkout", "-q", "--detach", "HEAD~2"]);
    commit("chore: on the side");
    let side = git(&workspace, &["rev-parse", "HEAD"]);
    git(&workspace, &["checkout", "-q", "main"]);
    git(
        &workspace,
        &["merge", "-q", "--no-ff", "-m", "Merge it", &side],
    );

    let log = yard.verb("main", "changelog", json!({})).await;
    assert_eq!(
        (&log["from"]["name"], &log["to"]["name"]),
        (&json!("v1.4.2"), &json!("HEAD"))
    );
    assert_eq!((&log["commits"], &log["merges"]), (&json!(8), &json!(1)));
    assert_eq!(
        each(&log["groups"], "type"),
        ["feat", "fix", "docs", "chore"]
    );
    let feat = &log["groups"][0];
    assert_eq!(feat["count"], 3);
    assert_eq!(feat["scopes"][0]["scope"], Value::Null);
    assert_eq!(feat["scopes"][1]["scope"], "api");
    let api = &feat["scopes"][1]["changes"];
    assert_eq!(
        each(api, "description"),
        ["lock it (#13)", "add a door (#12)"]
    );
    assert_eq!(api[1]["pull_requests"], json!([12]));
    assert_eq!(
        (&api[0]["breaking"], &api[1]["breaking"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        each(&log["breaking"], "description"),
        ["open it", "lock it (#13)"]
    );
    assert_eq!(log["breaking"][1]["notes"], json!(["keys\nare needed"]));
    assert_eq!(
        each(&log["other"]["scopes"][0]["changes"], "description"),
        ["Tidy up"]
    );
    let authors = json!([
        { "name": "Test", "email": "test@localhost", "commits": 8, "co_authored": 0 },
        { "name": "Ada", "email": "ada@localhost", "commits": 0, "co_authored": 1 },
    ]);
    assert_eq!(log["authors"], authors);
    let next = json!({ "last": "v1.4.2", "bump": "major", "suggested": "v2.0.0" });
    assert_eq!(log["next_version"], next);

    // Of a tag that is named, since the one before it; of the tag itself, nothing is new.
    git(&workspace, &["tag", "v2.0.0"]);
    let agent = Agent::of_git(&yard, "main");
    let tagged = agent.call("git_changelog", json!({ "to": "v2.0.0" })).await;
    assert_eq!(
        (&tagged["from"]["name"], &tagged["commits"]),
        (&json!("v1.4.2"), &json!(8))
    );
    let none = yard.verb("main", "changelog", json!({})).await;
    assert_eq!(
        (&none["commits"], &none["next_version"]),
        (&json!(0), &Value::Null)
    );
    let some = json!({ "from": "HEAD^1~1", "to": "HEAD^1", "verbosity": "full" });
    let some = yard.verb("main", "changelog", some).await;
    assert_eq!(some["commits"], 1);
    assert_eq!(some["next_version"]["suggested"], "v1.5.0");
    assert!(some["groups"][0]["scopes"][0]["changes"][0]["date"].is_string());
    yard.stop().await;
}

#[tokio::test]
async fn without_a_tag_all_of_history_is_told() {
    let mut yard = Yard::new().await;
    yard.verb("main", "log", json!({})).await;
    git(
        &yard.workspace("main"),
        &["tag", "latest-tree", "HEAD^{tree}"],
    );
    let log = yard
        .verb("main", "changelog", json!({ "verbosity": "minimal" }))
        .await;
    assert_eq!((&log["from"], &log["commits"]), (&Value::Null, &json!(1)));
    assert_eq!(log["next_version"], Value::Null);
    assert_eq!(
        log["other"]["scopes"][0]["changes"][0]["author"],
        Value::Null
    );
    for (query, status, field) in [
        (json!({ "from": "nowhere" }), 404, "from"),
        (json!({ "to": "-x" }), 400, "to"),
        (json!({ "from": "latest-tree" }), 422, "from"),
        (json!({ "since": "2d" }), 422, "since"),
    ] {
        let refused = yard.try_verb("main", "changelog", query.clone()).await;
        let (told, problem) = problem_of(refused).await;
        assert_eq!(
            (told, &problem["field"]),
            (status, &json!(field)),
            "{query}: {problem}"
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn counts_stay_true_where_lists_are_cut() {
    let mut yard = Yard::new().await;
    for n in 0..150 {
        let message = format!("fix(part {}): repair number {n} {}", n % 9, "x".repeat(200));
        yard.origin.commit(&message);
    }
    yard.origin.push("main");
    let agent = Agent::of_git(&yard, "main");
    let log = agent.call("git_changelog", json!({})).await;
    assert_eq!(log["truncated"], true);
    assert_eq!(log["commits"], 151);
    let fix = &log["groups"][0];
    assert_eq!(fix["count"], 150);
    let scopes = fix["scopes"].as_array().unwrap();
    let counts: u64 = scopes
        .iter()
        .map(|scope| scope["count"].as_u64().unwrap())
        .sum();
    assert_eq!((scopes.len(), counts), (9, 150));
    assert!(scopes.iter().all(|scope| scope["changes"][0].is_object()));
    let whole = yard.verb("main", "changelog", json!({})).await;
    assert_eq!(whole["truncated"], false);
    yard.stop().await;
}
