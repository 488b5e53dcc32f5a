//! Repositories and workspaces: list, add, prepare, remove.

use super::cli;
use crate::support::{Options, SmallYard, Yard, git};

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
    let none = cli(&yard, &["salvage", "list"]).await.ok();
    assert_eq!(
        (none.text(), none.stderr.as_str()),
        ("", "nothing was saved: nothing had to be\n")
    );
    let forced = cli(&yard, &["rm", "demo", "topic", "--force"]).await.ok();
    assert!(
        forced
            .stderr
            .contains("warning: what was in it is saved; `branchyard salvage restore "),
        "{forced:?}"
    );
    assert!(!workspace.exists());
    let listed = cli(&yard, &["salvage", "list", "--repo", "demo"])
        .await
        .ok();
    let id = listed.text().split('\t').next().unwrap().to_owned();
    assert!(listed.text().contains("\ttopic\t"), "{listed:?}");
    let shown = cli(&yard, &["salvage", "show", &id]).await.ok();
    assert_eq!(shown.text(), "changed\t5\tname.txt\n");
    assert!(
        shown.stderr.contains("changes to tracked files"),
        "{shown:?}"
    );
    let file = cli(&yard, &["salvage", "show", &id, "name.txt"]).await.ok();
    assert_eq!(file.text(), "mine\n");
    let restored = cli(&yard, &["salvage", "restore", &id]).await.ok();
    assert_eq!(restored.text().trim(), workspace.to_str().unwrap());
    assert_eq!(
        std::fs::read_to_string(workspace.join("name.txt")).unwrap(),
        "mine\n"
    );
    cli(&yard, &["salvage", "drop", &id]).await.ok();
    cli(&yard, &["salvage", "restore", &id])
        .await
        .refused(125, &["there is no salvage"]);
    git(&workspace, &["checkout", "-q", "name.txt"]);
    let removed = cli(&yard, &["rm", "demo", "topic"]).await.ok();
    assert_eq!(removed.stderr, "removed the workspace of topic of demo\n");
    cli(&yard, &["rm", "demo", "topic"])
        .await
        .refused(125, &["has no workspace"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_shows_what_is_amiss_on_disk_and_mends_it_when_told_to() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let well = cli(&yard, &["doctor"]).await.ok();
    assert!(well.text().contains("all as it should be"), "{well:?}");
    let index = yard.store().join("worktrees/main/index");
    std::fs::write(&index, "garbage").unwrap();
    let ill = cli(&yard, &["doctor"]).await.ok();
    assert!(ill.text().contains("index_broken"), "{ill:?}");
    assert_eq!(std::fs::read(&index).unwrap(), b"garbage", "only told");
    let mended = cli(&yard, &["doctor", "--fix"]).await.ok();
    assert!(mended.text().contains("made anew from HEAD"), "{mended:?}");
    let well = cli(&yard, &["doctor"]).await.ok();
    assert!(well.text().contains("all as it should be"), "{well:?}");
    assert_eq!(git(&yard.workspace("main"), &["status", "--porcelain"]), "");
    yard.stop().await;
}

/// Wherever the command is run.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_looks_at_the_daemons_disk() {
    let Some(mut small) = SmallYard::new(64, 4000, Options::default()) else {
        return;
    };
    small.yard.start().await;
    let doctor = cli(&small.yard, &["doctor", "--json"]).await;
    let told = doctor.json();
    let checks = told["checks"].as_array().unwrap();
    let disk = checks.iter().find(|check| check["name"] == "disk").unwrap();
    assert_eq!(
        (doctor.code, &disk["status"]),
        (1, &"fail".into()),
        "{told}"
    );
    small.yard.stop().await;
}
