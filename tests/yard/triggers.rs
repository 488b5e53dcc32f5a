//! What starts by itself: pushes, tags, pull requests and schedules, each exactly once.

mod badges;
mod hooks;
mod kills;
mod many_refs;
mod pushes;
mod recorded;
mod schedules;

use serde_json::Value;

use crate::support::{Options, Yard};

const PIPELINES: &str = "/api/repos/demo/pipelines";
const ON_PUSH: &str = "on: push\njobs: {test: {runs-on: linux, steps: [{run: \"true\"}]}}\n";

/// A yard that watches its repo, whose remote has a workflow file.
async fn watching(workflow: &str, pipelines: &str) -> Yard {
    let yard = Yard::asleep(auto(pipelines));
    yard.origin.workflow("ci.yml", workflow);
    let mut yard = yard;
    yard.start().await;
    yard.looked().await;
    yard
}

fn auto(pipelines: &str) -> Options {
    Options {
        repo: format!("[repos.demo.pipelines]\nauto = true\n{pipelines}"),
        ..Options::default()
    }
}

impl Yard {
    /// Waits until the remote was asked once.
    async fn looked(&self) {
        self.until_json("/api/repos/demo", |repo| {
            repo["watch"]["looked_at"].is_string()
        })
        .await;
    }

    pub async fn until_json(&self, path: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..600 {
            last = self.get_json(path).await;
            if is_it(&last) {
                return last;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("it never came to that: {last:#}");
    }

    /// Waits until there are so many pipelines that have ended, oldest first.
    async fn ended_pipelines(&self, count: usize) -> Vec<Value> {
        let has_ended = |item: &Value| item["ended_at"].is_string();
        let page = self
            .until_json(PIPELINES, |page| {
                let items = page["items"].as_array().unwrap();
                items.len() >= count && items.iter().all(has_ended)
            })
            .await;
        let mut items = page["items"].as_array().unwrap().clone();
        assert_eq!(items.len(), count, "{page:#}");
        items.reverse();
        items
    }

    /// What the first step of its first job printed.
    async fn said(&self, pipeline: &Value) -> String {
        let run = pipeline["jobs"][0]["steps"][0]["run_id"].as_str();
        self.log(run.unwrap_or_else(|| panic!("no run: {pipeline:#}")))
            .await
    }

    /// Has the remote asked once more than before, as a hook would.
    async fn asked_again(&self) {
        let before = self.get_json("/api/repos/demo").await["watch"]["looked_at"].clone();
        self.until_json("/api/repos/demo", |repo| {
            repo["watch"]["looked_at"] != before
        })
        .await;
    }
}
