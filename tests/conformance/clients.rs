//! The official clients, in both protocols, over HTTP and over stdio: each does all that there is to do.
//! They hold what they are given against the schemas of the protocol and of each tool.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::installed::{at, node, python, run_for};
use crate::support::{Options, PATIENCE, PROGRAM, Yard};

const OLDER: &str = "2025-11-25";
const NEWER: &str = "2026-07-28";
/// Clients give a call up after a minute.
const LONGEST_CALL: f64 = 55_000.0;

#[derive(Debug, Clone, Copy)]
enum Sdk {
    /// The TypeScript SDK before the newer protocol, which most agents have.
    TypeScript1,
    TypeScript2,
    Python,
}

#[derive(Debug, Clone, Copy)]
enum Way {
    Http,
    Stdio,
}

macro_rules! clients {
    ($($name:ident: $sdk:ident, $protocol:ident, $way:ident;)*) => {$(
        #[tokio::test]
        async fn $name() {
            does_everything(Sdk::$sdk, $protocol, Way::$way).await;
        }
    )*};
}

clients! {
    typescript_1_over_http: TypeScript1, OLDER, Http;
    typescript_1_over_stdio: TypeScript1, OLDER, Stdio;
    typescript_2_over_http_older: TypeScript2, OLDER, Http;
    typescript_2_over_http_newer: TypeScript2, NEWER, Http;
    typescript_2_over_stdio_older: TypeScript2, OLDER, Stdio;
    typescript_2_over_stdio_newer: TypeScript2, NEWER, Stdio;
    python_over_http_older: Python, OLDER, Http;
    python_over_http_newer: Python, NEWER, Http;
    python_over_stdio_older: Python, OLDER, Stdio;
    python_over_stdio_newer: Python, NEWER, Stdio;
}

#[tokio::test]
#[ignore = "takes minutes: make soak"]
async fn soak_a_build_of_three_minutes_is_waited_for_in_short_calls() {
    let mut yard = yard().await;
    yard.origin.branch("other");
    let waited = async |client, branch| {
        let steps = [start_long(branch, 1800), run_to_end(50)];
        let report = drive(&yard, client, &steps).await;
        ended_in_short_calls(&report[1]);
        assert!(report[1]["states"].as_array().unwrap().len() > 3);
    };
    tokio::join!(
        waited((Sdk::TypeScript1, OLDER, Way::Http), "main"),
        waited((Sdk::Python, NEWER, Way::Stdio), "other"),
    );
    yard.stop().await;
}

async fn yard() -> Yard {
    let mut yard = Yard::asleep(Options {
        repo: "tasks = { hello = [\"echo\", \"hello\"] }\n".to_owned(),
        ..Options::default()
    });
    let makefile = "\
broken:
\t@echo \"main.c:3:5: error: expected ';' before '}'\" >&2; exit 1
long:
\t@for n in `seq $(STEPS)`; do echo step $$n; sleep 0.1; done
";
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("targets");
    yard.origin.push("main");
    yard.start().await;
    yard
}

