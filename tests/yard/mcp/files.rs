//! Reads of a workspace.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Agent, Yard};

fn main_with(mut arguments: Value) -> Value {
    arguments["repo"] = "demo".into();
    arguments["branch"] = "main".into();
    arguments
}

#[tokio::test]
async fn a_long_listing_is_cut_and_goes_on_at_its_cursor() {
    let mut yard = Yard::new().await;
    let names: Vec<_> = (0..900)
        .map(|n| format!("many/file-number-{n:04}"))
        .collect();
    for name in &names {
        yard.origin.write(name, "x");
    }
    yard.origin.commit("many files");
    yard.origin.push("main");
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        let (mut found, mut cursor) = (Vec::new(), json!(null));
        loop {
            let page = agent
                .call(
                    "ls",
                    json!({ "repo": "demo", "branch": "main", "path": "many", "cursor": cursor }),
                )
                .await;
            let entries = page["entries"].as_array().unwrap();
            found.extend(
                entries
                    .iter()
                    .map(|entry| entry["path"].as_str().unwrap().to_owned()),
            );
            cursor = page["next_cursor"].clone();
            assert_eq!(page["truncated"], cursor.is_string());
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(found, names);
    }
    yard.stop().await;
}

#[tokio::test]
async fn what_a_clients_configuration_fixed_may_be_left_out() {
    let mut yard = Yard::new().await;
    let fixed = [("branchyard-repo", "demo"), ("branchyard-branch", "main")];
    let agent = Agent::with(&yard, &fixed);
    let listed = agent.call("ls", json!({})).await;
    assert_eq!(listed["branch"], "main");
    let tools = agent.request("tools/list", json!({})).await.unwrap();
    let ls = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "ls");
    let schema = &ls.unwrap()["inputSchema"];
    assert_eq!(schema["properties"]["branch"]["default"], "main");
    assert_eq!(schema["required"], json!([]));
    let refusal = Agent::new(&yard)
        .refusal("ls", json!({ "repo": "demo" }))
        .await;
    assert!(refusal.contains("field: branch"), "{refusal}");
    yard.stop().await;
}

#[tokio::test]
async fn a_long_file_is_read_in_whole_lines() {
    let mut yard = Yard::new().await;
    let text: String = (1..=4_000)
        .map(|n| format!("line {n}\t\u{1b}[1m\u{e9}\n"))
        .collect();
    yard.origin.write("long.txt", &text);
    yard.origin.commit("a long file");
    yard.origin.push("main");
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        let (mut read, mut cursor, mut next) = (String::new(), json!(null), 1);
        loop {
            let asked = main_with(json!({ "path": "long.txt", "cursor": cursor }));
            let page = agent.call("read_file", asked).await;
            assert_eq!(page["start_line"], next);
            assert_eq!(page["total_lines"], 4_000);
            assert_eq!(page["modified"], false);
            assert_eq!(page["encoding"], "utf-8");
            read.push_str(page["text"].as_str().unwrap());
            next = page["end_line"].as_u64().unwrap() + 1;
            cursor = page["next_cursor"].clone();
            assert_eq!(page["truncated"], cursor.is_string());
            if cursor.is_null() {
                break;
            }
        }
        assert!(read == text, "all of it, once");
    }
    let agent = Agent::new(&yard);
    let asked = json!({ "path": "long.txt", "start_line": 10, "end_line": 11 });
    let result = agent.tool("read_file", main_with(asked)).await;
    let some = &result["structuredContent"];
    assert_eq!(
        some["text"],
        "line 10\t\u{1b}[1m\u{e9}\nline 11\t\u{1b}[1m\u{e9}\n"
    );
    assert_eq!(
        (&some["end_line"], &some["truncated"]),
        (&json!(11), &json!(false))
    );
    assert_eq!(result["content"][0]["text"], some["text"]);
    yard.stop().await;
}

