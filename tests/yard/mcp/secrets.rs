//! What the operator set for builds never reaches an agent.

use serde_json::json;

use crate::support::{Agent, Options, Yard};

const SECRET: &str = "s3cr3t-of-the-operator";

#[tokio::test]
async fn a_secret_in_the_output_is_in_no_answer() {
    let mut yard = Yard::asleep(Options {
        repo: format!("env = {{ API_TOKEN = \"{SECRET}\" }}\n"),
        ..Options::default()
    });
    yard.origin.write(
        "Makefile",
        "all:\n\t@echo whole $$API_TOKEN; printf 's3cr3t-of'; sleep 0.2; echo '-the-operator'; \
         echo \"a.c:1:1: error: bad $$API_TOKEN\"; exit 1\n",
    );
    yard.origin.commit("tells");
    yard.origin.push("main");
    yard.start().await;
    let agent = Agent::new(&yard);
    let place = json!({ "repo": "demo", "branch": "main" });
    let made = agent.tool("make", place.clone()).await;
    assert!(made.to_string().contains("whole ***"), "{made}");
    let run = json!({ "run_id": made["structuredContent"]["run_id"] });
    let mut said = vec![made.to_string()];
    for (tool, arguments) in [
        ("run_wait", run.clone()),
        ("run_log", run.clone()),
        ("diagnostics", run.clone()),
        ("runs", json!({})),
        ("env", place),
    ] {
        said.push(agent.tool(tool, arguments).await.to_string());
    }
    let log = format!("run://{}/log", run["run_id"].as_str().unwrap());
    let read = agent
        .request("resources/read", json!({ "uri": log }))
        .await
        .unwrap();
    let prompt = json!({ "name": "fix_build", "arguments": run });
    let prompt = agent.request("prompts/get", prompt).await.unwrap();
    said.extend([read.to_string(), prompt.to_string()]);
    for text in said {
        assert!(
            !text.contains(SECRET) && !text.contains("-the-operator"),
            "{text}"
        );
    }
    yard.stop().await;
}
