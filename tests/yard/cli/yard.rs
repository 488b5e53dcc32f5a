//! Repositories and workspaces: list, add, prepare, remove.

use super::cli;
use crate::support::{Options, Yard, git};

#[tokio::test(flavor = "multi_thread")]
async fn repositories_come_and_go() {
    let mut yard = Yard::new().await;
    let url = yard.origin.url();
    let added = cli(
        &yard,
        &["repos", "add", "more", &url, "--default-branch", "main"],
    )
    .await
    .ok();
    assert_eq!(
        (added.text(), added.stderr.as_str()),
        ("", "registered more\n")
    );
    let listed = cli(&yard, &["repos"]).await.ok();
    assert_eq!(
        listed.cells(),
        [
            ["demo", &url, "", "config", "no", "0"],
            ["more", &url, "main", "registered", "no", "0"],
        ]
    );
    let taken = cli(&yard, &["repos", "add", "more", &url]).await;
    taken.refused(125, &["there is a repository named more already"]);
    let scheme = cli(&yard, &["repos", "add", "x", "ext::sh -c id"]).await;
    assert!([2, 125].contains(&scheme.code), "{scheme:?}");

    let made = cli(&yard, &["make", "more", "main", "--", "who"])
        .await
        .ok();
    assert_eq!(made.text(), "main\n");
    let busy = cli(&yard, &["repos", "rm", "more"]).await;
    busy.refused(125, &["more still has main"]);
    cli(&yard, &["rm", "more", "main"]).await.ok();
    let gone = cli(&yard, &["repos", "rm", "more"]).await.ok();
    assert_eq!(gone.stderr, "forgot more\n");
    assert_eq!(
        cli(&yard, &["-q", "repos", "list"])
            .await
            .ok()
            .cells()
            .len(),
        1
    );
    let declared = cli(&yard, &["repos", "rm", "demo"]).await;
    declared.refused(125, &["declared in the daemon's configuration"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn build_output_keeps_no_workspace_from_being_removed() {
    let mut yard = Yard::with(Options {
        repo: "build_output = [\"out\", \"/ignored\", \"*.o\"]".into(),
        ..Options::default()
    })
    .await;
    cli(&yard, &["make", "demo", "main", "--", "build"])
        .await
        .ok();
    assert!(yard.workspace("main").join("out/result").exists());
    cli(&yard, &["rm", "demo", "main"]).await.ok();
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workspaces_are_prepared_listed_and_removed() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    let none = cli(&yard, &["branches", "demo"]).await.ok();
    assert_eq!(none.text(), "");
    assert!(none.stderr.starts_with("no workspaces"), "{none:?}");
    assert_eq!(
        cli(&yard, &["branches", "demo", "-q"]).await.ok().stderr,
        ""
    );

    let path = cli(&yard, &["prepare", "demo", "topic"]).await.ok();
    assert_eq!(
        path.text(),
        format!("{}\n", yard.workspace("topic").display())
    );
    let all = cli(&yard, &["branches", "demo", "--remote"]).await.ok();
    let states: Vec<_> = all
        .cells()
        .iter()
        .map(|row| (row[0].to_owned(), row[2].to_owned()))
        .collect();
    assert_eq!(
        states,
        [
            ("main".into(), "remote".into()),
            ("topic".into(), "clean".into())
        ]
    );

    let made = cli(&yard, &["prepare", "demo", "fix/typo", "--from", "topic"])
        .await
        .ok();
    assert_eq!(
        made.text().trim_end(),
        yard.workspace("fix/typo").to_str().unwrap()
    );
    let who = cli(&yard, &["make", "demo", "fix/typo", "--", "who"])
        .await
        .ok();
    assert_eq!(who.text(), "topic\n");
    assert!(
        who.stderr
            .contains("warning: fix/typo is not on the remote yet"),
        "{who:?}"
    );
    let taken = cli(&yard, &["prepare", "demo", "topic", "--from", "main"]).await;
    taken.refused(125, &["topic already exists"]);

    let workspace = yard.workspace("topic");
    std::fs::write(workspace.join("name.txt"), "mine\n").unwrap();
    let kept = cli(&yard, &["rm", "demo", "topic"]).await;
    kept.refused(125, &["has work in it: changes to tracked files", "help: "]);
    let forced = cli(&yard, &["rm", "demo", "topic", "--force"]).await;
    forced.refused(125, &["force is not available in this version"]);
    assert_eq!(
        std::fs::read_to_string(workspace.join("name.txt")).unwrap(),
        "mine\n"
    );
    git(&workspace, &["checkout", "-q", "name.txt"]);
    let removed = cli(&yard, &["rm", "demo", "topic"]).await.ok();
    assert_eq!(removed.stderr, "removed the workspace of topic of demo\n");
    cli(&yard, &["rm", "demo", "topic"])
        .await
        .refused(125, &["has no workspace"]);
    yard.stop().await;
}
