//! Every answer is what its tool's schema says: clients check, and refuse what is not.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard};

/// A job that leaves an artifact behind, and fails.
const WORKFLOW: &str = "\
on: workflow_dispatch
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/upload-artifact@v4
        with: {name: log, path: name.txt}
      - run: 'echo src/a.c:3:5: error: no such thing; exit 3'
";

/// Where `value` is not as `schema` says, for as much of JSON Schema as ours use.
fn mismatch(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let fails = |what: String| Some(format!("{at}: {what}: {value}"));
    let kinds = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(some) => some.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !kinds.is_empty() && !kinds.contains(&kind) {
        return fails(format!("not of {kinds:?}"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return fails("another constant".into());
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return fails(format!("none of {words:?}"));
    }
    for some in ["anyOf", "oneOf"] {
        if let Some(ways) = schema[some].as_array()
            && ways.iter().all(|way| mismatch(way, value, at).is_some())
        {
            return fails(format!("{some} fits"));
        }
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        if value.is_object() && value.get(required.as_str().unwrap()).is_none() {
            return fails(format!("lacks {required}"));
        }
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    let mut inner = fields.filter_map(|(name, schema)| {
        let value = value.get(name)?;
        mismatch(schema, value, &format!("{at}.{name}"))
    });
    let items = value.as_array().into_iter().flatten();
    inner.next().or_else(|| {
        let mut wrong = items.filter_map(|item| mismatch(&schema["items"], item, at));
        wrong.next()
    })
}

#[tokio::test]
async fn what_every_tool_gives_fits_its_schema() {
    let mut yard = Yard::asleep(Options {
        tables: "[code]\nwithout_sandbox = true\n".to_owned(),
        ..Options::default()
    });
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.start().await;
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "all")]);
    let listed = agent.request("tools/list", json!({})).await.unwrap();
    let schemas: HashMap<_, _> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), &tool["outputSchema"]))
        .collect();
    let main = |mut arguments: Value| {
        arguments["repo"] = "demo".into();
        arguments["branch"] = "main".into();
        arguments
    };
    let check = async |name: &str, arguments: Value| {
        let answer = agent.call(name, arguments).await;
        assert_eq!(mismatch(schemas[name], &answer, name), None, "{answer}");
        answer
    };
    let prepare = main(json!({ "action": "prepare" }));
    check("workspace", prepare.clone()).await;
    check("workspace", main(json!({ "action": "pin", "reason": "x" }))).await;
    check("workspace", main(json!({ "action": "unpin" }))).await;
    check("list", json!({})).await;
    check("list", json!({ "repo": "demo", "remote": true })).await;
    check("list", main(json!({}))).await;
    check("ls", main(json!({ "all": true }))).await;
    check("read_file", main(json!({ "path": "Makefile" }))).await;
    check("env", main(json!({}))).await;
    let file = json!({ "path": "a", "content": "x\n" });
    check("write_file", main(file)).await;
    let edits = json!([{ "old": "x", "new": "y" }]);
    check("edit_file", main(json!({ "path": "a", "edits": edits }))).await;
    let patch = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-y\n+z\n";
    check("apply_patch", main(json!({ "patch": patch }))).await;
    check("move_file", main(json!({ "from": "a", "to": "b" }))).await;
    check("delete_file", main(json!({ "path": "b" }))).await;
    check("exec", main(json!({ "argv": ["true"] }))).await;
    let env = json!({ "action": "configure", "name": "other", "kind": "venv" });
    check("code_env", main(env)).await;
    check(
        "check_installed_packages",
        main(json!({ "code_env": "other" })),
    )
    .await;
    let code = json!({ "language": "shell", "code": "echo x" });
    check("execute_code", main(code)).await;
    check("grep", main(json!({ "pattern": "who" }))).await;
    check(
        "grep",
        main(json!({ "pattern": "who", "context": 2, "limit": 1 })),
    )
    .await;
    let pipeline = check("pipeline_run", main(json!({}))).await;
    assert_eq!(pipeline["failures"][0]["exit_code"], 3, "{pipeline}");
    let of = |mut arguments: Value| {
        arguments["pipeline_id"] = pipeline["pipeline_id"].clone();
        arguments
    };
    check("pipeline_wait", of(json!({}))).await;
    check("pipelines", json!({ "repo": "demo" })).await;
    check("pipelines", json!({ "repo": "demo", "tests": "all" })).await;
    check("pipelines", of(json!({}))).await;
    check("pipeline_control", of(json!({ "action": "retry" }))).await;
    check("pipeline_control", of(json!({ "action": "cancel" }))).await;
    check("artifacts", of(json!({ "action": "list" }))).await;
    let log = json!({ "action": "show", "name": "log" });
    check("artifacts", of(log)).await;
    let log = json!({ "action": "read", "name": "log", "path": "name.txt" });
    check("artifacts", of(log)).await;
    std::fs::write(yard.workspace("main").join("name.txt"), "mine\n").unwrap();
    let gone = check(
        "workspace",
        main(json!({ "action": "remove", "force": true })),
    )
    .await;
    let id = &gone["salvage"]["id"];
    check("salvage", json!({ "action": "list" })).await;
    check("salvage", json!({ "action": "show", "salvage_id": id })).await;
    check(
        "salvage",
        json!({ "action": "read", "salvage_id": id, "path": "name.txt" }),
    )
    .await;
    check("salvage", json!({ "action": "restore", "salvage_id": id })).await;
    check("salvage", json!({ "action": "drop", "salvage_id": id })).await;
    check("reap", json!({})).await;
    check("reap", json!({ "dry_run": false })).await;
    std::fs::remove_dir_all(yard.workspace("main")).unwrap();
    check("deliveries", json!({ "action": "list", "repo": "demo" })).await;
    check("machine", json!({})).await;
    check("findings", json!({})).await;
    check("findings", json!({ "mend": true })).await;
    let url = yard.origin.url();
    check(
        "repos",
        json!({ "action": "register", "name": "x", "url": url }),
    )
    .await;
    check("repos", json!({ "action": "remove", "name": "x" })).await;
    yard.stop().await;
}

