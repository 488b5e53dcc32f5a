//! A bare repository whose hook tells of pushes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{RECIPES, WORKFLOW, YARD, block, sh};
use crate::support::secret_file;
use crate::support::{Options, Yard, git};

const PIPELINES: &str = "/api/repos/demo/pipelines";

#[tokio::test]
async fn a_push_to_a_bare_repository_starts_a_pipeline_by_its_hook() {
    let mut yard = Yard::asleep(Options::default());
    let secret = secret_file(&yard, "webhook-secret", "a secret of sixteen or more");
    yard.configure(Options {
        repo: format!(
            "webhook_secret_file = {secret:?}\n[repos.demo.pipelines]\nauto = true\npoll = \"1h\"\n"
        ),
        ..Options::default()
    });
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.start().await;
    yard.until_json("/api/repos/demo", |repo| {
        repo["watch"]["looked_at"].is_string()
    })
    .await;
    let hook = yard.origin.bare.join("hooks/post-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, block(RECIPES, "`hooks/post-receive`")).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let configure = block(RECIPES, "The hook finds the address")
        .replace(YARD, &yard.url)
        .replace(
            "/etc/branchyard/demo-webhook-secret",
            &secret.to_string_lossy(),
        );
    let output = sh(&yard.origin.bare, &configure, &[]).await;
    assert!(output.status.success(), "{output:?}");
    let commit = yard.origin.branch("feature/x");
    let page = yard
        .until_json(PIPELINES, |page| page["items"][0]["ended_at"].is_string())
        .await;
    let pipeline = &page["items"][0];
    assert_eq!(
        (&pipeline["commit"], &pipeline["principal"]),
        (&json!(commit), &json!("hook"))
    );
    // A push goes through whether or not anyone can be told of it.
    git(
        &yard.origin.bare,
        &[
            "config",
            "branchyard.hook",
            &format!("{}/hooks/nowhere", yard.url),
        ],
    );
    yard.origin.branch("feature/y");
    assert_eq!(
        yard.get_json(PIPELINES).await["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    yard.stop().await;
}
