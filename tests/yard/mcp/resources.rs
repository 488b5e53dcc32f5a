//! Resources: which there are, what they hold, and what they never hold.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Agent, Yard, encode};

async fn both(yard: &Yard) -> [Agent; 2] {
    [Agent::new(yard), Agent::older(yard, &[]).await]
}

fn run_of(events: &[crate::support::Event]) -> String {
    events[0].data["run_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_yard_and_the_latest_logs_are_listed_and_read() {
    let mut yard = Yard::new().await;
    let failed = run_of(&yard.make("main", &["fail"]).await);
    yard.origin.branch("feature/x");
    let passed = run_of(&yard.make("feature/x", &["who"]).await);
    for agent in both(&yard).await {
        let listed = agent.bounded("resources/list", json!({})).await.unwrap();
        let named: Vec<_> = listed["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|resource| (resource["uri"].clone(), resource["description"].clone()))
            .collect();
        let log = |run: &str| json!(format!("run://{run}/log"));
        assert_eq!(named[0].0, "yard://repos");
        assert_eq!(
            named[1],
            (log(&passed), json!("make who on demo/feature/x: succeeded"))
        );
        assert_eq!(
            named[2],
            (log(&failed), json!("make fail on demo/main: failed"))
        );

        let repos = agent.read("yard://repos").await.unwrap();
        assert_eq!(repos["mimeType"], "application/json");
        let repos: Value = serde_json::from_str(repos["text"].as_str().unwrap()).unwrap();
        let expected = json!({
            "name": "demo", "default_branch": "main", "cloned": true,
            "workspaces": ["feature/x", "main"],
        });
        assert_eq!(repos, json!({ "repos": [expected], "truncated": false }));

        let log = agent.read(&format!("run://{passed}/log")).await.unwrap();
        assert_eq!(
            (&log["text"], &log["mimeType"]),
            (&json!("feature/x\n"), &json!("text/plain"))
        );

        let templates = agent
            .request("resources/templates/list", json!({}))
            .await
            .unwrap();
        let templates: Vec<_> = templates["resourceTemplates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|template| template["uriTemplate"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            templates,
            ["run://{id}/log", "workspace://{repo}/{branch}/{+path}"]
        );
    }
    let of_main = Agent::with(
        &yard,
        &[("branchyard-repo", "demo"), ("branchyard-branch", "main")],
    );
    let listed = of_main.request("resources/list", json!({})).await.unwrap();
    assert_eq!(listed["resources"].as_array().unwrap().len(), 2, "{listed}");
    yard.stop().await;
}

#[tokio::test]
async fn a_file_is_text_or_a_blob_and_a_directory_its_names() {
    let mut yard = Yard::new().await;
    yard.origin.write("dir/a b.txt", "text\n");
    yard.origin.write("dir/data.bin", b"\xff\x00\xfe");
    yard.origin.write("dir/.hidden", "");
    yard.origin.write("dir/sub/x", "");
    yard.origin.branch("feature/é");
    let branch = encode("feature/é");
    for agent in both(&yard).await {
        let place = format!("workspace://demo/{branch}");
        assert_eq!(
            agent.text(&format!("{place}/name.txt")).await,
            "feature/é\n"
        );
        assert_eq!(
            agent.text(&format!("{place}/dir/a%20b.txt")).await,
            "text\n"
        );
        let blob = agent.read(&format!("{place}/dir/data.bin")).await.unwrap();
        assert_eq!(
            (&blob["blob"], &blob["mimeType"]),
            (&json!("/wD+"), &json!("application/octet-stream"))
        );
        assert_eq!(
            agent.text(&format!("{place}/dir")).await,
            ".hidden\na b.txt\ndata.bin\nsub/\n"
        );
        let root = agent.text(&place).await;
        assert_eq!(root, ".gitignore\nMakefile\ndir/\nname.txt\n");
    }
    yard.stop().await;
}

#[tokio::test]
async fn no_resource_is_larger_than_an_answer() {
    let mut yard = Yard::new().await;
    yard.origin.write("Makefile", "many long:\n\t@cat $@.txt\n");
    let many: String = (1..=60_000)
        .map(|n| format!("\u{1b}[31mline {n} of \"many\"\u{1b}[0m\n"))
        .collect();
    yard.origin.write("many.txt", many);
    yard.origin.write("long.txt", "x".repeat(300_000));
    let lines: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
    yard.origin.write("lines.txt", &lines);
    yard.origin
        .write("one-line.txt", "\u{1}\u{1f600}".repeat(20_000));
    yard.origin.write("large.bin", [0xff; 30_000]);
    for n in 0..1500 {
        yard.origin.write(&format!("names/file-number-{n:04}"), "");
    }
    yard.origin.commit("much");
    yard.origin.push("main");
    let many = run_of(&yard.make("main", &["many"]).await);
    let long = run_of(&yard.make("main", &["long"]).await);
    for agent in both(&yard).await {
        let text = agent.text(&format!("run://{many}/log")).await;
        let (note, rest) = text.split_once('\n').unwrap();
        let first = rest.lines().next().unwrap();
        let number = first.split(' ').nth(1).unwrap();
        assert!(
            note.contains(&format!("from line {number} of 60000 on")),
            "{note}\n{first}"
        );
        assert!(
            note.contains("run_log") && !text.contains('\u{1b}'),
            "{note}"
        );
        assert_eq!(rest.lines().next_back(), Some("line 60000 of \"many\""));
        assert!(rest.len() > 10_000);

        let text = agent.text(&format!("run://{long}/log")).await;
        let (note, rest) = text.split_once('\n').unwrap();
        assert!(note.contains("from line 1 of 1 on"), "{note}");
        assert!(rest.len() > 10_000 && rest.bytes().all(|byte| byte == b'x'));

        let text = agent.text("workspace://demo/main/lines.txt").await;
        let (shown, note) = text.trim_end().rsplit_once('\n').unwrap();
        assert!(lines.starts_with(shown) && shown.len() > 10_000);
        let next = shown.lines().count() + 1;
        assert!(
            note.contains(&format!("goes on in line {next} of 5000")),
            "{note}"
        );
        let text = agent.text("workspace://demo/main/one-line.txt").await;
        assert!(
            text.contains("goes on in line 1 of 1"),
            "{}",
            &text[text.len() - 100..]
        );
        let text = agent.text("workspace://demo/main/names").await;
        assert!(text.starts_with("file-number-0000\n") && text.contains("`ls`"));

        let refused = agent
            .read("workspace://demo/main/large.bin")
            .await
            .unwrap_err();
        assert!(
            refused["message"].as_str().unwrap().contains("30000 bytes"),
            "{refused}"
        );
        let endless = format!("workspace://demo/main/{}", "x".repeat(30_000));
        agent.read(&endless).await.unwrap_err();
    }
    yard.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_not_found_and_says_what_is() {
    let mut yard = Yard::new().await;
    for (agent, code) in both(&yard).await.into_iter().zip([-32602, -32002]) {
        for (uri, help) in [
            ("run://0190d5a0-0000-7000-8000-000000000000/log", "`runs`"),
            ("workspace://demo/main/missing.txt", "missing.txt"),
            ("workspace://demo/missing/name.txt", "missing"),
            ("workspace://none/main/name.txt", "none"),
            ("yard://else", "yard://repos"),
            ("file:///etc/passwd", "workspace://"),
        ] {
            let error = agent.read(uri).await.unwrap_err();
            assert_eq!(error["code"], code, "{uri}: {error}");
            assert_eq!(error["data"]["uri"], uri);
            assert!(
                error["message"].as_str().unwrap().contains(help),
                "{uri}: {error}"
            );
        }
        for uri in [
            "run://x/log",
            "workspace://..%2f/main/x",
            "workspace://demo/-x/y",
        ] {
            let error = agent.read(uri).await.unwrap_err();
            assert_eq!(error["code"], -32602, "{uri}: {error}");
        }
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outside_the_workspace_is_ever_a_resource() {
    let mut yard = Yard::new().await;
    yard.origin.branch("other");
    yard.make("other", &["who"]).await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    symlink("/etc/passwd", workspace.join("passwd")).unwrap();
    symlink("/etc", workspace.join("etc")).unwrap();
    symlink("../other/name.txt", workspace.join("neighbour")).unwrap();
    let fifo = std::process::Command::new("mkfifo")
        .arg(workspace.join("pipe"))
        .status();
    assert!(fifo.unwrap().success());
    let huge = std::fs::File::create(workspace.join("huge")).unwrap();
    huge.set_len(2 << 30).unwrap();
    for agent in both(&yard).await {
        for path in [
            "passwd",
            "etc",
            "etc/passwd",
            "neighbour",
            "..",
            "../other/name.txt",
            "%2e%2e/other/name.txt",
            "..%2fother%2fname.txt",
            "/etc/passwd",
            "%2fetc%2fpasswd",
            "/proc/self/environ",
            ".git",
            ".git/HEAD",
            "a%00b",
            "pipe",
            "huge",
        ] {
            let uri = format!("workspace://demo/main/{path}");
            let error = agent.read(&uri).await.unwrap_err();
            assert_eq!(error["code"], -32602, "{path}: {error}");
            assert!(!error.to_string().contains("root:"), "not a byte: {error}");
        }
    }
    yard.stop().await;
}
