//! A secret is refused to branches that it is not for, and no caller takes its place.

use serde_json::json;

use super::{KEY, NPM, assert_clean, command, digest, keep_key, options, yard};
use crate::support::{Agent, problem_of, text_of, warnings_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_a_secret_is_not_for_does_without() {
    let mut yard = yard();
    // Known to somebody who was never given it, and printed where it is not given.
    let turned = NPM.replace("S3cret", "F3perg");
    let leak = format!("leak:\n\t@echo '<{turned}>' | sed s/F3perg/S3cret/\n");
    yard.origin.at("main");
    yard.origin
        .write("Makefile", format!("{}{leak}", super::MAKEFILE));
    yard.origin.commit("leak");
    yard.origin.push("feature/x");
    let mut daemon = yard.start_binary(&[("NPM", NPM)]).await;

    for (branch, secret, branches) in [
        ("feature/x", "deploy-key", "main"),
        ("release/1", "deploy-key", "main"),
    ] {
        let path = format!(
            "/stream/repos/demo/branches/{}/task",
            crate::support::encode(branch)
        );
        let refused = yard.post(&path, json!({ "task": "publish" })).await;
        let (status, problem) = problem_of(refused).await;
        assert_eq!((status, &problem["code"]), (403, &json!("secret_refused")));
        assert_eq!(problem["field"], "branch");
        let detail = format!(
            "the task publish needs the secret {secret}, which {branch} may not have: it is for {branches}"
        );
        assert_eq!(problem["detail"], detail);
        assert_clean("a problem", problem.to_string().as_bytes());
    }
    let agent = Agent::new(&yard);
    let asked = json!({"repo": "demo", "branch": "feature/x", "task": "hold"});
    let refusal = agent.refusal("task", asked).await;
    assert!(refusal.contains("it is for main, release/*"), "{refusal}");
    let (code, said) = command(&yard, &["task", "demo", "feature/x", "hold"]).await;
    assert_eq!(code, Some(125), "{said}");
    assert!(
        said.contains("the secret npm, which feature/x may not have"),
        "{said}"
    );
    let runs = yard.get_json("/api/runs").await;
    assert_eq!(runs["items"], json!([]), "nothing was started");

    let events = yard.make("feature/x", &["show"]).await;
    assert_eq!(warnings_of(&events), ["secret_withheld"]);
    let warning = events.iter().find(|event| event.kind == "warning").unwrap();
    let message =
        "NPM_TOKEN is not set: the secret npm is for main, release/*, and this is feature/x";
    assert_eq!(warning.data["message"], message);
    assert_eq!(text_of(&events), "token=[unset] key=[unset]\n");
    // Make is given what it was granted, and not what the task was.
    for branch in ["main", "release/1"] {
        let events = yard.make(branch, &["show"]).await;
        assert_eq!(warnings_of(&events), Vec::<&str>::new());
        assert_eq!(text_of(&events), "token=[***] key=[unset]\n", "{branch}");
    }
    let events = yard.make("feature/x", &["leak"]).await;
    assert_eq!(
        text_of(&events),
        "<***>\n",
        "hidden in every run of the repo"
    );
    let git = json!({"operation": "log", "args": ["-1", "--format=%s"]});
    let events = yard.run("git", "feature/x", git).await;
    assert_eq!(warnings_of(&events), Vec::<&str>::new());

    for branch in ["main", "feature%2Fx"] {
        for (kind, mut body, field) in [
            ("make", json!({"env": {"NPM_TOKEN": "x"}}), "env.NPM_TOKEN"),
            ("make", json!({"args": ["NPM_TOKEN=x"]}), "args"),
            (
                "make",
                json!({"args": ["show", "--", "NPM_TOKEN+=x"]}),
                "args",
            ),
            ("make", json!({"args": "NPM_TOKEN::=x"}), "args"),
            ("task", json!({"env": {"NPM_TOKEN": "x"}}), "env.NPM_TOKEN"),
        ] {
            if kind == "task" {
                body["task"] = json!("hold");
            }
            let path = format!("/stream/repos/demo/branches/{branch}/{kind}");
            let (status, problem) = problem_of(yard.post(&path, body.clone()).await).await;
            match (kind, branch) {
                ("task", "feature%2Fx") => assert_eq!(status, 403, "{problem}"),
                _ => {
                    assert_eq!(status, 400, "{body}: {problem}");
                    assert_eq!(problem["field"], field, "{body}: {problem}");
                }
            }
        }
    }
    let own = json!({"args": ["show", "TOKEN=x"], "env": {"NPM_TOKEN_2": "x"}});
    let events = yard.run("make", "main", own).await;
    assert_eq!(text_of(&events), "token=[unset] key=[unset]\n");
    assert_eq!(warnings_of(&events), ["secret_withheld"]);
    daemon.stop().await;
    assert_clean("the log", daemon.said.join("\n").as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_secret_a_run_does_not_start() {
    let mut yard = yard();
    let mut daemon = yard.start_binary(&[("NPM", NPM)]).await;
    for (key, mode, why) in [
        (KEY, 0o644, "chmod 600"),
        ("short", 0o600, "shorter than 8 bytes"),
    ] {
        keep_key(&yard, key, mode);
        let events = yard.run("task", "main", json!({ "task": "publish" })).await;
        let end = events.last().unwrap();
        assert_eq!(
            (end.kind.as_str(), &end.data["code"]),
            ("error", &json!("secret_unreadable"))
        );
        let told = end.data.to_string();
        assert!(
            told.contains("the secret deploy-key cannot be read"),
            "{told}"
        );
        assert!(!told.contains(yard.dir.path().to_str().unwrap()), "{told}");
        assert_eq!(text_of(&events), "", "nothing ran");
        let run = events[0].data["run_id"].as_str().unwrap();
        let record = yard.get_json(&format!("/api/runs/{run}")).await;
        assert_eq!(record["state"], "rejected", "{record}");
        daemon.until_said(why).await;
        // What is not given to it keeps no run from starting.
        let events = yard.make("main", &["show"]).await;
        assert_eq!(text_of(&events), "token=[***] key=[unset]\n");
    }
    keep_key(&yard, KEY, 0o600);
    let events = yard.run("task", "main", json!({ "task": "publish" })).await;
    assert!(text_of(&events).contains(&digest(KEY.trim_end())));
    daemon.stop().await;
    assert_clean("the log", daemon.said.join("\n").as_bytes());
}

/// What is at work there could turn a declared command into one of its own.
#[tokio::test(flavor = "multi_thread")]
async fn beside_a_command_in_the_background_none_is_given() {
    let mut yard = yard();
    let mut with_code = options(&yard, "\"main\"");
    with_code
        .tables
        .push_str("[code]\nwithout_sandbox = true\n");
    yard.configure(with_code);
    let mut daemon = yard.start_binary(&[("NPM", NPM)]).await;
    let events = yard.make("main", &["show"]).await;
    assert_eq!(text_of(&events), "token=[***] key=[unset]\n");
    let helper = json!({"argv": ["sleep", "60"], "background": true});
    let mut helper = yard.start_run("exec", "main", helper).await;
    helper.until(|event| event.data["state"] == "running").await;

    for (kind, body) in [
        ("make", json!({ "args": ["show"] })),
        ("task", json!({ "task": "publish" })),
    ] {
        let events = yard.run(kind, "main", body).await;
        let end = &events.last().unwrap().data;
        assert_eq!(end["code"], "tainted", "{end}");
        assert!(end.to_string().contains("in the background"), "{end}");
    }
    yard.post_json(&format!("/api/runs/{}/cancel", helper.run_id()), json!({}))
        .await;
    helper.until(|event| event.kind == "complete").await;
    let events = yard.make("main", &["show"]).await;
    assert_eq!(text_of(&events), "token=[***] key=[unset]\n");
    daemon.stop().await;
}
