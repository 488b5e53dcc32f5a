//! What a run is given it has, and nobody sees it.

use reqwest::Method;
use serde_json::{Value, json};

use super::{KEY, NPM, RENEWED, assert_clean, assert_clean_below, command, digest, keep_key, yard};
use crate::support::{Agent, Yard, events_of, text_of};

#[track_caller]
fn assert_printed(said: &str, key: &str) {
    assert!(said.contains(&digest(NPM)), "it has the token: {said}");
    assert!(
        said.contains(&digest(key.trim_end())),
        "and the key: {said}"
    );
    for line in ["whole *** whole", "on stderr ***", "*** split", "> ***"] {
        assert!(said.contains(line), "no {line:?} in {said}");
    }
    assert_clean("what it printed", said.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_had_by_its_runs_and_seen_by_nobody() {
    let mut yard = yard();
    let mut daemon = yard.start_binary(&[("NPM", NPM)]).await;
    let events = yard.run("task", "main", json!({ "task": "publish" })).await;
    let end = &events.last().unwrap().data;
    assert_eq!(
        (&end["state"], &end["exit_code"]),
        (&json!("failed"), &json!(3))
    );
    assert_clean("a stream", format!("{events:?}").as_bytes());
    let stdout = events.iter().filter(|event| event.kind == "stdout");
    let stdout = text_of(&stdout.cloned().collect::<Vec<_>>());
    assert!(stdout.contains("split *** split\n"), "{stdout}");
    let run = events[0].data["run_id"].as_str().unwrap();
    look_at(&yard, run, KEY).await;

    // A renewed one is what the next run gets; every face tells as little as the other.
    keep_key(&yard, RENEWED, 0o600);
    let agent = Agent::new(&yard);
    let asked = json!({"repo": "demo", "branch": "main", "task": "publish"});
    let told = agent.tool("task", asked).await;
    assert_clean("an answer to an agent", told.to_string().as_bytes());
    let told = &told["structuredContent"];
    assert_eq!(told["state"], "failed", "{told}");
    look_at(&yard, told["run_id"].as_str().unwrap(), RENEWED).await;
    let (code, said) = command(&yard, &["task", "demo", "main", "publish"]).await;
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains(&digest(RENEWED)), "{said}");

    described(&yard, &agent).await;
    daemon.stop().await;
    assert!(daemon.said.iter().any(|line| line.contains("DEBUG")));
    assert_clean("the log", daemon.said.join("\n").as_bytes());
    assert!(assert_clean_below(&yard.workspaces) > 50);
}

/// All that is told of a run that printed its secrets.
async fn look_at(yard: &Yard, run: &str, key: &str) {
    for kind in ["text/event-stream", "application/x-ndjson", "text/plain"] {
        let request = yard.request(Method::GET, &format!("/stream/runs/{run}"));
        let answer = request.header("accept", kind).send().await.unwrap();
        let text = match kind {
            "text/plain" => answer.text().await.unwrap(),
            _ => text_of(&events_of(answer).await),
        };
        assert_printed(&text, key);
    }
    assert_printed(&yard.log(run).await, key);
    // Without the colours that mark a part of it, a secret would stand there whole.
    let plain = yard
        .get(&format!("/api/runs/{run}/log?strip_ansi=true"))
        .await;
    let plain = plain.text().await.unwrap();
    assert_printed(&plain, key);
    assert!(plain.contains("coloured ***"), "{plain}");
    let found = yard.get_json(&format!("/api/runs/{run}/diagnostics")).await;
    let message = found["items"][0]["message"].as_str().unwrap();
    assert!(message.contains("*** is no token"), "{found}");
    let record = yard.get_json(&format!("/api/runs/{run}")).await;
    assert_eq!(
        (&record["task"], &record["env"]),
        (&json!("publish"), &json!({}))
    );
    assert_clean("a record", record.to_string().as_bytes());
}

/// Where secrets are told of, they are told of by name.
async fn described(yard: &Yard, agent: &Agent) {
    let told = |branch: &str| format!("/api/repos/demo/branches/{branch}/env");
    let env = yard.get_json(&told("main")).await;
    let in_three = "(the secret npm in the task hold; the secret npm in make; the secret npm in the task publish)";
    assert_eq!(env["environment"]["NPM_TOKEN"], in_three);
    let env = yard.get_json(&told("release%2F1")).await;
    assert_eq!(env["environment"]["NPM_TOKEN"], in_three);
    let not_here = "(the secret deploy-key in the task publish, but not on this branch)";
    assert_eq!(env["environment"]["DEPLOY_KEY"], not_here);
    let env = agent
        .call("env", json!({"repo": "demo", "branch": "main"}))
        .await;
    assert!(env.to_string().contains(in_three), "{env}");
    assert_clean("an agent's env", env.to_string().as_bytes());
    let (_, env) = command(yard, &["env", "demo", "main"]).await;
    assert!(env.contains(in_three), "{env}");

    let file = yard.dir.path().join("yard.toml");
    let check = ["check-config", "--config", file.to_str().unwrap()];
    let (code, said) = command(yard, &check).await;
    assert_eq!(code, Some(0), "{said}");
    for line in [
        "publish has deploy-key in DEPLOY_KEY\n",
        "make has npm in NPM_TOKEN\n",
        "  secret      npm (for main, release/*)\n",
    ] {
        assert!(said.contains(line), "no {line:?} in {said}");
    }
    let (_, said) = command(yard, &[&check[..], &["--json"]].concat()).await;
    let said: Value = serde_json::from_str(&said).unwrap();
    let first = json!({"run": "hold", "variable": "NPM_TOKEN", "secret": "npm"});
    assert_eq!(said["repos"][0]["secrets"][0], first);
    assert_eq!(
        said["secrets"][1],
        json!({"name": "npm", "branches": ["main", "release/*"]})
    );
}