async fn does_everything(sdk: Sdk, protocol: &'static str, way: Way) {
    let mut yard = yard().await;
    let steps = everything();
    let report = drive(&yard, (sdk, protocol, way), &steps).await;
    assert_eq!(report.len(), steps.len());
    for (step, said) in steps.iter().zip(&report) {
        let went_wrong = said.get("error").is_some() || said["result"]["isError"] == true;
        assert!(!went_wrong, "{step}: {said:#}");
    }
    let of = |kind: &str, name: &str| {
        let place = steps
            .iter()
            .position(|step| step["do"] == kind && (step["tool"] == name || step["name"] == name));
        &report[place.unwrap()]
    };
    let structured = |tool: &str| of("call", tool)["result"]["structuredContent"].clone();

    let tools = report[0]["tools"].as_array().unwrap();
    let called: BTreeSet<_> = steps
        .iter()
        .filter_map(|step| step["tool"].as_str())
        .collect();
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert!(called.contains(name), "{name} is not called: add a step");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        for hint in ["readOnly", "destructive", "idempotent", "openWorld"] {
            let said = &tool["annotations"][format!("{hint}Hint")];
            assert!(said.is_boolean(), "{name} {hint}");
        }
    }
    let listed: BTreeSet<_> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        called.difference(&listed).collect::<Vec<_>>(),
        Vec::<&&str>::new()
    );

    assert_eq!(structured("make")["state"], "failed");
    assert_eq!(structured("diagnostics")["errors"], 1);
    assert_eq!(structured("task")["output"], "hello\n");
    assert_eq!(structured("test")["output"], "hello\n");
    assert_eq!(of("cancel", "make")["cancelled"], true);
    assert!(
        structured("runs")["runs"]
            .as_array()
            .is_some_and(|runs| !runs.is_empty())
    );
    let by_kind = |kind: &str| {
        let place = steps.iter().position(|step| step["do"] == kind);
        &report[place.unwrap()]
    };
    ended_in_short_calls(by_kind("run_to_end"));
    assert_eq!(by_kind("watch")["updated"], true);
    assert!(
        by_kind("resources")["resources"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    let log = by_kind("read")["contents"][0]["text"].as_str().unwrap();
    assert!(log.contains("expected ';'"), "{log}");
    assert_eq!(
        by_kind("prompts")["prompts"].as_array().map(Vec::len),
        Some(2)
    );
    let prompt = of("prompt", "fix_build").to_string();
    assert!(prompt.contains("expected ';'"), "{prompt}");
    // Something was told of a call that took its time.
    let told = report.iter().filter_map(|said| said["progress"].as_u64());
    assert!(told.sum::<u64>() > 0);
    yard.stop().await;
}

fn ended_in_short_calls(said: &Value) {
    let states = said["states"].as_array().unwrap();
    assert!(states.len() > 1, "{said}");
    assert_eq!(states.last().unwrap(), "succeeded", "{said}");
    assert!(said["longest"].as_f64().unwrap() < LONGEST_CALL, "{said}");
}

/// Every tool of the default list, resources, prompts; a line for each.
fn everything() -> Vec<Value> {
    let at = |more: Value| {
        let mut place = json!({ "repo": "demo", "branch": "main" });
        let more = more.as_object().unwrap().clone();
        place.as_object_mut().unwrap().extend(more);
        place
    };
    let call = |tool: &str, arguments: Value| json!({ "do": "call", "tool": tool, "arguments": arguments });
    let keeping = |mut step: Value, name: &str, field: &str| {
        step["keep"] = json!({ name: field });
        step
    };
    vec![
        json!({ "do": "tools" }),
        call("workspace", at(json!({ "action": "prepare" }))),
        call("list", json!({ "repo": "demo" })),
        call("whoami", json!({})),
        call("ls", at(json!({}))),
        call("read_file", at(json!({ "path": "Makefile" }))),
        call("env", at(json!({}))),
        call("grep", at(json!({ "pattern": "sleep" }))),
        call("git", at(json!({ "operation": "status" }))),
        keeping(
            call("make", at(json!({ "args": ["broken"] }))),
            "broken",
            "run_id",
        ),
        call("run_wait", json!({ "run_id": "$broken" })),
        call("run_log", json!({ "run_id": "$broken", "tail": 5 })),
        call("diagnostics", json!({ "run_id": "$broken" })),
        call("task", at(json!({ "task": "hello" }))),
        call("test", at(json!({ "task": "hello" }))),
        call("salvage", json!({ "action": "list" })),
        // A call that is taken back leaves its build at work.
        json!({ "do": "cancel", "tool": "make", "arguments": at(json!({ "args": ["long", "STEPS=600"] })) }),
        keeping(call("runs", at(json!({}))), "left", "runs.0.run_id"),
        json!({ "do": "resources" }),
        json!({ "do": "read", "uri": "run://$broken/log" }),
        json!({ "do": "watch", "uri": "run://$left/log", "tool": "run_cancel",
                "arguments": { "run_id": "$left" } }),
        json!({ "do": "read", "uri": "yard://repos" }),
        json!({ "do": "prompts" }),
        json!({ "do": "prompt", "name": "fix_build", "arguments": { "run_id": "$broken" } }),
        json!({ "do": "prompt", "name": "wrap_up", "arguments": at(json!({})) }),
        start_long("main", 20),
        run_to_end(1),
    ]
}

/// A build of so many tenths of a second, which the next step waits for.
fn start_long(branch: &str, steps: usize) -> Value {
    let args = ["long".to_owned(), format!("STEPS={steps}")];
    json!({
        "do": "call", "tool": "make", "keep": { "long": "run_id" },
        "arguments": { "repo": "demo", "branch": branch, "args": args, "wait": 0 },
    })
}

fn run_to_end(wait: u32) -> Value {
    json!({ "do": "run_to_end", "run": "$long", "wait": wait })
}

/// What a client reports of each step.
async fn drive(yard: &Yard, (sdk, protocol, way): (Sdk, &str, Way), steps: &[Value]) -> Vec<Value> {
    let mut command = match sdk {
        Sdk::TypeScript1 => {
            let mut node = node();
            node.arg(at("drivers/drive-older.mjs"));
            node
        }
        Sdk::TypeScript2 => {
            let mut node = node();
            node.arg(at("drivers/drive-both.mjs"));
            node
        }
        Sdk::Python => {
            let mut python = python();
            python.arg(at("drivers/drive.py"));
            python
        }
    };
    let mut plan = match way {
        Way::Http => json!({
            "url": format!("{}/mcp", yard.url),
            "headers": { "authorization": format!("Bearer {}", yard.key()) },
        }),
        Way::Stdio => json!({
            "command": PROGRAM,
            "args": ["mcp"],
            "env": { "HOME": yard.dir.path(), "BRANCHYARD_URL": yard.url,
                     "BRANCHYARD_KEY_FILE": yard.workspaces.join(".branchyard/auth.header") },
        }),
    };
    plan["protocol"] = protocol.into();
    plan["steps"] = steps.into();
    command.arg(plan.to_string());
    let ended = run_for(PATIENCE + Duration::from_secs(400), command).await;
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{stderr}");
    let report: Value = serde_json::from_slice(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}: {:?}\n{stderr}", ended.stdout));
    if let Some(spoken) = report["protocol"].as_str() {
        assert_eq!(spoken, protocol);
    }
    report["steps"].as_array().unwrap().clone()
}
