//! Reads: at once, beside a build, without the network, confined to their workspace.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Yard, git, problem_of};

const MAIN: &str = "/api/repos/demo/branches/main";

async fn read(yard: &Yard, path: &str) -> (u16, Value) {
    let answer = yard
        .post(&format!("{MAIN}/read_file"), json!({"path": path}))
        .await;
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_answer_while_a_build_of_the_same_branch_runs() {
    let mut yard = Yard::new().await;
    let mut build = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    build.until_line("waiting").await;

    // The build ends only when this test opens its gate, so whatever answers did not wait for it.
    let file = yard
        .post_json(&format!("{MAIN}/read_file"), json!({"path": "name.txt"}))
        .await;
    assert_eq!(file["text"], "main\n");
    let status = yard
        .post_json(
            &format!("{MAIN}/git/quick"),
            json!({"operation": "status", "args": ["--short"]}),
        )
        .await;
    assert_eq!(status["exit_code"], 0);
    let listing = yard.post_json(&format!("{MAIN}/ls"), json!({})).await;
    assert_eq!(listing["entries"].as_array().unwrap().len(), 2);
    let env = yard.get_json(&format!("{MAIN}/env")).await;
    assert!(
        env["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|tool| tool["name"] == "make")
    );
    assert!(env["machine"]["cpus"].as_u64().unwrap() > 0);
    for answer in [&file, &status, &listing, &env] {
        assert_eq!(answer["commit"].as_str().unwrap().len(), 40, "{answer}");
        assert_eq!(answer["branch"], "main");
    }
    assert_eq!(
        yard.get_json(&format!("/api/runs/{}", build.run_id()))
            .await["state"],
        "running"
    );
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    build.end().await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_comes_together_with_a_first_build_does_not_wait_for_it() {
    let mut yard = Yard::new().await;
    let branches: Vec<_> = (0..12).map(|n| format!("new-{n}")).collect();
    for branch in &branches {
        yard.origin.branch(branch);
    }
    for branch in &branches {
        let build = yard.start_detached(branch, json!({ "args": ["gate"], "detach": true }));
        let path = format!("/api/repos/demo/branches/{branch}/ls");
        let (build, listing) = tokio::join!(build, yard.post(&path, json!({})));
        assert_eq!(listing.status(), 200);
        // It ends only when it is let, or after long.
        let record = yard.get_json(&format!("/api/runs/{build}")).await;
        assert!(record["ended_at"].is_null(), "{record}");
        std::fs::write(yard.workspace(branch).join("open"), "").unwrap();
        let ended = yard.ended(&build).await;
        assert_eq!(ended["state"], "succeeded");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_prepares_a_missing_workspace_and_later_ones_need_no_remote() {
    let mut yard = Yard::new().await;
    let first = yard
        .post_json(&format!("{MAIN}/read_file"), json!({"path": "name.txt"}))
        .await;
    std::fs::rename(&yard.origin.bare, yard.dir.path().join("away")).unwrap();
    let later = yard
        .post_json(
            &format!("{MAIN}/read_file"),
            json!({"path": "Makefile", "start_line": 2, "end_line": 3}),
        )
        .await;
    assert_eq!(later["commit"], first["commit"]);
    assert_eq!(later["text"], "all: who\nwho:\n");
    assert_eq!(
        (&later["start_line"], &later["end_line"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(later["truncated"], false);
    let log = yard
        .post_json(
            &format!("{MAIN}/git/quick"),
            json!({"operation": "log", "args": "--oneline"}),
        )
        .await;
    assert!(log["stdout"].as_str().unwrap().ends_with("first\n"));

    let (status, problem) = problem_of(
        yard.post(
            "/stream/repos/demo/branches/main/make",
            json!({"commit": "x"}),
        )
        .await,
    )
    .await;
    assert_eq!((status, &problem["field"]), (422, &json!("commit")));
    let events = yard.make("main", &["who"]).await;
    assert_eq!(events.last().unwrap().kind, "error");
    assert_eq!(events.last().unwrap().data["code"], "remote_not_found");
    let events = yard
        .run("make", "main", json!({"args": ["who"], "stale": true}))
        .await;
    assert!(
        events
            .iter()
            .any(|e| e.kind == "warning" && e.data["code"] == "stale")
    );
    assert!(
        events.iter().any(|e| e.data["stale"] == true),
        "the answer says so"
    );
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    let events = yard
        .run("make", "main", json!({"args": ["who"], "sync": "none"}))
        .await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outside_the_workspace_is_ever_read() {
    let mut yard = Yard::new().await;
    yard.origin.branch("other");
    yard.make("other", &["who"]).await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    symlink("/etc/passwd", workspace.join("passwd")).unwrap();
    symlink("/etc", workspace.join("etc")).unwrap();
    symlink("../other/name.txt", workspace.join("neighbour")).unwrap();
    symlink("name.txt", workspace.join("inside")).unwrap();
    symlink("/proc/self/root/etc/passwd", workspace.join("magic")).unwrap();
    let fifo = std::process::Command::new("mkfifo")
        .arg(workspace.join("pipe"))
        .status()
        .unwrap();
    assert!(fifo.success());
    let huge = std::fs::File::create(workspace.join("huge")).unwrap();
    huge.set_len(2 << 30).unwrap();
    let neighbour = yard.workspace("other").join("name.txt");

    for (path, expected) in [
        ("passwd", 403),
        ("etc/passwd", 403),
        ("neighbour", 403),
        ("magic", 403),
        ("../other/name.txt", 403),
        ("a/../../other/name.txt", 403),
        (neighbour.to_str().unwrap(), 403),
        (".git", 403),
        ("/proc/self/environ", 400),
        ("/etc/passwd", 400),
        ("pipe", 400),
        ("huge", 400),
        ("a\0b", 400),
        ("", 400),
        ("missing", 404),
        ("name.txt/x", 404),
        ("inside", 200),
        ("./name.txt", 200),
    ] {
        let (status, body) = read(&yard, path).await;
        assert_eq!(status, expected, "{path:?}: {body}");
        if status != 200 {
            assert!(!body.to_string().contains("root:"), "not a byte: {body}");
            assert_eq!(body["field"], "path");
        }
    }
    for path in ["etc", "..", "../other", "/etc"] {
        let answer = yard
            .post(&format!("{MAIN}/ls"), json!({"path": path}))
            .await;
        assert!([400, 403].contains(&answer.status().as_u16()), "{path}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_symlink_swapped_during_reads_never_leads_out() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    std::fs::create_dir(workspace.join("real")).unwrap();
    std::fs::write(workspace.join("real/passwd"), "harmless\n").unwrap();
    symlink("real", workspace.join("swap")).unwrap();
    let swapping = {
        let workspace = workspace.clone();
        tokio::task::spawn_blocking(move || {
            for n in 0..2000 {
                let target = if n % 2 == 0 { "/etc" } else { "real" };
                symlink(target, workspace.join("next")).unwrap();
                std::fs::rename(workspace.join("next"), workspace.join("swap")).unwrap();
            }
        })
    };
    let mut seen = [0, 0];
    while !swapping.is_finished() {
        match read(&yard, "swap/passwd").await {
            (200, body) => {
                assert_eq!(body["text"], "harmless\n");
                seen[0] += 1;
            }
            (status, body) => {
                assert_eq!(status, 403, "{body}");
                seen[1] += 1;
            }
        }
    }
    swapping.await.unwrap();
    assert!(seen[0] + seen[1] > 0);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ls_takes_fields_and_the_older_arguments() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write("src/deep/a.c", "");
    yard.origin.write("src/.hidden", "");
    yard.origin.commit("files");
    yard.origin.push("main");
    let paths = |listing: Value| -> Vec<String> {
        listing["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["path"].as_str().unwrap().to_owned())
            .collect()
    };
    let by_fields = yard
        .post_json(
            &format!("{MAIN}/ls"),
            json!({"path": "src", "recursive": true, "all": true}),
        )
        .await;
    assert_eq!(
        paths(by_fields),
        ["src/.hidden", "src/deep", "src/deep/a.c"]
    );
    let by_args = yard
        .post_json(&format!("{MAIN}/ls"), json!({"args": "-la src"}))
        .await;
    assert_eq!(paths(by_args), ["src/.hidden", "src/deep"]);
    let plain = yard
        .post_json(&format!("{MAIN}/ls"), json!({"path": "src"}))
        .await;
    assert_eq!(paths(plain), ["src/deep"]);
    let (status, problem) = problem_of(
        yard.post(&format!("{MAIN}/ls"), json!({"args": "--help"}))
            .await,
    )
    .await;
    assert_eq!((status, &problem["field"]), (400, &json!("args")));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn binary_files_and_edits_are_said_to_be_so() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    std::fs::write(workspace.join("name.txt"), "edited\n").unwrap();
    std::fs::write(workspace.join("blob"), [0xff, 0x00, 0xfe]).unwrap();
    let (_, edited) = read(&yard, "name.txt").await;
    assert_eq!(
        (&edited["text"], &edited["modified"]),
        (&json!("edited\n"), &json!(true))
    );
    let (_, binary) = read(&yard, "blob").await;
    assert_eq!(
        (&binary["encoding"], &binary["text"], &binary["size"]),
        (&json!("base64"), &json!("/wD+"), &json!(3))
    );
    let (_, untouched) = read(&yard, "Makefile").await;
    assert_eq!(untouched["modified"], false);
    assert_eq!(
        git(&workspace, &["rev-parse", "HEAD"]),
        untouched["commit"].as_str().unwrap()
    );
    yard.stop().await;
}
