//! The same over MCP, where it is refused before anything starts: one agent with every tool, many inputs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::segments::BRANCHES;
use super::{arguments, environment, makefiles, untouched, urls};
use crate::support::{Agent, Options, Yard, each_file, encode, problem_of};

const ALL: [(&str, &str); 1] = [("branchyard-toolsets", "all")];

/// What somebody could have put into a URL.
const TOKEN: &str = "TOKEN-OF-SOMEBODY";

async fn tools(agent: &Agent) -> Vec<Value> {
    let listed = agent.request("tools/list", json!({})).await.unwrap();
    listed["tools"].as_array().unwrap().clone()
}

/// The tools that take a field of this name.
fn taking<'a>(tools: &'a [Value], field: &str) -> Vec<&'a str> {
    let takes = |tool: &&Value| !tool["inputSchema"]["properties"][field].is_null();
    let names = tools.iter().filter(takes);
    names.map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// That a tool refuses by one of these fields; what it says.
async fn refused(agent: &Agent, tool: &str, arguments: &Value, fields: &[&str]) -> String {
    let said = agent.refusal(tool, arguments.clone()).await;
    let named = |line: &str| {
        let field = line.strip_prefix("field: ");
        field.is_some_and(|field| fields.iter().any(|known| field.starts_with(known)))
    };
    assert!(said.lines().any(named), "{tool} {arguments}: {said}");
    said
}

/// Rows 1 and 4.
#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_name_is_refused_by_every_tool() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &ALL);
    let long = "x".repeat(300);
    let mut branches: Vec<&str> = BRANCHES.to_vec();
    branches.extend(["a\0b", "\0", "a\u{fffd}~b", &long]);
    let tools = tools(&agent).await;
    let takers = taking(&tools, "branch");
    assert!(takers.len() > 30, "{takers:?}");
    for tool in &takers {
        for branch in ["-x", "--upload-pack=touch p", "../main", "HEAD", "a\0b"] {
            let asked = json!({"repo": "demo", "branch": branch});
            refused(&agent, tool, &asked, &["branch"]).await;
        }
    }
    for branch in &branches {
        for tool in ["make", "read_file", "git_push", "workspace"] {
            let asked = json!({"repo": "demo", "branch": branch});
            refused(&agent, tool, &asked, &["branch"]).await;
        }
        let uri = format!("workspace://demo/{}/name.txt", encode(branch));
        let error = agent.read(&uri).await.unwrap_err();
        assert_eq!(error["code"], -32602, "{uri}: {error}");
        let asked = json!({"repo": "demo", "branch": branch});
        let error = agent.prompt("fix_build", asked).await.unwrap_err();
        assert_eq!(error["code"], -32602, "{branch:?}: {error}");
    }
    let repos = [
        "..", ".", "../x", "/etc", ".git", "-x", "a b", "a\0", "%2e%2e", "$(id)",
    ];
    for tool in taking(&tools, "repo") {
        for repo in repos {
            let mut asked = json!({"repo": repo});
            if takers.contains(&tool) {
                asked["branch"] = json!("main");
            }
            refused(&agent, tool, &asked, &["repo"]).await;
        }
    }
    // A name of a resource is decoded once; what is left is a name, or none.
    for (place, code) in [
        ("%2e%2e/main", "bad_request"),
        ("..%2f/main", "bad_request"),
        ("%252e/main", "bad_request"),
        ("demo/%2e%2e", "bad_request"),
        ("demo/..%2fmain", "bad_request"),
        ("demo/%00", "bad_request"),
        ("demo/main%00", "bad_request"),
        ("demo/%ff", "bad_request"),
        ("demo/%252e", "branch_not_found"),
        ("demo/%252e%252e%252fmain", "branch_not_found"),
        ("demo/%2500", "branch_not_found"),
    ] {
        let uri = format!("workspace://{place}/name.txt");
        let error = agent.read(&uri).await.unwrap_err();
        let said = error["message"].as_str().unwrap();
        assert!(said.starts_with(code), "{uri}: {said}");
    }
    untouched(&yard).await;
    yard.stop().await;
}

