//! What a tab completes, in a real bash and as the scripts ask for it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::Command;

use super::{PROGRAM, Said, bare, cli, command, said};
use crate::support::{Options, Yard};

/// What the last of the words could become.
async fn completed(yard: &Yard, words: &[&str]) -> Vec<String> {
    let at = words.len().to_string();
    let args = [&["__complete", &at, "branchyard"], words].concat();
    let said: Said = said(command(yard, &args)).await.ok();
    assert_eq!(said.stderr, "");
    let lines = said.text().lines();
    let values = lines.map(|line| line.split('\t').next().unwrap().to_owned());
    values.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_branches_tasks_and_runs_are_known() {
    let mut yard = Yard::with(Options {
        repo: "[repos.demo.tasks]\nlint = [\"true\"]\nbench = [\"true\"]\n".into(),
        ..Options::default()
    })
    .await;
    yard.origin.branch("feature/login");
    yard.origin.branch("$(touch${IFS}evil)");
    cli(&yard, &["make", "demo", "main", "--", "who"])
        .await
        .ok();
    let run = yard.get_json("/api/runs").await["items"][0]["run_id"].clone();
    let run = run.as_str().unwrap();
    let end = &run[run.len() - 8..];

    assert_eq!(completed(&yard, &["make", "d"]).await, ["demo"]);
    assert_eq!(completed(&yard, &["make", "demo", "ma"]).await, ["main"]);
    let remote = completed(&yard, &["git", "demo", "fea"]).await;
    assert_eq!(remote, ["feature/login"], "the remote's, too");
    assert_eq!(
        completed(&yard, &["task", "demo", "main", ""]).await,
        ["bench", "lint"]
    );
    assert!(
        completed(&yard, &["follow", ""])
            .await
            .contains(&end.to_owned())
    );
    assert_eq!(completed(&yard, &["follow", "@"]).await, ["@last"]);
    assert_eq!(completed(&yard, &["log", &run[..9]]).await, [run]);
    assert_eq!(completed(&yard, &["log", "demo", "ma"]).await, ["main"]);
    assert_eq!(completed(&yard, &["runs", "--repo", "d"]).await, ["demo"]);
    assert_eq!(
        completed(&yard, &["--url", &yard.url, "rerun", end]).await,
        [end]
    );
    assert_eq!(completed(&yard, &["cancel", &end[..4]]).await, [end]);
    let commands = completed(&yard, &["comp"]).await;
    assert_eq!(commands, ["completions"]);
    assert_eq!(completed(&yard, &["runs", "--sta"]).await, ["--state"]);

    // In bash, where a name could hold what it executes.
    let bin = std::path::Path::new(PROGRAM).parent().unwrap();
    let script = "eval \"$(branchyard completions bash)\"\n\
        COMP_WORDS=(branchyard make demo '$(t'); COMP_CWORD=3; _branchyard\n\
        printf '%s\\n' \"${COMPREPLY[@]}\"; eval \"echo ${COMPREPLY[0]}\"\n\
        complete -p by\n";
    let output = Command::new("bash")
        .args(["-c", script])
        .env_clear()
        .env("PATH", format!("{}:{}", bin.display(), env!("PATH")))
        .env("HOME", yard.dir.path())
        .env("BRANCHYARD_URL", &yard.url)
        .env("BRANCHYARD_KEY_FILE", super::key_file(&yard))
        .current_dir(yard.dir.path())
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some(r"\$\(touch\$\{IFS\}evil\)"),
        "{output:?}"
    );
    assert_eq!(lines.next(), Some("$(touch${IFS}evil)"), "{output:?}");
    assert!(
        lines.next().unwrap().ends_with("-F _branchyard by"),
        "{output:?}"
    );
    assert!(!yard.dir.path().join("evil").exists());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_answer_nothing_is_said_and_nothing_waits() {
    let home = tempfile::tempdir().unwrap();
    let ask = async |url: Option<&str>| {
        let mut command = bare(home.path(), &["__complete", "2", "branchyard", "make", "d"]);
        if let Some(url) = url {
            command.env("BRANCHYARD_URL", url);
        }
        let began = Instant::now();
        let said = said(command).await.ok();
        assert_eq!((said.text(), said.stderr.as_str()), ("", ""));
        began.elapsed()
    };
    ask(None).await;
    ask(Some("http://127.0.0.1:1")).await;
    // One that takes the connection and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let took = ask(Some(&url)).await;
    assert!(took < Duration::from_secs(10), "{took:?}");
    // Words that are none.
    for args in [&["__complete"][..], &["__complete", "9", "branchyard"]] {
        let said = said(bare(home.path(), args)).await;
        assert_eq!((said.code, said.text(), said.stderr.as_str()), (2, "", ""));
    }
}
