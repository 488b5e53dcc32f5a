//! Where the command stands: in the directory of a workspace its repository and branch may be left out.

use std::process::Stdio;

use tokio::process::Command;

use super::{PROGRAM, Said, command, said};
use crate::support::{Options, Yard};

/// The command, in a directory.
async fn inside(yard: &Yard, dir: &std::path::Path, args: &[&str]) -> Said {
    let mut command = command(yard, args);
    command.current_dir(dir);
    said(command).await
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_workspace_repository_and_branch_may_be_left_out() {
    let mut yard = Yard::with(Options {
        repo: "[repos.demo.tasks]\nsay = [\"echo\", \"said:\"]\n".into(),
        ..Options::default()
    })
    .await;
    yard.origin.branch("feature/login");
    let made = super::cli(&yard, &["prepare", "demo", "feature/login"]).await;
    made.ok();
    let top = yard.workspace("feature/login");
    let deep = top.join("deep/er");
    std::fs::create_dir_all(&deep).unwrap();
    for dir in [&top, &deep] {
        let who = inside(&yard, dir, &["make", "who"]).await.ok();
        assert_eq!(who.text(), "feature/login\n");
        let who = inside(&yard, dir, &["make", "--timeout", "5m", "--", "who"]).await;
        assert_eq!(who.ok().text(), "feature/login\n");
    }
    let cat = inside(&yard, &deep, &["cat", "name.txt"]).await.ok();
    assert_eq!(cat.text(), "feature/login\n");
    let log = inside(&yard, &deep, &["git", "log", "--format=%an", "-n", "1"]).await;
    log.ok();
    let task = inside(&yard, &top, &["task", "say", "--", "-n"]).await.ok();
    assert_eq!(task.text(), "said: -n\n");
    let path = inside(&yard, &deep, &["prepare"]).await.ok();
    assert_eq!(path.text().trim_end(), top.to_str().unwrap());
    let branches = inside(&yard, &deep, &["branches"]).await.ok();
    assert_eq!(branches.cells()[0][0], "feature/login");
    inside(&yard, &top, &["pin"]).await.ok();
    inside(&yard, &top, &["unpin"]).await.ok();

    // What is written counts.
    let main = inside(&yard, &top, &["make", "demo", "main", "--", "who"]).await;
    assert_eq!(main.ok().text(), "main\n");
    // The newest run is the newest here, and @last that of all.
    assert_eq!(
        inside(&yard, &top, &["log"]).await.ok().text(),
        "said: -n\n"
    );
    let last = inside(&yard, &top, &["log", "@last"]).await.ok();
    assert_eq!(last.text(), "main\n");
    let main = yard.workspace("main");
    assert_eq!(
        inside(&yard, &main, &["follow"]).await.ok().text(),
        "main\n"
    );

    // A repository's name could be the start of a place, or a target.
    let unclear = inside(&yard, &top, &["make", "demo"]).await;
    unclear.refused(2, &["demo is a repository", "demo feature/login"]);
    let unknown = inside(&yard, &top, &["make", "nothing"]).await;
    assert_eq!(unknown.code, 2, "make has no such target: {unknown:?}");
    assert!(unknown.stderr.contains("nothing"), "{unknown:?}");

    // Outside they are needed.
    let outside = inside(&yard, yard.dir.path(), &["cat", "name.txt"]).await;
    outside.refused(2, &["<BRANCH>"]);
    let outside = inside(&yard, &yard.workspaces.join("demo"), &["make"]).await;
    outside.refused(2, &["<REPO>"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_changes_into_workspaces() {
    let mut yard = Yard::new().await;
    yard.origin.branch("it's");
    let bin = std::path::Path::new(PROGRAM).parent().unwrap();
    let path = format!("{}:{}", bin.display(), env!("PATH"));
    let script = "eval \"$(branchyard shell-init bash)\"\n\
        by cd demo \"it's\" && pwd && mkdir deep && cd deep && by make who && by cd && pwd\n\
        by cd demo nowhere; echo \"$? $(pwd)\"\n";
    let mut ran = 0;
    for shell in ["bash", "zsh"] {
        let mut command = Command::new(shell);
        command
            .args([
                "-c",
                &script.replace("shell-init bash", &format!("shell-init {shell}")),
            ])
            .env_clear()
            .env("PATH", &path)
            .env("HOME", yard.dir.path())
            .env("BRANCHYARD_URL", &yard.url)
            .env("BRANCHYARD_KEY_FILE", super::key_file(&yard))
            .current_dir(yard.dir.path())
            .stdin(Stdio::null());
        let Ok(output) = command.output().await else {
            println!("skipped: there is no {shell} here");
            continue;
        };
        ran += 1;
        let top = yard.workspace("it's");
        let top = top.to_str().unwrap();
        let expected = format!("{top}\nit's\n{top}\n125 {top}\n");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{output:?}"
        );
        std::fs::remove_dir(yard.workspace("it's").join("deep")).unwrap();
    }
    assert!(ran > 0, "there is bash at least");
    yard.stop().await;
}