/// Rows 7, 8, 13 and 15.
#[tokio::test(flavor = "multi_thread")]
async fn arguments_and_variables_that_lead_out_or_run_something_are_refused() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &ALL);
    for (operation, args, statuses) in arguments::HOSTILE {
        let asked = json!({
            "repo": "demo", "branch": "main", "operation": operation, "args": args,
        });
        let said = refused(&agent, "git", &asked, &["args", "operation"]).await;
        let status = match said.starts_with("bad_request") {
            true => 400,
            false => 403,
        };
        assert!(statuses.contains(&status), "{asked}: {said}");
    }
    for args in ["--out\"put\"=/tmp/x", "$(id) --output=x", "'open", "a\0b"] {
        let asked = json!({
            "repo": "demo", "branch": "main", "operation": "log", "args": args,
        });
        refused(&agent, "git", &asked, &["args"]).await;
    }
    for args in makefiles::hostile() {
        let asked = json!({"repo": "demo", "branch": "main", "args": args});
        refused(&agent, "make", &asked, &["args"]).await;
    }
    for (name, value) in environment::VARIABLES {
        let mut env = serde_json::Map::new();
        env.insert((*name).to_owned(), json!(value));
        for (tool, field, action) in [
            ("make", "args", json!([])),
            ("task", "task", json!("x")),
            ("git", "operation", json!("status")),
        ] {
            let mut asked = json!({"repo": "demo", "branch": "main", "env": env});
            asked[field] = action;
            // Git takes none at all.
            refused(&agent, tool, &asked, &["env", "task"]).await;
        }
    }
    untouched(&yard).await;
    yard.stop().await;
}

/// Rows 5 and 6, by every way to name a repository; HTTP's second way is here, too.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_urls_are_refused_and_a_token_in_one_is_kept_nowhere() {
    let mut yard = Yard::asleep(Options {
        top: "log = \"debug\"".to_owned(),
        bare: true,
        ..Options::default()
    });
    let mut daemon = yard.start_binary(&[]).await;
    let agent = Agent::with(&yard, &ALL);
    for url in urls::HOSTILE {
        let register = json!({"action": "register", "name": "x", "url": url});
        let clone = json!({"repo": "x", "url": url, "agent_id": "a", "task_id": "t"});
        let said = [
            refused(&agent, "repos", &register, &["url"]).await,
            refused(&agent, "git_clone", &clone, &["url"]).await,
        ];
        for said in said {
            assert!(!said.contains(TOKEN), "{url}: {said}");
        }
        let answer = yard.post("/api/git/clone", clone).await;
        let (status, problem) = problem_of(answer).await;
        assert_eq!((status, &problem["field"]), (400, &json!("url")), "{url:?}");
        assert!(!problem.to_string().contains(TOKEN), "{url}: {problem}");
    }
    let listed = agent.call("list", json!({})).await;
    assert_eq!(listed["repos"], json!([]));
    let audit = agent.call("audit", json!({})).await;
    assert!(!audit.to_string().contains(TOKEN), "{audit}");
    daemon.stop().await;
    assert!(daemon.said.iter().any(|line| line.contains("DEBUG")));
    for line in &daemon.said {
        assert!(!line.contains(TOKEN), "in the log: {line}");
    }
    each_file(&yard.workspaces, &mut |path, bytes| {
        let held = bytes
            .windows(TOKEN.len())
            .any(|part| part == TOKEN.as_bytes());
        assert!(!held, "it is in {}", path.display());
    });
}

