//! Completing what is typed.

use serde_json::{Value, json};

use crate::support::{Agent, Yard};

const FILES: &str = "workspace://{repo}/{branch}/{+path}";

async fn complete(agent: &Agent, subject: Value, argument: Value, chosen: Value) -> Value {
    let params = json!({
        "ref": subject, "argument": argument, "context": { "arguments": chosen },
    });
    let answer = agent.bounded("completion/complete", params).await.unwrap();
    answer["completion"].clone()
}

#[tokio::test]
async fn repos_branches_and_runs_are_completed() {
    let mut yard = Yard::new().await;
    for branch in ["feature/a", "feature/b"] {
        yard.origin.branch(branch);
    }
    let run = yard.make("feature/a", &["who"]).await[0].data["run_id"].clone();
    yard.make("main", &["who"]).await;
    // Made here, and nowhere else.
    let local = yard.put("/api/repos/demo/branches/local", json!({ "from": "main" }));
    assert!(local.await.status().is_success());
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        let prompt = |name: &str| json!({ "type": "ref/prompt", "name": name });
        let files = json!({ "type": "ref/resource", "uri": FILES });
        let logs = json!({ "type": "ref/resource", "uri": "run://{id}/log" });
        let of_demo = json!({ "repo": "demo" });
        let of_a = json!({ "repo": "demo", "branch": "feature/a" });
        for (subject, name, value, chosen, expected) in [
            (prompt("wrap_up"), "repo", "de", json!({}), json!(["demo"])),
            (prompt("wrap_up"), "repo", "x", json!({}), json!([])),
            (
                prompt("wrap_up"),
                "branch",
                "",
                of_demo.clone(),
                json!(["feature/a", "feature/b", "local", "main"]),
            ),
            (
                files.clone(),
                "branch",
                "fea",
                of_demo.clone(),
                json!(["feature/a", "feature/b"]),
            ),
            (files.clone(), "branch", "", json!({}), json!([])),
            (
                files.clone(),
                "branch",
                "",
                json!({ "repo": "none" }),
                json!([]),
            ),
            (files, "path", "", of_demo, json!([])),
            (
                prompt("fix_build"),
                "run_id",
                "",
                of_a.clone(),
                json!([run]),
            ),
            (logs, "id", &run.as_str().unwrap()[..30], of_a, json!([run])),
        ] {
            let argument = json!({ "name": name, "value": value });
            let found = complete(&agent, subject, argument, chosen).await;
            assert_eq!(found["values"], expected, "{name} {value}");
            assert_eq!(found["hasMore"], false);
        }
        let unknown = json!({
            "ref": prompt("else"), "argument": { "name": "repo", "value": "" },
        });
        let refused = agent
            .request("completion/complete", unknown)
            .await
            .unwrap_err();
        assert_eq!(refused["code"], -32602, "{refused}");
    }
    let fixed = Agent::with(&yard, &[("branchyard-repo", "demo")]);
    let subject = json!({ "type": "ref/prompt", "name": "wrap_up" });
    let argument = json!({ "name": "branch", "value": "ma" });
    let found = complete(&fixed, subject, argument, json!({})).await;
    assert_eq!(found["values"], json!(["main"]));
    yard.stop().await;
}

#[tokio::test]
async fn no_more_than_a_hundred_are_given() {
    let mut yard = Yard::new().await;
    for n in 0..120 {
        let name = format!("repo-{n:03}");
        let body = json!({ "name": name, "url": yard.origin.url() });
        yard.post_json("/api/repos", body).await;
    }
    let subject = json!({ "type": "ref/prompt", "name": "wrap_up" });
    let argument = json!({ "name": "repo", "value": "repo-" });
    let found = complete(&Agent::new(&yard), subject, argument, json!({})).await;
    let values = found["values"].as_array().unwrap();
    assert_eq!((values.len(), &values[0]), (100, &json!("repo-000")));
    assert_eq!(
        (&found["total"], &found["hasMore"]),
        (&json!(120), &json!(true))
    );
    yard.stop().await;
}

#[tokio::test]
async fn long_names_are_as_many_as_fit() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let refs = yard.store().join("refs/remotes/origin");
    for n in 0..100 {
        let name = format!("{n:03}{}", "x".repeat(230));
        std::fs::write(refs.join(name), format!("{}\n", yard.origin.head())).unwrap();
    }
    let agent = Agent::new(&yard);
    let wrap_up = json!({ "type": "ref/prompt", "name": "wrap_up" });
    let branch = json!({ "name": "branch", "value": "0" });
    let found = complete(&agent, wrap_up, branch, json!({ "repo": "demo" })).await;
    let shown = found["values"].as_array().unwrap().len();
    assert!((50..100).contains(&shown), "{shown}");
    assert_eq!(
        (&found["total"], &found["hasMore"]),
        (&json!(100), &json!(true))
    );
    yard.stop().await;
}
