//! Every tool.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::About::{AllBranches, Branch, Nothing, Repo, WholeYard};
use super::{About, Holder, Place, There, Verdict, cast, saved};
use crate::support::Agent;
use branchyard::app::verbs::VerbFamily;

/// A tool, its set, the right that it needs, what it is about, and what it is called with.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    About,
    &'static str,
);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("list",        "yard",      "repo:read", Nothing,     r#"{}"#),
    ("list",        "yard",      "repo:read", Repo,        r#"{"repo":"{repo}"}"#),
    ("list",        "yard",      "repo:read", Branch,      r#"{"repo":"{repo}","branch":"{branch}"}"#),
    ("ls",          "yard",      "repo:read", Branch,      r#"{"repo":"{repo}","branch":"{branch}"}"#),
    ("read_file",   "yard",      "repo:read", Branch,      r#"{"repo":"{repo}","branch":"{branch}","path":"name.txt"}"#),
    ("grep",        "yard",      "repo:read", Branch,      r#"{"repo":"{repo}","branch":"{branch}","pattern":"x"}"#),
    ("env",         "yard",      "repo:read", Branch,      r#"{"repo":"{repo}","branch":"{branch}"}"#),
    ("workspace",   "yard",      "repo:read", Branch,      r#"{"repo":"{repo}","branch":"{branch}","action":"describe"}"#),
    ("workspace",   "yard",      "git:write", Branch,      r#"{"repo":"{repo}","branch":"{branch}","action":"prepare"}"#),
    ("whoami",      "yard",      "repo:read", Nothing,     r#"{}"#),
    ("token_create", "admin",    "admin",     Nothing,     r#"{"role":"ui"}"#),
    ("token_list",  "admin",     "admin",     Nothing,     r#"{}"#),
    ("token_revoke", "admin",    "admin",     Nothing,     r#"{"token":"none"}"#),
    ("runs",        "build",     "repo:read", Nothing,     r#"{}"#),
    ("run_wait",    "build",     "repo:read", Branch,      r#"{"run_id":"{run}"}"#),
    ("run_log",     "build",     "repo:read", Branch,      r#"{"run_id":"{run}"}"#),
    ("diagnostics", "build",     "repo:read", Branch,      r#"{"run_id":"{run}"}"#),
    ("run_cancel",  "build",     "build:run", Branch,      r#"{"run_id":"{run}"}"#),
    ("make",        "build",     "build:run", Branch,      r#"{"repo":"{repo}","branch":"{branch}","wait":0}"#),
    ("task",        "build",     "build:run", Branch,      r#"{"repo":"{repo}","branch":"{branch}","task":"none"}"#),
    ("test",        "build",     "build:run", Branch,      r#"{"repo":"{repo}","branch":"{branch}","task":"none"}"#),
    ("pipelines",   "pipelines", "repo:read", Repo,        r#"{"repo":"{repo}"}"#),
    ("pipelines",   "pipelines", "repo:read", Branch,      r#"{"pipeline_id":"{pipeline}"}"#),
    ("pipelines",   "pipelines", "repo:read", Branch,      r#"{"repo":"{repo}","branch":"{branch}","tests":"all"}"#),
    ("bisect",       "pipelines", "build:run", Branch,     r#"{"repo":"{repo}","branch":"{branch}","good":"none","task":"none"}"#),
    ("pipeline_run", "pipelines", "build:run", Branch,     r#"{"repo":"{repo}","branch":"{branch}","file":"none.yml"}"#),
    ("pipeline_wait", "pipelines", "repo:read", Branch,    r#"{"pipeline_id":"{pipeline}"}"#),
    ("pipeline_control", "pipelines", "build:run", Branch, r#"{"pipeline_id":"{pipeline}","action":"cancel"}"#),
    ("artifacts",   "pipelines", "repo:read", Branch,      r#"{"action":"list","pipeline_id":"{pipeline}"}"#),
    ("artifacts",   "pipelines", "repo:read", Branch,      r#"{"action":"show","repo":"{repo}","branch":"{branch}","name":"{name}"}"#),
    ("held_worktree", "pipelines", "repo:read", Branch,    r#"{"action":"list","pipeline_id":"{pipeline}","job":"none"}"#),
    ("exec",        "code",      "code:run",  Branch,      r#"{"repo":"{repo}","branch":"{branch}","argv":["true"],"wait":0}"#),
    ("execute_code", "code",     "code:run",  Branch,      r#"{"repo":"{repo}","branch":"{branch}","language":"shell","code":"true","wait":0}"#),
    ("install_dependencies", "code", "code:run", Branch,   r#"{"repo":"{repo}","branch":"{branch}","packages":["-x"]}"#),
    ("git",         "build",     "git:read",  Branch,      r#"{"repo":"{repo}","branch":"{branch}","operation":"status"}"#),
    ("git_list",    "git_read",  "git:read",  Branch,      r#"{"repo":"{repo}","branch":"{branch}","what":"salvages"}"#),
    ("git_list",    "git_read",  "git:read",  Branch,      r#"{"repo":"{repo}","branch":"{branch}","what":"branches"}"#),
    ("git_clone",   "git_write", "git:write", Branch,      r#"{"repo":"{repo}","agent_id":"{agent}","task_id":"t"}"#),
    ("git_init",    "admin",     "admin",     Branch,      r#"{"repo":"{repo}","default_branch":"{branch}"}"#),
    ("salvage",     "yard",      "git:read",  Nothing,     r#"{"action":"list"}"#),
    ("salvage",     "yard",      "git:read",  Branch,      r#"{"action":"show","salvage_id":"{salvage}"}"#),
    ("salvage",     "yard",      "git:write", Branch,      r#"{"action":"restore","salvage_id":"{salvage}","force":true}"#),
    ("salvage",     "yard",      "ops",       Branch,      r#"{"action":"drop","salvage_id":"{salvage}"}"#),
    ("machine",     "ops",       "repo:read", Nothing,     r#"{}"#),
    ("reap",        "ops",       "ops",       WholeYard,   r#"{"dry_run":true}"#),
    ("reap",        "ops",       "ops",       AllBranches, r#"{"dry_run":true,"repo":"{repo}"}"#),
    ("deliveries",  "ops",       "repo:read", AllBranches, r#"{"action":"list","repo":"{repo}"}"#),
    ("deliveries",  "ops",       "ops",       AllBranches, r#"{"action":"redeliver","repo":"{repo}","delivery_id":"{delivery}"}"#),
    ("audit",       "admin",     "admin",     Nothing,     r#"{}"#),
    ("findings",    "ops",       "ops",       WholeYard,   r#"{}"#),
    ("repos",       "admin",     "admin",     AllBranches, r#"{"action":"remove","name":"{repo}"}"#),
];

fn rows() -> Vec<(String, String, String, About, String)> {
    let verbs = branchyard::app::verbs::verbs().iter().map(|verb| {
        let is_look = super::addresses::LOOKS.contains(&verb.entry().name);
        let (set, right) = match verb.family() {
            VerbFamily::Files if is_look => ("code", "repo:read"),
            VerbFamily::Files => ("code", "code:run"),
            VerbFamily::Git if is_look => ("git_read", "git:read"),
            VerbFamily::Git => ("git_write", "git:write"),
        };
        let place = r#"{"repo":"{repo}","branch":"{branch}"}"#;
        let name = verb.full_name();
        (
            name,
            set.to_owned(),
            right.to_owned(),
            Branch,
            place.to_owned(),
        )
    });
    let own = ROWS.iter().map(|(name, set, right, about, given)| {
        let text = |text: &str| text.to_owned();
        (text(name), text(set), text(right), *about, text(given))
    });
    own.chain(verbs).collect()
}

#[test]
fn every_tool_says_what_it_needs_and_stands_in_the_matrix() {
    let of = |(name, set, right, ..): &(String, String, String, About, String)| {
        (name.clone(), set.clone(), right.clone())
    };
    let known: BTreeSet<_> = rows().iter().map(of).collect();
    let declared = branchyard::mcp::declared();
    for tool in &declared {
        let name = |set: &branchyard_config::Toolset| set.as_str().to_owned();
        let stands = known.contains(&(
            tool.name.clone(),
            name(&tool.set),
            tool.right.as_str().to_owned(),
        ));
        assert!(stands, "{} needs {:?}", tool.name, tool.right);
    }
    let names = |names: Vec<&String>| names.into_iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(
        names(known.iter().map(|(name, ..)| name).collect()),
        names(declared.iter().map(|tool| &tool.name).collect())
    );
}

#[tokio::test]
async fn every_role_gets_exactly_the_tools_of_its_scopes_sets_and_bounds() {
    let (mut yard, holders) = cast().await;
    let mut there = HashMap::new();
    for place in Place::ALL {
        there.insert(place, There::at(&yard, place).await);
    }
    let mut wrong = Vec::new();
    for holder in &holders {
        let agent = Agent::with(&yard, &[("branchyard-toolsets", "all")]).holding(&holder.token);
        let offered = agent.request("tools/list", json!({})).await.unwrap();
        let offered: BTreeSet<_> = offered["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect();
        for (name, set, right, about, given) in rows() {
            let has_set = holder.sets.contains(&set.as_str());
            assert_eq!(offered.contains(&name), has_set, "{}: {name}", holder.role);
            for &place in holder.places() {
                let expected = match has_set {
                    true => expected(holder, &name, &right, about, place),
                    false => Verdict::NotOffered,
                };
                let there = there.get_mut(&place).unwrap();
                let given: Value = serde_json::from_str(&there.fill(&given, place)).unwrap();
                let (verdict, told) = call(&agent, &name, &given).await;
                if verdict != expected {
                    let (role, bounded) = (holder.role, holder.is_bounded);
                    wrong.push(format!(
                        "{role} (bounded: {bounded}) {name} {given} at {place:?}: {verdict:?} \
                         instead of {expected:?}: {told}"
                    ));
                }
                // The next one is to find one as well.
                if verdict == Verdict::Allowed && given["action"] == "drop" {
                    there.salvage = saved(&yard, place).await;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    yard.stop().await;
}

/// A tool needs a right of its own before it is asked what for.
fn expected(holder: &Holder, tool: &str, right: &str, about: About, place: Place) -> Verdict {
    let declared = branchyard::mcp::declared();
    let tool = declared.iter().find(|declared| declared.name == tool);
    let first = tool.map(|tool| tool.right.as_str());
    match holder.expected(first, About::Nothing, place) {
        Verdict::Allowed => holder.expected(Some(right), about, place),
        refused => refused,
    }
}

async fn call(agent: &Agent, name: &str, given: &Value) -> (Verdict, String) {
    let params = json!({ "name": name, "arguments": given });
    let answer = match agent.request("tools/call", params).await {
        Ok(answer) => answer,
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("Unknown tool"), "{name}: {text}");
            return (Verdict::NotOffered, text);
        }
    };
    if answer["isError"] != true {
        return (Verdict::Allowed, String::new());
    }
    let text = answer["content"][0]["text"].as_str().unwrap().to_owned();
    let verdict = match text.split(':').next().unwrap_or_default() {
        "missing_right" => Verdict::MissingRight,
        "out_of_bounds" if matches!(text.lines().nth(1), Some("field: repo" | "field: branch")) => {
            Verdict::Unseen
        }
        "out_of_bounds" => Verdict::OutOfBounds,
        "run_not_found" | "pipeline_not_found" | "salvage_not_found" => Verdict::Unseen,
        _ => Verdict::Allowed,
    };
    (verdict, text)
}