/// Row 22: every tool, and every field of it.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_and_wrong_types_are_named_by_every_tool() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &ALL);
    for tool in tools(&agent).await {
        let name = tool["name"].as_str().unwrap();
        let fields = tool["inputSchema"]["properties"].as_object().unwrap();
        // A verb is given its place before it looks at the rest.
        let mut place = json!({});
        for (field, value) in [("repo", "demo"), ("branch", "main")] {
            if fields.contains_key(field) {
                place[field] = json!(value);
            }
        }
        let mut asked = place.clone();
        asked["shell"] = json!("id");
        refused(&agent, name, &asked, &["shell"]).await;
        for field in fields.keys() {
            // No field of any tool is a list of lists.
            let mut asked = place.clone();
            asked[field] = json!([[[1]]]);
            refused(&agent, name, &asked, &[field.as_str()]).await;
        }
        for arguments in [json!([]), json!("x"), json!(1), json!(true)] {
            let params = json!({"name": name, "arguments": arguments});
            let answer = agent.bounded("tools/call", params).await;
            assert!(
                answer.as_ref().is_ok_and(|told| told["isError"] == true) || answer.is_err(),
                "{name} {arguments}: {answer:?}"
            );
        }
    }
    untouched(&yard).await;
    yard.stop().await;
}

/// Row 24, and the others of row 12: every tool that takes a path, and no byte of what it is.
#[tokio::test(flavor = "multi_thread")]
async fn no_path_of_a_tool_leads_out_of_its_workspace() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &ALL);
    for branch in ["own", "other"] {
        yard.origin.branch(branch);
        let asked = json!({"repo": "demo", "branch": branch});
        agent.call("ls", asked).await;
    }
    let workspace = yard.workspace("own");
    let theirs = yard.workspace("other").join("secret.txt");
    std::fs::write(&theirs, "SECRET-OF-THE-OTHER\n").unwrap();
    std::os::unix::fs::symlink("../other", workspace.join("link")).unwrap();
    std::os::unix::fs::symlink("/", workspace.join("root")).unwrap();
    let through = format!("root{}", theirs.display());
    let tools = tools(&agent).await;
    let mut seen = BTreeSet::new();
    for field in ["path", "paths"] {
        for tool in taking(&tools, field) {
            // There it is a name within a commit or an artifact, and no file.
            // Of a held worktree it is a file, beside all workspaces: `mcp::pipelines` asks it for others.
            if ["artifacts", "bisect", "held_worktree", "salvage"].contains(&tool) {
                continue;
            }
            seen.insert(tool);
            for path in [
                "../other/secret.txt",
                "a/../../other/secret.txt",
                theirs.to_str().unwrap(),
                "link/secret.txt",
                &through,
            ] {
                let mut asked = json!({"repo": "demo", "branch": "own"});
                asked[field] = match field {
                    "path" => json!(path),
                    _ => json!([path]),
                };
                for (name, value) in needed(tool) {
                    asked[name] = value;
                }
                let said = refused(&agent, tool, &asked, &[field]).await;
                assert!(
                    said.starts_with("outside_workspace"),
                    "{tool} {path}: {said}"
                );
                assert!(!said.contains("SECRET"), "{tool} {path}: {said}");
            }
        }
    }
    for tool in [
        "read_file",
        "ls",
        "grep",
        "git_diff",
        "git_add",
        "git_log",
        "write_file",
        "edit_file",
        "delete_file",
    ] {
        assert!(seen.contains(tool), "{seen:?}");
    }
    assert!(theirs.exists());
    yard.stop().await;
}

/// What a tool wants besides, before it looks at its path.
fn needed(tool: &str) -> Vec<(&'static str, Value)> {
    match tool {
        "grep" => vec![("pattern", json!("SECRET|."))],
        "git_commit" | "git_push" => vec![("message", json!("x"))],
        "git_resolve" => vec![("take", json!("ours"))],
        "git_stash" => vec![("action", json!("push"))],
        "git_submodule" => vec![("action", json!("set"))],
        "write_file" => vec![("content", json!("x")), ("mode", json!("overwrite"))],
        "edit_file" => vec![("edits", json!([{"old": "SECRET", "new": "x"}]))],
        _ => vec![],
    }
}
