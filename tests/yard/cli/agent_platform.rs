//! What agents call on the platform that Branchyard replaces, each by HTTP, by MCP and by command. The table of that in
//! docs/PIPELINES.md is held to be what is called here.

use serde_json::{Value, json};

use super::{Said, cli};
use crate::support::{Agent, Options, Yard};

const GUIDE: &str = include_str!("../../../docs/PIPELINES.md");
const WORKFLOW: &str = "\
on: workflow_dispatch
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - {name: say, run: echo built}
      - uses: actions/upload-artifact@v4
        with: {name: dist, path: name.txt}
";
const LONG: &str = "\
on: workflow_dispatch
jobs:
  wait:
    runs-on: ubuntu-latest
    steps: [{run: sleep 1000}]
";

/// The row of the guide for a call of the other platform: HTTP, MCP, command.
#[track_caller]
fn guide(call: &str) -> [String; 3] {
    let start = format!("| `{call}` |");
    let row = GUIDE.lines().find(|line| line.starts_with(&start));
    let row = row.unwrap_or_else(|| panic!("the guide has no row for {call}"));
    let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
    let [_, http, mcp, command] = cells[..] else {
        panic!("not four cells: {row}");
    };
    [http, mcp, command].map(str::to_owned)
}

struct Flows {
    yard: Yard,
    agent: Agent,
}

impl Flows {
    /// By HTTP, where the guide says so.
    async fn get(&self, call: &str, documented: &str, path: &str) -> Value {
        assert!(guide(call)[0].contains(documented), "{call}: {documented}");
        self.yard.get_json(path).await
    }

    async fn post(&self, call: &str, documented: &str, (path, body): (&str, Value)) -> Value {
        assert!(guide(call)[0].contains(documented), "{call}: {documented}");
        self.yard.post_json(path, body).await
    }

    /// By a tool, where the guide says so.
    async fn tool(&self, call: &str, tool: &str, arguments: Value) -> Value {
        assert!(
            guide(call)[1].contains(&format!("`{tool}`")),
            "{call}: {tool}"
        );
        self.agent.call(tool, arguments).await
    }

    /// By command, where the guide says so.
    async fn command(&self, call: &str, args: &[&str]) -> Said {
        let documented = format!("`branchyard {} {}", args[0], args[1]);
        assert!(guide(call)[2].contains(&documented), "{call}: {documented}");
        cli(&self.yard, args).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_the_other_platform_has_one_here() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.origin.workflow("long.yml", LONG);
    yard.start().await;
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "build,pipelines")]);
    let flows = Flows { yard, agent };
    let pipelines = "/api/repos/demo/pipelines";
    let body = |file: &str| json!({ "branch": "main", "file": file });
    let run = |file: &str| json!({ "repo": "demo", "branch": "main", "file": file, "wait": 0 });

    let call = "trigger_pipeline";
    let start = "POST /api/repos/{repo}/pipelines";
    let by_http = flows.post(call, start, (pipelines, body("ci.yml"))).await;
    let by_tool = flows.tool(call, "pipeline_run", run("ci.yml")).await;
    let words = ["pipeline", "run", "demo", "main", "ci.yml", "--detach"];
    let by_command = flows.command(call, &words).await.ok();
    let ids = [&by_http, &by_tool].map(|it| it["pipeline_id"].as_str().unwrap().to_owned());
    let ids = [&ids[0], &ids[1], by_command.text().trim_end()];

    let call = "get_pipeline";
    let show = "GET /api/pipelines/{pipeline}";
    for id in ids {
        let path = format!("/api/pipelines/{id}?wait=50s");
        assert_eq!(flows.get(call, show, &path).await["state"], "succeeded");
        let of = json!({ "pipeline_id": id });
        assert_eq!(
            flows.tool(call, "pipelines", of).await["state"],
            "succeeded"
        );
        let shown = flows.command(call, &["pipeline", "show", id]).await.ok();
        assert!(shown.stderr.contains("succeeded in "), "{shown:?}");
    }
    let id = ids[0];

    let call = "list_pipelines";
    let list = "GET /api/repos/{repo}/pipelines";
    let listed = flows.get(call, list, pipelines).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 3);
    let listed = flows
        .tool(call, "pipelines", json!({ "repo": "demo" }))
        .await;
    assert_eq!(listed["pipelines"].as_array().unwrap().len(), 3);
    let listed = flows
        .command(call, &["pipeline", "list", "demo"])
        .await
        .ok();
    assert_eq!(listed.cells().len(), 3);

    let call = "get_step_logs";
    let record = flows.yard.get_json(&format!("/api/pipelines/{id}")).await;
    let run_id = record["jobs"][0]["steps"][0]["run_id"].as_str().unwrap();
    assert!(guide(call)[0].contains("GET /api/runs/{run}/log"));
    assert_eq!(flows.yard.log(run_id).await, "built\n");
    let log = flows
        .tool(call, "run_log", json!({ "run_id": run_id }))
        .await;
    assert_eq!(log["text"], "built\n");
    let words = ["pipeline", "log", id, "build", "--step", "1"];
    assert_eq!(flows.command(call, &words).await.ok().text(), "built\n");

    let call = "list_artifacts";
    let list = "GET /api/pipelines/{pipeline}/artifacts";
    let path = format!("/api/pipelines/{id}/artifacts");
    assert_eq!(
        flows.get(call, list, &path).await["items"][0]["name"],
        "dist"
    );
    let of = json!({ "action": "list", "pipeline_id": id });
    let listed = flows.tool(call, "artifacts", of).await;
    assert_eq!(listed["artifacts"][0]["name"], "dist");
    let listed = flows.command(call, &["artifact", "list", id]).await.ok();
    assert_eq!(listed.cells()[0][0], "dist");

    let call = "cancel_pipeline";
    for way in ["http", "tool", "command"] {
        let started = flows.yard.post_json(pipelines, body("long.yml")).await;
        let id = started["pipeline_id"].as_str().unwrap();
        match way {
            "http" => {
                let path = format!("/api/pipelines/{id}/cancel");
                let cancel = "POST /api/pipelines/{pipeline}/cancel";
                flows.post(call, cancel, (&path, json!({}))).await;
            }
            "tool" => {
                let of = json!({ "pipeline_id": id, "action": "cancel" });
                flows.tool(call, "pipeline_control", of).await;
            }
            _ => drop(flows.command(call, &["pipeline", "cancel", id]).await.ok()),
        }
        let path = format!("/api/pipelines/{id}?wait=50s");
        let ended = flows.yard.get_json(&path).await;
        assert_eq!(ended["state"], "cancelled", "{way}");
    }
    let Flows { mut yard, .. } = flows;
    yard.stop().await;
}
