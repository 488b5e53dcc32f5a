//! The same over MCP, where something does run: what it is given, what it leaves, and what it prints.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::environment::{DECLARED, MAKES_AND_SHELLS};
use super::output::FORGED;
use super::plants::{configuration, push_next, yard_with_plants};
use super::{Marker, find, makefiles};
use crate::support::{Agent, Options, Raw, Yard};

const ALL: [(&str, &str); 1] = [("branchyard-toolsets", "all")];

fn on(branch: &str, mut arguments: Value) -> Value {
    arguments["repo"] = "demo".into();
    arguments["branch"] = branch.into();
    arguments
}

/// A build to its end, which went well; what it printed.
async fn made(agent: &Agent, branch: &str, asked: Value) -> String {
    let told = agent.call("make", on(branch, asked)).await;
    assert_eq!(told["state"], "succeeded", "{told}");
    told["output"].as_str().unwrap().to_owned()
}

/// Rows 2 and 3.
#[tokio::test(flavor = "multi_thread")]
async fn shell_syntax_is_only_a_name_and_names_that_look_alike_are_not_one() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &ALL);
    let hostile = ["$(touch${IFS}PWNED)", "`touch${IFS}PWNED`"];
    let inert = ["$(id)", "`id`", "a;id", "a|b", "a;touch${IFS}PWNED"];
    let alike = ["Feat", "feat", "a/b", "a-b", "\u{e9}", "e\u{301}"];
    let names = [&hostile[..], &inert[..], &alike[..]].concat();
    let mut paths = BTreeSet::new();
    for name in &names {
        let unknown = agent.refusal("make", on(name, json!({}))).await;
        assert!(unknown.starts_with("branch_not_found"), "{name}: {unknown}");
        yard.origin.branch(name);
        let said = made(&agent, name, json!({"args": ["who"]})).await;
        assert_eq!(said.trim_end(), *name);
        let read = json!({"path": "name.txt"});
        let read = agent.call("read_file", on(name, read)).await;
        assert_eq!(read["text"], format!("{name}\n"));
        agent.call("git_status", on(name, json!({}))).await;
        paths.insert(yard.workspace(name));
    }
    assert_eq!(paths.len(), names.len());
    assert!(paths.iter().all(|path| path.is_dir()), "{paths:?}");
    let pwned = find(yard.dir.path(), "PWNED");
    assert!(pwned.is_empty(), "{pwned:?}");
    yard.stop().await;
}

/// Row 9.
#[tokio::test(flavor = "multi_thread")]
async fn no_tool_executes_what_a_build_planted() {
    let (mut yard, marker) = yard_with_plants().await;
    let agent = Agent::with(&yard, &ALL);
    made(&agent, "main", json!({"args": ["who"]})).await;
    let clean = configuration(&yard);
    for place in ["shared", "own"] {
        for (n, (tool, asked)) in [
            ("make", json!({"args": ["who"]})),
            ("git_status", json!({})),
            ("git_diff", json!({"from": "HEAD"})),
            ("git_show", json!({})),
            ("git_log", json!({"path": "name.txt"})),
            ("git_blame", json!({"path": "name.txt"})),
            ("git_add", json!({"all": true})),
            ("git_stash", json!({"action": "push"})),
            ("git_fetch", json!({})),
            ("git_pull", json!({})),
            ("git", json!({"operation": "log", "args": ["-p"]})),
            ("git", json!({"operation": "restore", "args": ["."]})),
            ("workspace", json!({"action": "prepare"})),
        ]
        .into_iter()
        .enumerate()
        {
            let input = format!("{tool} {asked} after planting in {place}");
            let planted = json!({"args": ["-s", place], "sync": "none"});
            assert_eq!(made(&agent, "main", planted).await, "planted\n", "{input}");
            let _ = std::fs::remove_file(&marker.0);
            assert_ne!(configuration(&yard), clean, "{input}: nothing was planted");
            push_next(&yard, &format!("{place} {n}\n"));
            let edited = format!("edited {place} {n}\n");
            std::fs::write(yard.workspace("main").join("name.txt"), edited).unwrap();
            let told = agent.tool(tool, on("main", asked)).await;
            marker.assert_absent(&format!("{input}: {told}"));
            assert_eq!(configuration(&yard), clean, "{input}: {told}");
        }
    }
    yard.stop().await;
}

