//! No address and no tool that changes something is forgotten: each of them is called, and looked for.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use super::{newest, since};
use crate::support::{Agent, Yard};

/// Calls that are no GET and yet change nothing.
const LOOKS: [&str; 6] = [
    "/ls",
    "/read_file",
    "/grep",
    "/git/quick",
    "/pipelines/check",
    "/mcp",
];

/// For each part of an address, something that makes sense and is not there.
fn filled(path: &str) -> String {
    path.split('/')
        .map(|part| match part {
            "{repo}" => "nowhere",
            "{branch}" => "nothing",
            part if part.starts_with('{') => "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b",
            part => part,
        })
        .collect::<Vec<_>>()
        .join("/")
}

#[tokio::test]
async fn no_address_is() {
    let mut yard = Yard::new().await;
    let addresses = branchyard::http::addresses();
    let paths: BTreeSet<_> = addresses
        .iter()
        .map(|address| address.path.as_str())
        .collect();
    let mut left: BTreeSet<_> = addresses
        .iter()
        .filter_map(|address| address.action.clone())
        .collect();
    assert!(paths.len() > 50 && left.len() > 30, "{paths:?} {left:?}");
    for path in paths {
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let before = newest(&yard).await;
            let request = yard.request(method.clone(), &filled(path)).json(&json!({}));
            let answer = request.send().await.unwrap();
            if answer.status() == 405 {
                continue;
            }
            let records = since(&yard, before).await;
            let what = format!("{method} {path}: {} {records:#?}", answer.status());
            let address = path.rsplit_once("/{branch}/").map(|(_, address)| address);
            let mut verbs = branchyard::app::verbs::verbs().iter();
            let verb = verbs.find(|verb| address == Some(&*verb.address()));
            if LOOKS.iter().any(|look| path.ends_with(look))
                || verb.is_some_and(|verb| !verb.entry().effect.writes)
            {
                assert!(records.is_empty(), "{what}");
                continue;
            }
            assert_eq!(records.len(), 1, "{what}");
            if path == "/hooks/{repo}" {
                // It asks for no credential, and changes nothing; what has no good signature is on record.
                assert_eq!(records[0]["code"], "hook_refused", "{what}");
                continue;
            }
            let action = records[0]["action"].as_str().unwrap();
            assert!(
                addresses.iter().any(
                    |address| address.path == path && address.action.as_deref() == Some(action)
                ),
                "{what}"
            );
            for (part, value) in [("{repo}", "nowhere"), ("{branch}", "nothing")] {
                let name = part.trim_matches(['{', '}']);
                assert!(!path.contains(part) || records[0][name] == value, "{what}");
            }
            left.remove(action);
        }
    }
    assert!(left.is_empty(), "never recorded: {left:?}");
    yard.stop().await;
}

#[tokio::test]
async fn no_tool_is() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "all")]);
    let listed = agent.request("tools/list", json!({})).await.unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let id = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let is_read_only = tool["annotations"]["readOnlyHint"] == true;
        // Whatever makes a tool do something, as far as it takes that.
        let meant = json!({
            "repo": "nowhere", "branch": "nothing", "name": "nowhere", "run_id": id, "salvage_id": id,
            "pipeline_id": id, "delivery_id": id,
            "dry_run": false, "mend": true, "operation": "commit",
        });
        let taken = tool["inputSchema"]["properties"].as_object().unwrap();
        let mut arguments: serde_json::Map<String, Value> = meant.as_object().unwrap().clone();
        arguments.retain(|field, _| taken.contains_key(field));
        let actions = match name {
            "workspace" => &["prepare", "remove", "pin", "unpin"][..],
            "salvage" => &["restore", "drop"],
            "repos" => &["register", "remove"],
            "pipeline_control" => &["cancel", "retry"],
            "deliveries" => &["redeliver"],
            _ => &[""],
        };
        for action in actions {
            if !action.is_empty() {
                arguments.insert("action".into(), json!(action));
            }
            let before = newest(&yard).await;
            agent.tool(name, arguments.clone().into()).await;
            let records = since(&yard, before).await;
            let expected = usize::from(!is_read_only);
            assert_eq!(records.len(), expected, "{name} {action}: {records:#?}");
            for record in &records {
                assert_eq!(record["via"], "mcp");
                let is_placed = taken.contains_key("repo") || name == "repos";
                // A salvage is where it is, and this one is nowhere.
                let is_placed = is_placed && name != "salvage";
                assert!(
                    !is_placed || record["repo"] == "nowhere",
                    "{name}: {record}"
                );
            }
        }
    }
    yard.stop().await;
}
