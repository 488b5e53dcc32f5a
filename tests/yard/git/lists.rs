//! What there is by name, for those who may only read.

use serde_json::{Value, json};

use crate::support::{Agent, Yard, problem_of};

#[tokio::test]
async fn a_reader_lists_branches_tags_stashes_and_salvages_and_changes_none() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    yard.make("topic", &[]).await;
    let file = yard.workspace("topic").join("name.txt");
    yard.verb("topic", "tag", json!({"action": "create", "name": "v1"}))
        .await;
    yard.verb("topic", "tag", json!({"action": "create", "name": "v2"}))
        .await;
    std::fs::write(&file, "aside\n").unwrap();
    yard.verb(
        "topic",
        "stash",
        json!({"action": "push", "message": "later"}),
    )
    .await;
    std::fs::write(&file, "lost\n").unwrap();
    yard.verb("topic", "reset", json!({"mode": "hard", "confirm": true}))
        .await;

    let reader = json!({"name": "r", "scopes": ["repo:read", "git:read"], "repos": ["demo"]});
    let token = yard.token(reader).await;
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "git_read")]).holding(&token);
    let list = async |what: &str, more: Value| {
        let mut given = json!({"repo": "demo", "branch": "topic", "what": what});
        let more = more.as_object().unwrap().clone();
        given.as_object_mut().unwrap().extend(more);
        agent.call("git_list", given).await
    };
    let names = |listed: &Value, key: &str, field: &str| -> Vec<String> {
        let items = listed[key].as_array().unwrap().iter();
        items
            .map(|item| item[field].as_str().unwrap().to_owned())
            .collect()
    };
    let branches = list("branches", json!({})).await;
    assert!(
        names(&branches, "branches", "name").contains(&"topic".to_owned()),
        "{branches}"
    );
    let tags = list("tags", json!({"limit": 1})).await;
    assert_eq!(names(&tags, "tags", "name"), ["v2"]);
    assert_eq!((&tags["total"], &tags["next"]), (&json!(2), &json!(1)));
    let rest = list("tags", json!({"skip": 1})).await;
    assert_eq!(names(&rest, "tags", "name"), ["v1"]);
    let matched = list("tags", json!({"pattern": "*1"})).await;
    assert_eq!(names(&matched, "tags", "name"), ["v1"]);
    let stashes = list("stashes", json!({})).await;
    assert!(
        names(&stashes, "stashes", "message")[0].contains("later"),
        "{stashes}"
    );
    let salvages = list("salvages", json!({})).await;
    assert_eq!(names(&salvages, "salvages", "branch"), ["topic"]);
    assert_eq!(
        list("salvages", json!({"skip": 1})).await["salvages"],
        json!([])
    );

    let offered = agent.request("tools/list", json!({})).await.unwrap();
    let tools = offered["tools"].as_array().unwrap();
    let is_read_only = |tool: &Value| tool["annotations"]["readOnlyHint"] == true;
    assert!(tools.iter().all(is_read_only), "{offered}");

    // Over HTTP the verbs themselves are asked, and what changes something is refused.
    let post = async |verb: &str, body: Value| {
        let path = format!("{}/api/repos/demo/branches/topic/git/{verb}", yard.url);
        let asked = yard.client.post(path).bearer_auth(&token).json(&body);
        asked.send().await.unwrap()
    };
    for (verb, body) in [
        ("branch", json!({})),
        ("branch", json!({"action": "show"})),
        ("tag", json!({"action": "list"})),
        ("stash", json!({"action": "list"})),
    ] {
        let status = post(verb, body).await.status();
        assert!(status.is_success(), "{verb}: {status}");
    }
    for (verb, body) in [
        ("branch", json!({"action": "create", "name": "x"})),
        ("branch", json!({"action": null})),
        (
            "tag",
            json!({"action": "delete", "name": "v1", "confirm": true}),
        ),
        ("stash", json!({"action": "pop"})),
    ] {
        let (status, problem) = problem_of(post(verb, body).await).await;
        assert_eq!(status, 403, "{verb}: {problem}");
    }
    yard.stop().await;
}