/// Row 10.
#[tokio::test(flavor = "multi_thread")]
async fn no_tool_recurses_into_a_submodule() {
    let mut yard = Yard::new().await;
    let marker = Marker::new(&yard);
    let modules = format!(
        "[submodule \"../../evil\"]\n\tpath = sub\n\turl = ext::sh -c {}\n\tupdate = !{}\n",
        marker.touch().replace(' ', "% "),
        marker.touch()
    );
    yard.origin.write(".gitmodules", modules);
    let link = format!("160000,{},sub", yard.origin.head());
    yard.origin
        .git(&["update-index", "--add", "--cacheinfo", &link]);
    yard.origin.git(&["add", ".gitmodules"]);
    yard.origin.git(&["commit", "-q", "-m", "submodule"]);
    yard.origin.push("main");
    let agent = Agent::with(&yard, &ALL);
    made(&agent, "main", json!({"args": ["who"]})).await;
    for tool in [
        "git_status",
        "git_diff",
        "git_show",
        "git_fetch",
        "git_pull",
    ] {
        agent.call(tool, on("main", json!({}))).await;
        marker.assert_absent(tool);
    }
    let begun = json!({"repo": "demo", "agent_id": "a", "task_id": "t"});
    agent.call("git_clone", begun).await;
    for branch in ["main", "agent-a-t"] {
        let sub = yard.workspace(branch).join("sub");
        assert_eq!(std::fs::read_dir(sub).unwrap().count(), 0, "{branch}");
    }
    marker.assert_absent("git_clone");
    assert!(!yard.store().join("modules").exists());
    assert!(find(&yard.workspaces, "evil").is_empty());
    yard.stop().await;
}

/// Rows 11 and 12: links that are tracked, one that is swapped during the read, and a device; over HTTP
/// and MCP.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_tracked_link_or_a_device_holds_is_never_read() {
    let mut yard = Yard::new().await;
    let work = yard.dir.path().join("origin-work");
    for (target, name) in [
        ("/etc/passwd", "passwd"),
        ("/etc", "etc"),
        ("/dev/zero", "zero"),
        ("/proc/self/environ", "environ"),
    ] {
        symlink(target, work.join(name)).unwrap();
    }
    yard.origin.write("real/passwd", "harmless\n");
    symlink("real", work.join("swap")).unwrap();
    yard.origin.commit("links");
    yard.origin.push("main");
    let agent = Agent::with(&yard, &ALL);
    for (path, status, code) in [
        ("passwd", 403, "outside_workspace"),
        ("etc/passwd", 403, "outside_workspace"),
        ("zero", 403, "outside_workspace"),
        ("environ", 403, "outside_workspace"),
        ("/dev/zero", 400, "bad_request"),
        ("/proc/self/environ", 400, "bad_request"),
    ] {
        let asked = json!({"path": path});
        let said = agent.refusal("read_file", on("main", asked.clone())).await;
        assert!(said.starts_with(code), "{path}: {said}");
        let answer = yard
            .post("/api/repos/demo/branches/main/read_file", asked)
            .await;
        assert_eq!(answer.status(), status, "{path}");
        let told = answer.text().await.unwrap();
        for word in ["root:", "PATH="] {
            assert!(!said.contains(word) && !told.contains(word), "{path}");
        }
    }
    // What git itself knows of a link is where it leads, and no more.
    let shown = json!({"revision": "HEAD", "path": "passwd"});
    let shown = agent.tool("git_show", on("main", shown)).await;
    assert!(!shown.to_string().contains("root:"), "{shown}");

    let workspace = yard.workspace("main");
    let swapping = tokio::task::spawn_blocking(move || {
        for n in 0..2000 {
            let target = if n % 2 == 0 { "/etc" } else { "real" };
            symlink(target, workspace.join("next")).unwrap();
            std::fs::rename(workspace.join("next"), workspace.join("swap")).unwrap();
        }
    });
    let mut reads = 0;
    while !swapping.is_finished() || reads == 0 {
        let asked = on("main", json!({"path": "swap/passwd"}));
        let told = agent.tool("read_file", asked).await;
        let text = told["content"][0]["text"].as_str().unwrap();
        let refused = told["isError"] == true && text.starts_with("outside_workspace");
        assert!(refused || text == "harmless\n", "{told}");
        reads += 1;
    }
    swapping.await.unwrap();
    yard.stop().await;
}

