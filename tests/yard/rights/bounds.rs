//! What a credential is for is all that its holder sees, for as long as it is good.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Place, There, cast};
use crate::support::{Agent, Following, Options, Yard, json_of};

async fn seen(yard: &Yard, token: &str, path: &str) -> Value {
    json_of(ask(yard, token, path).await).await
}

async fn ask(yard: &Yard, token: &str, path: &str) -> reqwest::Response {
    let request = yard.client.get(format!("{}{path}", yard.url));
    request.bearer_auth(token).send().await.unwrap()
}

fn names(page: &Value, key: &str) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item[key].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn lists_hold_what_is_ones_own_and_nothing_else() {
    let (mut yard, holders) = cast().await;
    for place in Place::ALL {
        There::at(&yard, place).await;
        let path = format!("/api/repos/{}/branches/{}", place.repo(), place.branch());
        yard.put(&path, json!({})).await;
    }
    let bounded = holders.iter().find(|h| h.role == "dev" && h.is_bounded);
    let token = &bounded.unwrap().token;
    assert_eq!(
        names(&seen(&yard, token, "/api/repos").await, "name"),
        ["demo"]
    );
    for path in [
        "/api/repos/demo/branches",
        "/api/repos/demo/branches?remote=true",
    ] {
        assert_eq!(
            names(&seen(&yard, token, path).await, "branch"),
            ["mine-1"],
            "{path}"
        );
    }
    // One page at a time, though most of the history is others'.
    let mut path = "/api/runs?limit=1".to_owned();
    let mut mine = Vec::new();
    loop {
        let page = seen(&yard, token, &path).await;
        mine.extend(page["items"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => path = format!("/api/runs?limit=1&before={next}"),
            None => break,
        }
    }
    assert_eq!(mine.len(), 2, "{mine:?}");
    assert!(
        mine.iter()
            .all(|run| run["repo"] == "demo" && run["branch"] == "mine-1")
    );
    assert_eq!(
        names(&seen(&yard, token, "/api/salvage").await, "branch"),
        ["mine-1"]
    );
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "all")]).holding(token);
    let repos = agent.text("yard://repos").await;
    assert!(repos.contains("mine-1") && !repos.contains("theirs") && !repos.contains("other"));
    let worktrees = agent
        .call(
            "git_worktree",
            json!({ "repo": "demo", "branch": "mine-1" }),
        )
        .await;
    assert_eq!(worktrees["total"], 1, "{worktrees}");
    // A glob finds what is one's own.
    let group = yard
        .client
        .post(format!("{}/stream/repos/demo/make", yard.url))
        .bearer_auth(token)
        .header("prefer", "respond-async")
        .json(&json!({ "branches": ["**"] }));
    let group = json_of(group.send().await.unwrap()).await;
    let members = group["members"].as_array().unwrap();
    assert_eq!(members.len(), 1);
    assert_eq!(members[0]["branch"], "mine-1");
    let id = group["group_id"].as_str().unwrap();
    yard.get_json(&format!("/api/groups/{id}?wait=50s")).await;
    yard.stop().await;
}

#[tokio::test]
async fn an_mcp_session_is_its_beginners_alone() {
    let (mut yard, holders) = cast().await;
    let token = |role: &str| {
        let holder = holders.iter().find(|h| h.role == role && !h.is_bounded);
        holder.unwrap().token.clone()
    };
    let mine = Agent::older_holding(&yard, &token("dev")).await;
    for other in [token("admin"), yard.key()] {
        let answer = yard
            .client
            .post(format!("{}/mcp", yard.url))
            .bearer_auth(other)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-session-id", mine.session().unwrap())
            .header("mcp-protocol-version", "2025-11-25")
            .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 404);
    }
    assert!(mine.request("tools/list", json!({})).await.is_ok());
    yard.stop().await;
}

#[tokio::test]
async fn a_stream_ends_when_its_credential_is_taken_back() {
    let mut yard = Yard::new().await;
    let token = yard
        .token(json!({ "name": "passer-by", "role": "dev", "expires": "1h" }))
        .await;
    let run = yard
        .start_detached("main", json!({ "args": ["wait"], "detach": true }))
        .await;
    let viewer = yard
        .client
        .get(format!("{}/stream/runs/{run}", yard.url))
        .bearer_auth(&token)
        .header("accept", "application/x-ndjson");
    let mut viewer = Following::new(viewer.send().await.unwrap());
    viewer.until(|event| event.data["state"] == "running").await;
    let gone = yard.delete("/api/tokens/passer-by").await;
    assert!(gone.status().is_success());
    viewer.until_cut().await;
    assert_eq!(ask(&yard, &token, "/api/repos").await.status(), 401);
    let cancel = format!("/api/runs/{run}/cancel");
    yard.request(Method::POST, &cancel).send().await.unwrap();
    yard.ended(&run).await;
    yard.stop().await;
}