#[tokio::test]
async fn lines_without_end_and_files_without_text() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    agent.call("ls", main_with(json!({}))).await;
    let workspace = yard.workspace("main");
    let write = |name: &str, bytes: &[u8]| std::fs::write(workspace.join(name), bytes).unwrap();
    write(
        "endless",
        &[b"\x01".repeat(3_000_000), b"\nnext\n".to_vec()].concat(),
    );
    write("latin", b"f\xfcr\n");
    write("small", &[0xff, 0x00, 0xfe]);
    write("large", &[0; 100_000]);
    write("empty", b"");

    let endless = agent
        .call("read_file", main_with(json!({ "path": "endless" })))
        .await;
    assert_eq!(endless["truncated"], true);
    assert_eq!(endless["modified"], true);
    assert_eq!(endless["end_line"], 0, "no line of it was read to its end");
    let shown = endless["text"].as_str().unwrap().len();
    assert_eq!(endless["end_byte"], shown);
    let asked = json!({ "path": "endless", "cursor": endless["next_cursor"] });
    let on = agent.call("read_file", main_with(asked)).await;
    assert_eq!(
        (&on["start_byte"], &on["start_line"]),
        (&endless["end_byte"], &json!(1))
    );
    let asked = json!({ "path": "endless", "start_line": 2 });
    let rest = agent.call("read_file", main_with(asked)).await;
    assert_eq!(
        (&rest["text"], &rest["truncated"]),
        (&json!("next\n"), &json!(false))
    );

    let latin = agent
        .call("read_file", main_with(json!({ "path": "latin" })))
        .await;
    assert_eq!(
        (&latin["encoding"], &latin["text"]),
        (&json!("lossy"), &json!("f\u{fffd}r\n"))
    );
    let small = agent
        .call("read_file", main_with(json!({ "path": "small" })))
        .await;
    assert_eq!(
        (&small["encoding"], &small["base64"]),
        (&json!("binary"), &json!("/wD+"))
    );
    let large = agent
        .tool("read_file", main_with(json!({ "path": "large" })))
        .await;
    assert_eq!(large["structuredContent"]["size"], 100_000);
    assert!(large["structuredContent"].get("base64").is_none());
    let told = large["content"][0]["text"].as_str().unwrap();
    assert!(told.starts_with("(a binary file"), "{told}");
    let cursor = &large["structuredContent"]["next_cursor"];
    let asked = json!({ "path": "large", "cursor": cursor });
    let bytes = agent.call("read_file", main_with(asked)).await;
    assert!(bytes["base64"].as_str().unwrap().starts_with("AAAA"));
    let empty = agent
        .call("read_file", main_with(json!({ "path": "empty" })))
        .await;
    assert_eq!(
        (&empty["text"], &empty["total_lines"]),
        (&json!(""), &json!(0))
    );
    yard.stop().await;
}

#[tokio::test]
async fn no_tool_reads_what_is_not_a_file_of_its_own_workspace() {
    let mut yard = Yard::new().await;
    yard.origin.branch("other");
    let agent = Agent::new(&yard);
    for branch in ["main", "other"] {
        agent
            .call("ls", json!({ "repo": "demo", "branch": branch }))
            .await;
    }
    let workspace = yard.workspace("main");
    for (target, name) in [
        ("/etc/passwd", "passwd"),
        ("/etc", "etc"),
        ("../other", "neighbour"),
        ("/proc/self/root/etc/passwd", "magic"),
        ("/dev/zero", "zero"),
    ] {
        symlink(target, workspace.join(name)).unwrap();
    }
    let fifo = Command::new("mkfifo").arg(workspace.join("pipe")).status();
    assert!(fifo.unwrap().success());
    let huge = std::fs::File::create(workspace.join("huge")).unwrap();
    huge.set_len(2 << 30).unwrap();
    let neighbour = yard.workspace("other").join("name.txt");
    let long = "x/".repeat(100_000);

    for (path, code) in [
        ("passwd", "outside_workspace"),
        ("etc/passwd", "outside_workspace"),
        ("neighbour/name.txt", "outside_workspace"),
        ("magic", "outside_workspace"),
        ("zero", "outside_workspace"),
        ("../other/name.txt", "outside_workspace"),
        ("a/../../other/name.txt", "outside_workspace"),
        (neighbour.to_str().unwrap(), "outside_workspace"),
        (".git", "git_directory"),
        ("/proc/self/environ", "bad_request"),
        ("/etc/passwd", "bad_request"),
        ("pipe", "bad_request"),
        ("huge", "bad_request"),
        ("a\0b", "bad_request"),
        (&*long, "bad_request"),
        ("missing", "file_not_found"),
    ] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": path })),
            ("grep", json!({ "path": path, "pattern": "root:|PATH=|." })),
            ("ls", json!({ "path": path })),
        ] {
            if tool == "ls" && matches!(path, "pipe" | "huge") {
                continue;
            }
            let refusal = agent.refusal(tool, main_with(arguments)).await;
            assert!(refusal.starts_with(code), "{tool} {path}: {refusal}");
            assert!(
                refusal.contains("\nfield: path"),
                "{tool} {path}: {refusal}"
            );
            assert!(!refusal.contains("root:"), "not a byte");
        }
    }
    yard.stop().await;
}

#[tokio::test]
async fn the_surroundings_of_a_build() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    let result = agent.tool("env", main_with(json!({}))).await;
    let env = &result["structuredContent"];
    assert!(env["machine"]["cpus"].as_u64().unwrap() > 0);
    let named = |list: &str, name: &str| {
        let list = env[list].as_array().unwrap();
        list.iter().any(|item| item["name"] == name)
    };
    assert!(named("tools", "make") && named("environment", "BRANCHYARD_COMMIT"));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("make: ") && text.contains("BRANCHYARD_BRANCH=main"));
    yard.stop().await;
}