/// Rows 13, 14 and 15: honest arguments pass, jobs are clamped, and the environment is the declared one.
#[tokio::test(flavor = "multi_thread")]
async fn a_build_of_an_agent_gets_what_it_may() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_jobs = 3\n".to_owned(),
        repo: "env = { OPERATORS = \"word\" }\n".to_owned(),
        ..Options::default()
    })
    .await;
    yard.origin.write(
        "Makefile",
        "say:\n\t@printf '[%s]' '$(V)' '$(T)'\nfoo+bar:\n\t@printf plus\nx\\:y:\n\t@printf colon\n\
         flags:\n\t@echo 'flags: $(MAKEFLAGS)'\nenv:\n\t@env -0 | tr '\\0\\n' '\\n ' | sed 's/=.*//'\n",
    );
    yard.origin.commit("targets");
    yard.origin.push("main");
    let agent = Agent::with(&yard, &ALL);
    for (args, said) in [
        (json!(["say", "V=a,b", "T=a@b"]), "[a,b][a@b]"),
        (json!(["foo+bar"]), "plus"),
        (json!("x:y"), "colon"),
        (json!(["-j4", "-k", "foo+bar"]), "plus"),
    ] {
        let printed = made(&agent, "main", json!({"args": args})).await;
        assert_eq!(printed.trim_end(), said, "{args}");
    }
    for (args, jobs) in makefiles::jobs() {
        let said = made(&agent, "main", json!({"args": args})).await;
        let with: Vec<_> = said
            .split_whitespace()
            .filter(|word| word.starts_with("-j"))
            .collect();
        assert!(
            !with.is_empty() && with.iter().all(|j| *j == jobs),
            "make {args} ran with {said:?}"
        );
    }
    let asked = json!({"args": ["-s", "env"], "env": {"CALLERS": "word"}});
    let said = made(&agent, "main", asked).await;
    let names: BTreeSet<_> = said.lines().collect();
    let undeclared: Vec<_> = names
        .iter()
        .filter(|name| !DECLARED.contains(name) && !MAKES_AND_SHELLS.contains(name))
        .collect();
    assert!(names.contains("CALLERS") && undeclared.is_empty(), "{said}");
    yard.stop().await;
}

