//! `token` and `whoami`.

use std::os::unix::fs::PermissionsExt;

use super::{cli, command, said};
use crate::support::{Options, Yard};

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_made_used_listed_and_revoked_in_a_shell() {
    let mut yard = Yard::with(Options {
        bare: true,
        ..Options::default()
    })
    .await;
    let made = cli(
        &yard,
        &[
            "token",
            "create",
            "--role",
            "dev",
            "--repos",
            "app-*",
            "--branches",
            "agent-7-*",
            "--expires",
            "12h",
        ],
    );
    let made = made.await.ok();
    let token = made.text().trim().to_owned();
    assert!(
        token.starts_with("byt_") && token.len() == 4 + 12 + 1 + 64,
        "the token alone: {token}"
    );
    assert!(
        made.stderr.contains("app-*:agent-7-*") && !made.stderr.contains(&token),
        "{made:?}"
    );

    let file = yard.dir.path().join("screen.key");
    let file = file.to_str().unwrap();
    let create = [
        "token", "create", "--role", "ui", "--name", "screen", "--output", file,
    ];
    let made = cli(&yard, &create).await.ok();
    assert!(
        made.stdout.is_empty() && !made.stderr.contains("byt_"),
        "{made:?}"
    );
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    cli(&yard, &create)
        .await
        .refused(1, &["cannot make", "not there yet"]);
    let taken = yard.dir.path().join("other.key");
    let again = [
        "token",
        "create",
        "--role",
        "ui",
        "--name",
        "screen",
        "--output",
        taken.to_str().unwrap(),
    ];
    cli(&yard, &again)
        .await
        .refused(125, &["screen", "choose another"]);
    assert!(!taken.exists(), "no empty file is left");

    // A key file is a key file, whatever is in it.
    let as_screen = async |args: &[&str]| {
        let mut command = command(&yard, args);
        command.env("BRANCHYARD_KEY_FILE", file);
        said(command).await
    };
    let me = as_screen(&["whoami"]).await.ok();
    assert_eq!(me.text(), "token:screen\n");
    assert!(
        me.stderr.contains("repo:read git:read; everywhere, until "),
        "{me:?}"
    );
    as_screen(&["repos"]).await.ok();
    as_screen(&["repos", "add", "x", "https://example.org/x"])
        .await
        .refused(125, &["admin"]);
    let child = as_screen(&[
        "token",
        "create",
        "--scopes",
        "repo:read",
        "--name",
        "child",
        "--json",
    ])
    .await
    .ok()
    .json();
    assert_eq!(child["created_by"], "token:screen");
    let wider = as_screen(&["token", "create", "--role", "dev"]).await;
    wider.refused(125, &["build:run", "whoami"]);

    let listed = cli(&yard, &["token", "list"]).await.ok();
    let cells = listed.cells();
    assert_eq!(cells.len(), 3);
    assert_eq!(cells[1][0], "screen");
    assert_eq!(&cells[1][2..5], ["live", "ui", "everywhere"]);
    assert!(!listed.text().contains("byt_"));
    let revoked = cli(&yard, &["token", "revoke", "screen"]).await.ok();
    assert!(
        revoked.stderr.contains("revoked screen, and with it child"),
        "{revoked:?}"
    );
    as_screen(&["whoami"]).await.refused(125, &["was revoked"]);
    let all = cli(&yard, &["token", "list", "--all"]).await.ok();
    assert_eq!(all.cells().len(), 3);
    assert_eq!(cli(&yard, &["token", "list"]).await.ok().cells().len(), 1);
    cli(&yard, &["token", "revoke", "nobody"])
        .await
        .refused(125, &["token list"]);
    yard.stop().await;
}
