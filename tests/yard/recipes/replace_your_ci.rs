//! docs/REPLACE_YOUR_CI.md, followed from its first step to its last.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use tokio::process::Command;

use super::{YARD, block, sh};
use crate::support::remotes::{Auth, HttpRemote};
use crate::support::{Options, PROGRAM, Yard};
use crate::support::{Receiver, secret_file};

const PAGE: &str = include_str!("../../../docs/REPLACE_YOUR_CI.md");
/// What the page calls the forge.
const FORGE: &str = "git.example.org";

#[tokio::test]
async fn the_guide_leads_from_an_empty_yard_to_an_artifact() {
    let forge = Receiver::start().await;
    let mut yard = Yard::asleep(Options::default());
    let dir = yard.dir.path().to_owned();
    let remote = HttpRemote::start(&yard.origin, Auth::Anyone).await;
    let root = yard.origin.bare.parent().unwrap();
    symlink(root, root.join("team")).unwrap();
    symlink(&yard.origin.bare, root.join("demo.git")).unwrap();

    // 1. The daemon: the configuration and its two secrets.
    secret_file(&yard, "forge-token", "a-token-of-the-forge");
    let made = sh(&dir, block(PAGE, "random text:"), &[]).await;
    assert!(made.status.success(), "{made:?}");
    let written = block(PAGE, "`workspaces.toml`")
        .replace(&format!("https://{FORGE}/api/v1"), &forge.url)
        .replace(
            &format!("https://{FORGE}"),
            &format!("http://{}", remote.address),
        )
        .replace(&format!("\"{FORGE}\""), "\"127.0.0.1\"");
    // Its directory is the test's own, and so is what lets it clone by http.
    let written = written.replace("workspaces = \"/srv/branchyard\"\n", "");
    let (top, tables) = written.split_once("\n[").unwrap();
    yard.configure(Options {
        top: top.to_owned(),
        tables: format!("[{tables}\n[git]\nallow_protocols = [\"http\"]\n"),
        bare: true,
        ..Options::default()
    });
    yard.start().await;
    yard.until_json("/api/repos/demo", |repo| {
        repo["watch"]["looked_at"].is_string()
    })
    .await;

    // 2. The workflow, in a commit that is pushed; 3. the webhook tells of it.
    let makefile = "test:\n\t@cat name.txt\n";
    yard.origin.write("Makefile", makefile);
    let workflow = block(PAGE, "`.branchyard/workflows/ci.yml`");
    let commit = yard.origin.workflow("ci.yml", workflow);
    assert!(PAGE.contains(&format!("{YARD}/hooks/demo")));
    let tell = "\
secret=$(cat webhook-secret)
digest=$(printf %s '{}' | openssl dgst -sha256 -hmac \"$secret\" -r | cut -d' ' -f1)
curl -fsS -H 'X-Gitea-Event: push' -H \"X-Gitea-Signature: $digest\" \\
  -H 'Content-Type: application/json' -d '{}' \"$YARD/hooks/demo\"
";
    let env = [("YARD".to_owned(), yard.url.clone())];
    let told = sh(&dir, tell, &env).await;
    assert!(told.status.success(), "{told:?}");

    // 4. The pipeline runs, and the forge shows how it ended.
    let page = yard
        .until_json("/api/repos/demo/pipelines", |page| {
            page["items"][0]["ended_at"].is_string()
        })
        .await;
    let pipeline = &page["items"][0];
    assert_eq!(pipeline["state"], "succeeded", "{pipeline:#}");
    assert_eq!(pipeline["commit"], commit);
    let id = pipeline["pipeline_id"].as_str().unwrap();
    yard.until_json("/api/repos/demo/deliveries", |_| {
        let last = forge.received().pop();
        last.is_some_and(|status| status.json()["state"] == "success")
    })
    .await;
    let status = forge.received().pop().unwrap();
    assert_eq!(status.path, format!("/repos/team/demo/statuses/{commit}"));
    assert_eq!(status.json()["context"], "branchyard/ci");
    assert_eq!(
        status.json()["target_url"],
        format!("{YARD}/#/pipeline/{id}")
    );

    // 5. The artifact.
    let line = block(PAGE, "## 5. The artifact").trim();
    let words = line.strip_prefix("$ branchyard ").unwrap();
    let fetched = Command::new(PROGRAM)
        .args(words.split(' '))
        .current_dir(&dir)
        .env_clear()
        .env("PATH", env!("PATH"))
        .env("HOME", &dir)
        .env("BRANCHYARD_URL", &yard.url)
        .env(
            "BRANCHYARD_KEY_FILE",
            yard.workspaces.join(".branchyard/auth.header"),
        )
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    assert!(fetched.status.success(), "{fetched:?}");
    assert_eq!(
        fs::read_to_string(dir.join("dist/Makefile")).unwrap(),
        makefile
    );
    yard.stop().await;
}