/// Rows 19 and 20.
#[tokio::test(flavor = "multi_thread")]
async fn output_forges_no_message_and_cursors_do_no_harm() {
    let mut yard = Yard::new().await;
    yard.origin.write("output.bin", FORGED);
    yard.origin
        .write("Makefile", "exact:\n\t@cat output.bin; exit 1\n");
    yard.origin.commit("forged");
    yard.origin.push("main");
    let events = yard.make("main", &["-s", "exact"]).await;
    let run = events[0].data["run_id"].as_str().unwrap().to_owned();
    let agent = Agent::older(&yard, &ALL).await;
    let session = agent.session().unwrap().to_owned();
    let log = format!("run://{run}/log");
    for (method, params) in [
        call("run_wait", &json!({"run_id": run})),
        call("run_log", &json!({"run_id": run})),
        call("diagnostics", &json!({"run_id": run})),
        call(
            "make",
            &on("main", json!({"args": ["-s", "exact"], "wait": 50})),
        ),
        ("resources/read", json!({"uri": log})),
        (
            "prompts/get",
            json!({"name": "fix_build", "arguments": {"run_id": run}}),
        ),
    ] {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let answer = agent.send(&message).await;
        assert_eq!(answer.status(), 200, "{message}");
        let body = answer.text().await.unwrap();
        for (at, c) in body.char_indices() {
            // A message is one line of the stream, whatever is in it.
            let plain = c == '\n' || c >= ' ';
            assert!(plain, "{message}: {c:?} at {at} of {body:?}");
        }
        let messages: Vec<Value> = body
            .split('\n')
            .filter_map(|line| line.strip_prefix("data:"))
            .filter(|data| !data.trim().is_empty())
            .map(|data| serde_json::from_str(data).unwrap())
            .collect();
        let answers = messages.iter().filter(|m| m["id"] == 7).count();
        assert_eq!(answers, 1, "{message}: {body}");
        assert!(
            !body.lines().any(|line| line == "event: complete"),
            "{body}"
        );
    }

    for cursor in ["-1", "9e99", "b-1", "l9e99", "", "\u{1f600}", &run] {
        for tool in ["run_wait", "run_log", "diagnostics"] {
            let said = agent
                .refusal(tool, json!({"run_id": run, "cursor": cursor}))
                .await;
            assert!(said.contains("field: cursor"), "{tool} {cursor:?}: {said}");
        }
    }
    // A stream of a session is resumed where it was, from the start, or not at all.
    for cursor in ["-1", "9e99", "x", "0/-1", "99999999999999999999", &run] {
        let answer = yard
            .request(reqwest::Method::GET, "/mcp")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &session)
            .header("mcp-protocol-version", "2025-11-25")
            .header("last-event-id", cursor)
            .send()
            .await
            .unwrap();
        let status = answer.status().as_u16();
        assert!([200, 400, 404, 409].contains(&status), "{cursor}: {status}");
        drop(answer);
        agent.request("tools/list", json!({})).await.unwrap();
    }
    yard.stop().await;
}

fn call(tool: &str, arguments: &Value) -> (&'static str, Value) {
    ("tools/call", json!({"name": tool, "arguments": arguments}))
}

/// Rows 16, 17 and 22, at the address of MCP.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_is_refused_before_it_is_a_message() {
    let mut yard = Yard::new().await;
    let accept = "application/json, text/event-stream";
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let (open, close) = (open.repeat(100_000), close.repeat(100_000));
        for params in [
            format!("{open}1{close}"),
            format!(r#"{{"name":"make","arguments":{open}1{close}}}"#),
            open.clone(),
        ] {
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
            let answer = Raw::json(&yard, "POST", "/mcp", body)
                .header("Accept", accept)
                .send(&yard)
                .await;
            assert_eq!(answer.status, 400, "{answer:?}");
        }
    }
    let claimed = Raw::new("POST", "/mcp")
        .header("Authorization", format!("Bearer {}", yard.key()))
        .header("Content-Type", "application/json")
        .header("Accept", accept)
        .header("Content-Length", (1_u64 << 30).to_string())
        .body(" ".repeat((1 << 20) + 1).into());
    assert_eq!(claimed.send(&yard).await.status, 413);
    let great =
        Raw::new("POST", "/mcp").header("Authorization", format!("Bearer {}", "x".repeat(1 << 20)));
    assert!([401, 431].contains(&great.send(&yard).await.status));
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for kind in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
    ] {
        let form = Raw::new("POST", "/mcp")
            .header("Authorization", format!("Bearer {}", yard.key()))
            .header("Content-Type", kind)
            .header("Accept", accept)
            .header("Content-Length", list.len().to_string())
            .body(list.into());
        assert_eq!(form.send(&yard).await.status, 415, "{kind}");
    }
    super::untouched(&yard).await;
    yard.stop().await;
}
