//! Webhooks: whose they are, what they start, and what they do not.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{ON_PUSH, PIPELINES, auto};
use crate::support::{Options, Yard, problem_of};

const SECRET: &str = "a secret of sixteen or more";

/// A yard that hears of what is new by webhooks alone.
async fn hooked(workflow: &str, pipelines: &str) -> Yard {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.workflow("ci.yml", workflow);
    start_hooked(&mut yard, pipelines, Options::default()).await;
    yard
}

/// Starts such a yard, and waits until it has looked at its remote.
pub(super) async fn start_hooked(yard: &mut Yard, pipelines: &str, more: Options) {
    let file = yard.dir.path().join("hook-secret");
    std::fs::write(&file, format!("{SECRET}\n")).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let options = auto(&format!("poll = \"1h\"\n{pipelines}"));
    yard.configure(Options {
        repo: format!("webhook_secret_file = {file:?}\n{}", options.repo),
        ..more
    });
    yard.start().await;
    yard.looked().await;
}

fn signature(body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let tag = mac.finalize().into_bytes();
    let hex: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

impl Yard {
    /// Sends a webhook as GitHub does; the status.
    async fn hook(
        &self,
        repo: &str,
        event: &str,
        body: &str,
        signature: &str,
    ) -> reqwest::Response {
        let request = self
            .client
            .post(format!("{}/hooks/{repo}", self.url))
            .header("x-github-event", event)
            .header("x-hub-signature-256", signature)
            .header("content-type", "application/json")
            .body(body.to_owned());
        request.send().await.unwrap()
    }

    async fn signed_hook(&self, event: &str, body: &Value) -> u16 {
        let body = body.to_string();
        let answer = self.hook("demo", event, &body, &signature(&body)).await;
        answer.status().as_u16()
    }
}

fn pull(number: u64, head: &str, base: &str) -> Value {
    json!({
        "action": "opened",
        "number": number,
        "pull_request": {
            "number": number, "title": "A change", "state": "open",
            "head": { "ref": head }, "base": { "ref": base },
        },
    })
}

#[tokio::test]
async fn a_signed_hook_has_the_remote_asked_and_others_are_refused_alike() {
    let mut yard = hooked(ON_PUSH, "").await;
    let commit = yard.origin.branch("feature/x");
    let body = json!({ "ref": "refs/heads/feature/x" }).to_string();
    let mut refusals = Vec::new();
    for (repo, signature) in [
        ("demo", signature("another body")),
        ("demo", String::new()),
        ("demo", "sha256=".to_owned()),
        ("nowhere", signature(&body)),
    ] {
        let (status, mut problem) =
            problem_of(yard.hook(repo, "push", &body, &signature).await).await;
        problem.as_object_mut().unwrap().remove("instance");
        refusals.push((status, problem));
    }
    assert_eq!(refusals[0].0, 401);
    assert!(
        refusals.iter().all(|refusal| *refusal == refusals[0]),
        "{refusals:#?}"
    );
    assert_eq!(yard.get_json(PIPELINES).await["items"], json!([]));
    for _ in 0..3 {
        assert_eq!(
            yard.hook("demo", "push", &body, &signature(&body))
                .await
                .status(),
            202
        );
    }
    let only = yard.ended_pipelines(1).await.remove(0);
    assert_eq!(
        (&only["commit"], &only["principal"]),
        (&json!(commit), &json!("hook"))
    );
    yard.asked_by_hook().await;
    assert_eq!(yard.ended_pipelines(1).await.len(), 1);
    let large = "x".repeat((5 << 20) + 1);
    let refused = yard.hook("demo", "push", &large, &signature(&large)).await;
    assert_eq!(refused.status(), 413);
    assert_eq!(yard.signed_hook("ping", &json!({ "zen": "…" })).await, 202);
    yard.stop().await;
}

#[tokio::test]
async fn a_pull_request_starts_one_pipeline_a_commit_and_one_from_a_fork_none() {
    let workflow = r#"
on: {pull_request: {branches: [main]}}
jobs:
  test:
    runs-on: linux
    steps:
      - run: echo "$GITHUB_REF $GITHUB_BASE_REF $GITHUB_HEAD_REF $ACTION $NUMBER $TITLE"
        env:
          ACTION: ${{ github.event.action }}
          NUMBER: ${{ github.event.pull_request.number }}
          TITLE: ${{ github.event.pull_request.title }}
"#;
    let mut yard = hooked(workflow, "").await;
    let opened = |yard: &Yard, number: u64| {
        yard.origin.git(&[
            "push",
            "-q",
            "-f",
            "origin",
            &format!("HEAD:refs/pull/{number}/head"),
        ]);
    };
    yard.origin.branch("topic");
    opened(&yard, 7);
    assert_eq!(
        yard.signed_hook("pull_request", &pull(7, "topic", "main"))
            .await,
        202
    );
    let first = yard.ended_pipelines(1).await.remove(0);
    assert_eq!(
        (&first["branch"], &first["ref"]),
        (&json!("pull/7"), &json!("refs/pull/7/head"))
    );
    assert_eq!(
        yard.said(&first).await,
        "refs/pull/7/head main topic opened 7 A change\n"
    );
    // Told of again, from a fork, for another base, and closed.
    assert_eq!(
        yard.signed_hook("pull_request", &pull(7, "topic", "main"))
            .await,
        202
    );
    yard.origin.at("main");
    yard.origin.write("stranger.txt", "x");
    yard.origin.commit("from a fork");
    opened(&yard, 8);
    assert_eq!(
        yard.signed_hook("pull_request", &pull(8, "main", "main"))
            .await,
        202
    );
    assert_eq!(
        yard.signed_hook("pull_request", &pull(9, "gone", "main"))
            .await,
        202
    );
    yard.asked_by_hook().await;
    assert_eq!(yard.ended_pipelines(1).await.len(), 1);
    // A new commit, and then the old hook once more.
    yard.origin.at("origin/topic");
    yard.origin.write("more.txt", "x");
    let next = yard.origin.commit("more");
    yard.origin.push("topic");
    opened(&yard, 7);
    for _ in 0..2 {
        assert_eq!(
            yard.signed_hook("pull_request", &pull(7, "topic", "main"))
                .await,
            202
        );
    }
    let second = yard.ended_pipelines(2).await.remove(1);
    assert_eq!(second["commit"], json!(next));
    assert!(yard.said(&second).await.contains(" synchronize 7 "));
    // One that a person asks for by its number.
    let asked = yard
        .post_json(
            PIPELINES,
            json!({ "branch": "pull/8", "event": "pull_request" }),
        )
        .await;
    assert_eq!(asked["ref"], "refs/pull/8/head");
    yard.ended_pipelines(3).await;
    yard.stop().await;
}

#[tokio::test]
async fn many_pushes_and_hooks_at_once_start_one_pipeline_for_each_head_that_was_seen() {
    let mut yard = hooked(ON_PUSH, "").await;
    let mut heads = Vec::new();
    for push in 0..50 {
        yard.origin.at("main");
        yard.origin.write("push.txt", push.to_string());
        heads.push(yard.origin.commit("push"));
        yard.origin.push("busy");
        if push % 5 == 0 {
            yard.signed_hook("push", &json!({})).await;
        }
    }
    yard.signed_hook("push", &json!({})).await;
    let last = json!(heads.last().unwrap());
    let page = yard
        .until_json(PIPELINES, |page| {
            let items = page["items"].as_array().unwrap();
            items.iter().any(|it| it["commit"] == last)
                && items.iter().all(|it| it["ended_at"].is_string())
        })
        .await;
    let items = page["items"].as_array().unwrap();
    let mut commits: Vec<_> = items.iter().map(|it| it["commit"].to_string()).collect();
    let all = commits.len();
    commits.sort();
    commits.dedup();
    assert_eq!(commits.len(), all, "a head has several pipelines");
    yard.stop().await;
}

impl Yard {
    /// Has the remote asked once more, by a signed hook.
    pub(super) async fn asked_by_hook(&self) {
        let before = self.get_json("/api/repos/demo").await["watch"]["looked_at"].clone();
        self.signed_hook("push", &json!({})).await;
        self.until_json("/api/repos/demo", |repo| {
            repo["watch"]["looked_at"] != before
        })
        .await;
    }
}

#[tokio::test]
async fn a_flood_of_forged_hooks_starts_nothing_and_keeps_no_one_waiting() {
    let mut yard = hooked(ON_PUSH, "").await;
    yard.origin.branch("feature/x");
    let looked = yard.get_json("/api/repos/demo").await["watch"]["looked_at"].clone();
    let mut at_once = tokio::task::JoinSet::new();
    for nth in 0..1000 {
        let request = yard
            .client
            .post(format!(
                "{}/hooks/{}",
                yard.url,
                ["demo", "nowhere"][nth % 2]
            ))
            .header("x-github-event", "push")
            .header("x-hub-signature-256", signature(&format!("not {nth}")))
            .body("{}");
        at_once.spawn(async move { request.send().await.unwrap().status().as_u16() });
    }
    assert_eq!(yard.get("/healthz").await.status(), 200);
    assert_eq!(yard.get_json(PIPELINES).await["items"], json!([]));
    let statuses = at_once.join_all().await;
    assert!(
        statuses
            .iter()
            .all(|status| [401, 429, 503].contains(status)),
        "{statuses:?}"
    );
    let repo = yard.get_json("/api/repos/demo").await;
    assert_eq!(repo["watch"]["looked_at"], looked);
    // A genuine one is heard all the same.
    assert_eq!(yard.signed_hook("push", &json!({})).await, 202);
    yard.ended_pipelines(1).await;
    yard.stop().await;
}
