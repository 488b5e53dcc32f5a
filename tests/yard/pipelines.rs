//! Pipelines, from the request to the last artifact: real workflow files, jobs in scratch worktrees, and all that may happen
//! to them.

mod artifact_files;
mod artifact_limits;
mod bounds;
mod cancel;
mod composite;
mod concurrency;
mod crash_points;
mod environment;
mod forecast;
mod held;
mod http;
mod job_secrets;
mod job_tests;
mod jobs;
mod kills;
mod lfs;
mod matrix;
mod own_keys;
mod refusals;
mod retry;
mod reuse;
mod reuse_trust;
mod run_artifacts;
mod sandboxed;
mod set_up;
mod slots;
mod snapshots;
mod steps;
mod submodules;
mod test_history;
mod weird_files;
mod worktree_attacks;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Options, Yard, json_of};

const FILE: &str = ".branchyard/workflows/ci.yml";

/// Where pipelines of the demo are started and listed.
const PIPELINES: &str = "/api/repos/demo/pipelines";

/// A pipeline that has ended.
struct Ended(Value);

impl Ended {
    fn id(&self) -> &str {
        self.0["pipeline_id"].as_str().unwrap()
    }

    fn state(&self) -> &str {
        self.0["state"].as_str().unwrap()
    }

    fn jobs(&self) -> &[Value] {
        self.0["jobs"].as_array().unwrap()
    }

    fn job(&self, id: &str) -> &Value {
        let found = self.jobs().iter().find(|job| job["job"] == id);
        found.unwrap_or_else(|| panic!("no job {id}: {:#}", self.0))
    }

    /// Each job with its state, such as `build succeeded`.
    fn states(&self) -> Vec<String> {
        let state = |job: &Value| format!("{} {}", text(&job["job"]), text(&job["state"]));
        self.jobs().iter().map(state).collect()
    }

    /// Each step of a job with its state.
    fn steps(&self, job: &str) -> Vec<String> {
        let steps = self.job(job)["steps"].as_array().unwrap();
        let state = |step: &Value| format!("{} {}", step["number"], text(&step["state"]));
        steps.iter().map(state).collect()
    }

    /// The run of a step, by its number.
    fn run(&self, job: &str, step: usize) -> &str {
        let step = &self.job(job)["steps"][step - 1];
        let run = step["run_id"].as_str();
        run.unwrap_or_else(|| panic!("no run: {step:#}"))
    }

    /// Fails unless it succeeded.
    #[track_caller]
    fn green(self) -> Self {
        assert_eq!(self.state(), "succeeded", "{:#}", self.0);
        self
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

impl Yard {
    /// Commits a workflow with these jobs and pushes it to `main`.
    fn jobs(&self, jobs: &str) -> String {
        self.workflow(&format!("on: workflow_dispatch\njobs:\n{jobs}"))
    }

    fn workflow(&self, text: &str) -> String {
        self.origin.write(FILE, text);
        let commit = self.origin.commit("workflow");
        self.origin.push("main");
        commit
    }

    /// Starts a pipeline; its id.
    async fn start_pipeline(&self, body: Value) -> String {
        let record = self.post_json(PIPELINES, body).await;
        text(&record["pipeline_id"]).to_owned()
    }

    async fn pipeline_ended(&self, id: &str) -> Ended {
        let path = format!("/api/pipelines/{id}?wait=100s");
        let record = self.get_json(&path).await;
        assert!(record["ended_at"].is_string(), "{record:#}");
        Ended(record)
    }

    async fn pipeline(&self, body: Value) -> Ended {
        let id = self.start_pipeline(body).await;
        self.pipeline_ended(&id).await
    }

    /// A pipeline of these jobs, at its end.
    async fn run_jobs(&self, jobs: &str) -> Ended {
        self.jobs(jobs);
        self.pipeline(json!({})).await
    }

    /// Waits until a job is in this state.
    async fn until_job(&self, pipeline: &str, job: &str, state: &str) -> Value {
        let path = format!("/stream/pipelines/{pipeline}");
        let request = self
            .request(reqwest::Method::GET, &path)
            .header("accept", "application/x-ndjson");
        let mut stream = crate::support::Following::new(request.send().await.unwrap());
        let is_it = |found: &Value| found["job"] == job && found["state"] == state;
        let event = stream.until(|event| match event.kind.as_str() {
            "job" => is_it(&event.data),
            _ => event.data["jobs"]
                .as_array()
                .is_some_and(|jobs| jobs.iter().any(is_it)),
        });
        event.await.data
    }

    /// What the step of an ended pipeline printed.
    async fn step_log(&self, pipeline: &Ended, job: &str, step: usize) -> String {
        self.log(pipeline.run(job, step)).await
    }

    /// A file that steps without a sandbox can write to, and the test can read.
    fn mark(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn marked(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.mark(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn pipeline_dir(&self, id: &str) -> PathBuf {
        self.workspaces.join(".branchyard/pipelines").join(id)
    }

    /// A file of an artifact.
    async fn artifact_file(&self, pipeline: &str, name: &str, path: &str) -> String {
        let path = format!("/api/pipelines/{pipeline}/artifacts/{name}/files/{path}");
        let response = self.get(&path).await;
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{status}: {text}");
        text
    }

    /// The scratch worktrees on disk, each with whether git knows it.
    fn scratch_worktrees(&self) -> Vec<String> {
        let names = |dir: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name().into_string().unwrap());
            let mut names: Vec<_> = names.filter(|name| name.starts_with("@scratch")).collect();
            names.sort();
            names
        };
        let on_disk = names(&self.workspaces.join("demo"));
        assert_eq!(names(&self.store().join("worktrees")), on_disk);
        on_disk
    }

    /// A request as another principal.
    async fn asked_by(
        &self,
        token: &str,
        method: reqwest::Method,
        path: &str,
        body: Option<Value>,
    ) -> reqwest::Response {
        let url = format!("{}{path}", self.url);
        let mut request = self.client.request(method, url).bearer_auth(token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }
}

/// With sandboxed steps.
fn contained() -> Options {
    Options {
        tables: "[sandbox]\nprofile = \"standard\"".to_owned(),
        ..Options::default()
    }
}

/// The problem with which a pipeline of this file is refused.
async fn refused(yard: &Yard, text: &str) -> Value {
    yard.workflow(text);
    let (status, problem) = crate::support::problem_of(yard.post(PIPELINES, json!({})).await).await;
    assert_eq!(status, 422, "{problem:#}");
    problem
}

async fn cancel(yard: &Yard, pipeline: &str) -> Value {
    let path = format!("/api/pipelines/{pipeline}/cancel");
    json_of(yard.post(&path, json!({})).await).await
}
