//! Which tools a client is offered, by its headers and the operator's configuration.

use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard};

type Headers = [(&'static str, &'static str)];

async fn offered(agent: &Agent) -> Vec<String> {
    let listed = agent.request("tools/list", json!({})).await.unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

/// A tool that is not in the list cannot be called either, and another that is can.
async fn holds(yard: &Yard, headers: &Headers, with: &[&str], without: &[&str]) {
    for agent in [
        Agent::with(yard, headers),
        Agent::older(yard, headers).await,
    ] {
        let tools = offered(&agent).await;
        assert_eq!(tools, offered(&agent).await, "always in the same order");
        for name in with {
            assert!(
                tools.iter().any(|tool| tool == name),
                "{headers:?}: {name} in {tools:?}"
            );
        }
        for name in without {
            assert!(
                !tools.iter().any(|tool| tool == name),
                "{headers:?}: {name} in {tools:?}"
            );
            let call = json!({ "name": name, "arguments": {} });
            let error = agent.request("tools/call", call).await.unwrap_err();
            assert_eq!(error["code"], -32602, "{headers:?} {name}: {error}");
        }
    }
}

#[tokio::test]
async fn headers_choose_sets_roles_and_reading_alone() {
    let mut yard = Yard::new().await;
    let reads = ["list", "ls", "read_file", "env", "grep"];
    let writes = ["workspace", "salvage"];
    holds(
        &yard,
        &[],
        &[&reads[..], &writes].concat(),
        &["reap", "findings", "repos"],
    )
    .await;
    let read_only = ("branchyard-read-only", "true");
    let all = ("branchyard-toolsets", "all");
    let more = [&writes[..], &["reap", "findings", "repos"]].concat();
    holds(&yard, &[read_only, all], &reads, &more).await;
    holds(&yard, &[all], &[&reads[..], &more].concat(), &[]).await;
    holds(
        &yard,
        &[("branchyard-toolsets", "ops")],
        &["reap", "findings"],
        &["ls", "repos"],
    )
    .await;
    holds(
        &yard,
        &[("branchyard-role", "ops")],
        &["reap", "ls"],
        &["repos"],
    )
    .await;
    holds(
        &yard,
        &[("branchyard-role", "admin")],
        &["reap", "repos"],
        &[],
    )
    .await;
    holds(
        &yard,
        &[("branchyard-role", "dev")],
        &reads,
        &["reap", "repos"],
    )
    .await;
    let both = [
        ("branchyard-role", "ui"),
        ("branchyard-toolsets", "yard,ops,admin"),
    ];
    holds(&yard, &both, &reads, &["reap", "repos"]).await;
    let nothing = format!("no_such_tool{}", "x".repeat(100_000));
    let call = json!({ "name": nothing, "arguments": {} });
    let error = Agent::older(&yard, &[])
        .await
        .request("tools/call", call)
        .await;
    assert!(error.unwrap_err().to_string().len() < 1_000);
    yard.stop().await;
}

#[tokio::test]
async fn the_operators_word_is_the_upper_bound() {
    let mut yard = Yard::with(Options {
        tables: "[mcp]\ntoolsets = [\"yard\", \"ops\"]\nread_only = true\n[auth.roles.king]\nscopes = []\ntoolsets = [\"yard\", \"admin\"]".into(),
        ..Options::default()
    })
    .await;
    let writes = ["workspace", "salvage", "reap", "findings", "repos"];
    for headers in [
        &[][..],
        &[("branchyard-toolsets", "all")],
        &[("branchyard-role", "king")],
        &[
            ("branchyard-toolsets", "all"),
            ("branchyard-read-only", "false"),
        ],
    ] {
        holds(&yard, headers, &["list", "grep"], &writes).await;
    }
    yard.stop().await;
}

/// The names of what `method` lists under `key`.
async fn listed(agent: &Agent, method: &str, key: &str, name: &str) -> Vec<String> {
    let listed = agent.request(method, json!({})).await.unwrap();
    let names = listed[key].as_array().unwrap().iter();
    names
        .map(|item| item[name].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn resources_and_prompts_go_with_the_tools_that_do_the_same() {
    let mut yard = Yard::with(Options {
        tables: "[mcp]\ntoolsets = [\"yard\", \"build\", \"ops\"]\n".into(),
        ..Options::default()
    })
    .await;
    let run = yard.make("main", &["who"]).await[0].data["run_id"].clone();
    let log = format!("run://{}/log", run.as_str().unwrap());
    let (file, repos) = ("workspace://demo/main/Makefile", "yard://repos");
    for (sets, has_yard, has_build) in [
        ("all", true, true),
        ("yard", true, false),
        ("build", false, true),
        ("ops", false, false),
    ] {
        let headers = [("branchyard-toolsets", sets)];
        for agent in [
            Agent::with(&yard, &headers),
            Agent::older(&yard, &headers).await,
        ] {
            for (uri, is_had) in [(file, has_yard), (repos, has_yard), (&*log, has_build)] {
                assert_eq!(agent.read(uri).await.is_ok(), is_had, "{sets}: {uri}");
            }
            let resources = listed(&agent, "resources/list", "resources", "uri").await;
            assert_eq!(resources.contains(&repos.to_owned()), has_yard, "{sets}");
            assert_eq!(resources.contains(&log), has_build, "{sets}");
            let templates = "resources/templates/list";
            let templates = listed(&agent, templates, "resourceTemplates", "name").await;
            assert_eq!(
                templates.contains(&"workspace_file".to_owned()),
                has_yard,
                "{sets}"
            );
            assert_eq!(
                templates.contains(&"run_log".to_owned()),
                has_build,
                "{sets}"
            );
            let prompts = listed(&agent, "prompts/list", "prompts", "name").await;
            assert_eq!(!prompts.is_empty(), has_build, "{sets}: {prompts:?}");
            let fix = agent.prompt("fix_build", json!({ "run_id": run })).await;
            assert_eq!(fix.is_ok(), has_build, "{sets}");
        }
        let older = Agent::older(&yard, &headers).await;
        for (uri, is_had) in [(file, has_yard), (&*log, has_build)] {
            let watched = older
                .request("resources/subscribe", json!({ "uri": uri }))
                .await;
            assert_eq!(watched.is_ok(), is_had, "{sets}: {uri}");
        }
    }
    yard.stop().await;
}