/// A caller who waits is known to by the one request that its principal may have at a time.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_waited_for_ends_with_its_credential() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_concurrent_requests_per_principal = 1\n".into(),
        ..Options::default()
    })
    .await;
    let run = yard
        .start_detached("main", json!({ "args": ["gate"], "detach": true }))
        .await;
    yard.follow(&run)
        .await
        .until(|event| event.data["state"] == "running")
        .await;
    let tool = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "run_wait", "arguments": { "run_id": run, "wait": 50 } },
    });
    let group = yard.request(Method::POST, "/stream/repos/demo/make");
    let group = group.header("prefer", "respond-async");
    let group = group.json(&json!({ "branches": ["main"], "args": ["gate"] }));
    let group: Value = group.send().await.unwrap().json().await.unwrap();
    let group = group["group_id"].as_str().unwrap();
    let paths = [
        format!("/api/runs/{run}?wait=50s"),
        format!("/api/groups/{group}?wait=50s"),
        "/mcp".to_owned(),
    ];
    for (n, path) in paths.iter().enumerate() {
        let name = format!("waiter-{n}");
        let token = yard
            .token(json!({ "name": name, "role": "dev", "expires": "1h" }))
            .await;
        let url = format!("{}{path}", yard.url);
        let (client, secret, tool) = (yard.client.clone(), token.clone(), tool.clone());
        let agent = Agent::new(&yard).holding(&token);
        let waiting = tokio::spawn(async move {
            loop {
                let answer = match url.ends_with("/mcp") {
                    true => agent.send(&tool).await,
                    false => {
                        let request = client.get(&url).bearer_auth(&secret);
                        request.send().await.unwrap()
                    }
                };
                // The one who looks whether it waits may have come first.
                if answer.status() != 429 {
                    let status = answer.status();
                    return (status, answer.text().await.unwrap());
                }
            }
        });
        let is_waiting = async {
            while ask(&yard, &token, "/api/repos").await.status() != 429 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let waits = tokio::time::timeout(crate::support::PATIENCE, is_waiting).await;
        waits.expect("it waits");
        let gone = yard.delete(&format!("/api/tokens/{name}")).await;
        assert!(gone.status().is_success());
        let ended = tokio::time::timeout(crate::support::PATIENCE, waiting).await;
        let (status, body) = ended.expect("the wait ends").unwrap();
        // A tool that waits may be the first to hear of it, and says so in the form of its answers.
        let is_refused = match path.as_str() {
            "/mcp" => body.contains("unauthorized"),
            _ => status == 401,
        };
        assert!(is_refused, "{path}: {status} {body}");
        assert!(!body.contains("main"), "{path}: {body}");
    }
    // Whoever ends their own credential is told that it worked.
    let own = yard
        .token(json!({ "name": "own", "role": "dev", "expires": "1h" }))
        .await;
    let request = yard.client.delete(format!("{}/api/tokens/own", yard.url));
    let revoked = request.bearer_auth(&own).send().await.unwrap();
    assert!(revoked.status().is_success(), "{revoked:?}");
    for path in [
        format!("/api/groups/{group}/cancel"),
        format!("/api/runs/{run}/cancel"),
    ] {
        yard.request(Method::POST, &path).send().await.unwrap();
    }
    yard.ended(&run).await;
    yard.stop().await;
}

#[tokio::test]
async fn nobody_in_particular_is_somebody_only_where_the_operator_says_so() {
    let mut yard = Yard::with(Options {
        tables: "[auth]\nnone = \"ui\"\n[sandbox]\nprofile = \"strict\"\n".into(),
        ..Options::default()
    })
    .await;
    let ask = |method: Method, path: &str| {
        let request = yard.client.request(method, format!("{}{path}", yard.url));
        request.send()
    };
    assert_eq!(ask(Method::GET, "/api/repos").await.unwrap().status(), 200);
    let build = ask(Method::POST, "/stream/repos/demo/branches/main/make").await;
    assert_eq!(build.unwrap().status(), 403);
    // A credential that is shown has to be good all the same.
    let wrong = yard.client.get(format!("{}/api/repos", yard.url));
    let wrong = wrong.bearer_auth("not-the-key").send().await.unwrap();
    assert_eq!(wrong.status(), 401);
    yard.stop().await;
}

#[tokio::test]
async fn what_was_saved_of_other_branches_is_not_found_through_ones_own() {
    let (mut yard, holders) = cast().await;
    let there = There::at(&yard, Place::OtherBranch).await;
    let path = "/api/repos/demo/branches/mine-1";
    yard.put(path, json!({})).await;
    let bounded = holders.iter().find(|h| h.role == "ui" && h.is_bounded);
    let token = &bounded.unwrap().token;
    let post = async |what: &str, body: Value| {
        let request = yard.client.post(format!("{}{path}/{what}", yard.url));
        let request = request.bearer_auth(token).json(&body);
        request.send().await.unwrap().json::<Value>().await.unwrap()
    };
    let salvage = format!("refs/branchyard/salvage/{}", there.salvage);
    let shown = post("git/show", json!({ "revision": salvage })).await;
    assert_eq!(shown["code"], "revision_not_found", "{shown}");
    let named = json!({ "operation": "show", "args": [salvage] });
    let named = post("git/quick", named).await;
    assert_eq!(named["code"], "git_forbidden", "{named}");
    let all = json!({ "operation": "log", "args": ["--all", "--format=%s"] });
    let all = post("git/quick", all).await;
    assert_eq!(all["exit_code"], 0, "{all}");
    assert!(
        !all["stdout"].as_str().unwrap().contains("Salvage"),
        "{all}"
    );
    yard.stop().await;
}