/// The git tools, each with an answer that has something in it.
#[tokio::test]
async fn what_every_git_tool_gives_fits_its_schema() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "all")]);
    let listed = agent.request("tools/list", json!({})).await.unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let schemas: HashMap<_, _> = tools
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), &tool["outputSchema"]))
        .collect();
    let called = std::cell::RefCell::new(std::collections::BTreeSet::new());
    let check = async |name: &str, mut arguments: Value| {
        called.borrow_mut().insert(name.to_owned());
        if !["git_clone", "git_init"].contains(&name) {
            arguments["repo"] = "demo".into();
            arguments["branch"] = "agent-a-1".into();
        }
        let answer = agent.call(name, arguments).await;
        assert_eq!(mismatch(schemas[name], &answer, name), None, "{answer}");
        answer
    };
    let task = json!({ "repo": "demo", "agent_id": "a", "task_id": "1" });
    check("git_clone", task).await;
    check("git_init", json!({ "repo": "fresh" })).await;
    let write = |name: &str, content: &str| {
        std::fs::write(yard.workspace("agent-a-1").join(name), content).unwrap();
    };
    write("name.txt", "mine\n");
    write("new", "1\n");
    write(".env", "A=1\n");
    for verbosity in ["minimal", "standard", "full"] {
        let plain = json!({ "verbosity": verbosity });
        for name in ["git_status", "git_diff", "git_log", "git_worktree"] {
            check(name, plain.clone()).await;
        }
        for name in ["git_branch", "git_tag", "git_reflog"] {
            check(name, plain.clone()).await;
        }
        check(
            "git_show",
            json!({ "revision": "HEAD", "verbosity": verbosity }),
        )
        .await;
        check(
            "git_blame",
            json!({ "path": "name.txt", "verbosity": verbosity }),
        )
        .await;
        check("git_clean", plain).await;
    }
    check("git_add", json!({ "paths": ["name.txt"] })).await;
    check("git_stash", json!({ "action": "push", "message": "x" })).await;
    check("git_stash", json!({ "action": "list" })).await;
    check("git_stash", json!({ "action": "pop" })).await;
    check("git_submodule", json!({ "action": "sync" })).await;
    check("git_push", json!({ "message": "x", "dry_run": true })).await;
    let push = json!({ "message": "feat: x", "verbosity": "full" });
    let pushed = check("git_push", push).await;
    assert_eq!(pushed["withheld"][0]["path"], ".env");
    check(
        "git_tag",
        json!({ "action": "create", "name": "v1.0.0", "message": "One" }),
    )
    .await;
    check("git_tag", json!({ "action": "verify", "name": "v1.0.0" })).await;
    check("git_push", json!({ "tags": ["v1.0.0"] })).await;
    write("new", "2\n");
    check("git_commit", json!({ "message": "fix!: two", "all": true })).await;
    check("git_changelog", json!({})).await;
    check("git_describe", json!({})).await;
    check("git_revert", json!({ "commits": ["HEAD"] })).await;
    check("git_cherry_pick", json!({ "commits": ["HEAD~1"] })).await;
    write("new", "3\n");
    check("git_checkout", json!({ "paths": ["new"], "confirm": true })).await;
    check(
        "git_reset",
        json!({ "mode": "hard", "to": "HEAD~1", "confirm": true }),
    )
    .await;

    yard.origin.write("name.txt", "theirs\n");
    yard.origin.commit("theirs");
    yard.origin.push("main");
    check("git_fetch", json!({ "all": true })).await;
    check("git_remote", json!({ "ask": true })).await;
    check("git_merge_preview", json!({ "from": "origin/main" })).await;
    let pulled = check("git_pull", json!({ "from": "main" })).await;
    assert_eq!(pulled["state"], "conflicts");
    check("git_status", json!({ "verbosity": "full" })).await;
    check(
        "git_resolve",
        json!({ "paths": ["name.txt"], "take": "theirs" }),
    )
    .await;
    check("git_rebase", json!({ "action": "continue" })).await;
    check("git_merge", json!({ "from": "origin/main" })).await;
    for what in ["branches", "tags", "stashes", "salvages"] {
        check("git_list", json!({ "what": what })).await;
    }
    yard.origin.push("shared");
    let delivered = check("git_deliver", json!({ "into": "shared" })).await;
    assert_eq!(delivered["state"], "delivered");
    check("git_branch", json!({ "action": "create", "name": "other" })).await;
    check(
        "git_branch",
        json!({ "action": "rename", "name": "other", "new_name": "that" }),
    )
    .await;
    let delete = json!({ "action": "delete", "name": "that", "force": true });
    check("git_branch", delete).await;
    let names = schemas.keys().filter(|name| name.starts_with("git_"));
    let left: Vec<_> = names
        .filter(|name| !called.borrow().contains(**name))
        .collect();
    assert_eq!(left, Vec::<&&str>::new(), "each is called at least once");
    yard.stop().await;
}

#[test]
fn the_check_can_fail() {
    let schema = json!({
        "type": "object",
        "required": ["a"],
        "properties": { "a": { "type": ["string", "null"] }, "b": { "items": { "enum": ["x"] } } },
    });
    assert_eq!(
        mismatch(&schema, &json!({ "a": null, "b": ["x"] }), ""),
        None
    );
    for wrong in [
        json!([]),
        json!({}),
        json!({ "a": 1 }),
        json!({ "a": "", "b": ["y"] }),
    ] {
        assert!(mismatch(&schema, &wrong, "").is_some(), "{wrong}");
    }
}
