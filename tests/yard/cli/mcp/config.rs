//! What is printed for an agent's configuration is what its kind of file takes, and holds no key.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use super::{Said, bare, command, said};
use crate::support::{PROGRAM, Yard};

const SCOPE: [&str; 7] = [
    "--repo",
    "demo",
    "--branch",
    "it's/$5é",
    "--toolsets",
    "yard, git_read",
    "--read-only",
];
const FLAGS: [&str; 7] = [
    "--repo",
    "demo",
    "--branch",
    "it's/$5é",
    "--toolsets",
    "yard,git_read",
    "--read-only",
];

async fn config(yard: &Yard, client: &str, form: &str) -> Said {
    let args = [&["mcp", "config", client, form], &SCOPE[..]].concat();
    let printed = said(command(yard, &args)).await.ok();
    for text in [printed.text(), &printed.stderr] {
        assert!(!text.contains(&yard.key()), "the key is in {text}");
    }
    printed
}

/// The words of a command, as a shell makes them.
async fn words(command: &str) -> Vec<String> {
    let script = format!("claude() {{ printf '%s\\0' \"$@\"; }}\n{command}");
    let output = tokio::process::Command::new("bash")
        .args(["-euc", &script])
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{command}");
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_terminator('\0');
    words.map(str::to_owned).collect()
}

fn headers() -> Value {
    json!({
        "branchyard-repo": "demo",
        "branchyard-branch": "it's/%245%C3%A9",
        "branchyard-toolsets": "yard,git_read",
        "branchyard-read-only": "true",
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_client_gets_what_its_configuration_takes() {
    let mut yard = Yard::new().await;
    let url = format!("{}/mcp", yard.url);
    let key_file = super::super::key_file(&yard);
    let key_file = key_file.to_str().unwrap();
    let mut args = vec!["mcp"];
    args.extend(FLAGS);
    args.extend(["--url", &yard.url, "--key-file", key_file]);
    let args = json!(args);

    let claude = config(&yard, "claude", "--stdio").await;
    let mut expected = json!(["mcp", "add", "branchyard", "--", PROGRAM]);
    let expected = expected.as_array_mut().unwrap();
    expected.extend(args.as_array().unwrap().clone());
    assert_eq!(json!(words(claude.text()).await), json!(expected));
    let claude = config(&yard, "claude", "--http").await;
    let mut expected = json!(["mcp", "add", "--transport", "http", "branchyard", url]);
    let expected = expected.as_array_mut().unwrap();
    // The shell finds the key where it is.
    let authorization = format!("Authorization: Bearer {}", yard.key());
    expected.extend(["--header".into(), authorization.into()]);
    for name in ["repo", "branch", "toolsets", "read-only"] {
        let name = format!("branchyard-{name}");
        let header = format!("{name}: {}", headers()[&name].as_str().unwrap());
        expected.extend(["--header".into(), header.into()]);
    }
    assert_eq!(json!(words(claude.text()).await), json!(expected));

    let codex = config(&yard, "codex", "--stdio").await;
    let codex: Value = toml::from_str(codex.text()).unwrap();
    let server = &codex["mcp_servers"]["branchyard"];
    assert_eq!(*server, json!({ "command": PROGRAM, "args": args }));
    let codex = config(&yard, "codex", "--http").await;
    assert!(codex.stderr.contains("export BRANCHYARD_SESSION_KEY="));
    let codex: Value = toml::from_str(codex.text()).unwrap();
    let expected = json!({
        "url": url, "bearer_token_env_var": "BRANCHYARD_SESSION_KEY", "http_headers": headers(),
    });
    assert_eq!(codex["mcp_servers"]["branchyard"], expected);

    let cursor = config(&yard, "cursor", "--stdio").await.json();
    let server = &cursor["mcpServers"]["branchyard"];
    assert_eq!(*server, json!({ "command": PROGRAM, "args": args }));
    let cursor = config(&yard, "cursor", "--http").await.json();
    let mut with_key = headers();
    with_key["Authorization"] = json!("Bearer ${env:BRANCHYARD_SESSION_KEY}");
    let server = &cursor["mcpServers"]["branchyard"];
    assert_eq!(*server, json!({ "url": url, "headers": with_key }));

    let vscode = config(&yard, "vscode", "--stdio").await.json();
    let server = &vscode["servers"]["branchyard"];
    assert_eq!(
        *server,
        json!({ "type": "stdio", "command": PROGRAM, "args": args })
    );
    let vscode = config(&yard, "vscode", "--http").await.json();
    with_key["Authorization"] = json!("Bearer ${input:branchyard-key}");
    let server = &vscode["servers"]["branchyard"];
    assert_eq!(
        *server,
        json!({ "type": "http", "url": url, "headers": with_key })
    );
    assert_eq!(vscode["inputs"][0]["id"], "branchyard-key");
    assert_eq!(vscode["inputs"][0]["password"], true);
    yard.stop().await;
}

#[tokio::test]
async fn both_forms_are_printed_and_no_daemon_is_needed() {
    let home = tempfile::tempdir().unwrap();
    for client in ["claude", "codex", "cursor", "vscode"] {
        let printed = said(bare(home.path(), &["mcp", "config", client]))
            .await
            .ok();
        assert!(printed.text().contains(PROGRAM), "{printed:?}");
        assert!(
            printed.text().contains("http://127.0.0.1:3344/mcp"),
            "{printed:?}"
        );
        assert!(!printed.text().contains("--url"), "{printed:?}");
        for word in ["no daemon found", "over stdio: ", "over HTTP: "] {
            assert!(printed.stderr.contains(word), "no {word:?} in {printed:?}");
        }
    }
    let claude = said(bare(home.path(), &["mcp", "config", "claude"]))
        .await
        .ok();
    assert_eq!(claude.text().matches("claude mcp add ").count(), 2);
    let stdio = said(bare(home.path(), &["mcp", "config", "codex", "--stdio"]))
        .await
        .ok();
    assert!(!stdio.stderr.contains("HTTP"), "{stdio:?}");
    // Another name would be printed that looks much like it.
    let key_file = home.path().join(OsStr::from_bytes(b"k\xffy"));
    std::fs::write(&key_file, "k3y").unwrap();
    let mut unwritable = bare(home.path(), &["mcp", "config", "claude"]);
    unwritable.env("BRANCHYARD_KEY_FILE", key_file);
    said(unwritable).await.refused(1, &["is not UTF-8"]);
    said(bare(home.path(), &["mcp", "config", "emacs"]))
        .await
        .refused(2, &["claude", "codex", "cursor", "vscode"]);
}
