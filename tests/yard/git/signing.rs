//! Commits and tags that are signed, with a real ssh key.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::local::refused;
use crate::support::{Agent, Options, Yard, git};

fn new_key(dir: &Path, name: &str) -> String {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name])
        .current_dir(dir)
        .status();
    assert!(made.expect("openssh-client is installed").success());
    let public = std::fs::read_to_string(dir.join(format!("{name}.pub"))).unwrap();
    public.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// A yard whose daemon has a key, and knows the signers in a file.
async fn with_key() -> Yard {
    let mut yard = Yard::asleep(Options::default());
    let dir = yard.dir.path().to_owned();
    let public = new_key(&dir, "signing_key");
    std::fs::write(dir.join("signers"), format!("yard@example.org {public}\n")).unwrap();
    yard.configure(Options {
        git: format!(
            "signing_key = {:?}\nallowed_signers = {:?}",
            dir.join("signing_key"),
            dir.join("signers")
        ),
        ..Options::default()
    });
    yard.start().await;
    yard.make("main", &["who"]).await;
    yard
}

#[tokio::test]
async fn what_a_daemon_with_a_key_makes_is_signed() {
    let mut yard = with_key().await;
    let workspace = yard.workspace("main");
    let signers = yard.dir.path().join("signers");
    let known = format!("gpg.ssh.allowedSignersFile={}", signers.display());
    let empty = |more: serde_json::Value| {
        let mut body = json!({ "message": "m", "allow_empty": true });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let made = yard.verb("main", "commit", empty(json!({}))).await;
    assert_eq!(made["signed"], true);
    git(&workspace, &["-c", &known, "verify-commit", "HEAD"]);
    let made = yard
        .verb("main", "commit", empty(json!({ "sign": false })))
        .await;
    assert_eq!(made["signed"], false);

    let agent = Agent::of_git(&yard, "main");
    let body = json!({ "action": "create", "name": "v1", "message": "first", "sign": true });
    let tag = agent.call("git_tag", body).await["tag"].clone();
    assert_eq!(
        (&tag["signed"], &tag["message"]),
        (&json!(true), &json!("first"))
    );
    let verify = json!({ "action": "verify", "name": "v1" });
    let verified = agent.call("git_tag", verify.clone()).await["signature"].clone();
    assert_eq!(
        (&verified["verdict"], &verified["signer"]),
        (&json!("good"), &json!("yard@example.org"))
    );
    assert!(verified["key"].as_str().unwrap().starts_with("SHA256:"));

    // Another's words under the same signature.
    let text = git(&workspace, &["cat-file", "tag", "v1"]).replace("first", "other");
    let forged = yard.dir.path().join("forged");
    std::fs::write(&forged, format!("{text}\n")).unwrap();
    let forged = git(
        &workspace,
        &["hash-object", "-t", "tag", "-w", forged.to_str().unwrap()],
    );
    git(&workspace, &["update-ref", "refs/tags/forged", &forged]);
    let body = json!({ "action": "verify", "name": "forged" });
    let verified = yard.verb("main", "tag", body).await;
    assert_eq!(verified["signature"]["verdict"], "bad");
    // Nobody is known by now.
    std::fs::write(&signers, "").unwrap();
    let verified = yard.verb("main", "tag", verify).await["signature"].clone();
    assert_eq!(
        (&verified["verdict"], verified.get("signer")),
        (&json!("unknown_key"), None)
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_key_that_cannot_be_used_is_told() {
    let mut yard = with_key().await;
    std::fs::remove_file(yard.dir.path().join("signing_key")).unwrap();
    std::fs::remove_file(yard.dir.path().join("signing_key.pub")).unwrap();
    let head = git(&yard.workspace("main"), &["rev-parse", "HEAD"]);
    let body = json!({ "message": "m", "allow_empty": true });
    let (status, code, problem) = refused(&yard, "main", "commit", body).await;
    assert_eq!(
        (status, code.as_str()),
        (409, "signing_failed"),
        "{problem}"
    );
    let body = json!({ "action": "create", "name": "v1", "message": "m" });
    let (status, code, _) = refused(&yard, "main", "tag", body).await;
    assert_eq!((status, code.as_str()), (409, "signing_failed"));
    assert_eq!(git(&yard.workspace("main"), &["rev-parse", "HEAD"]), head);
    yard.stop().await;
}
