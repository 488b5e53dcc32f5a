//! Badges: one word of a branch, to everyone where the operator says so.

use crate::support::{Options, Yard, problem_of};

const WORKFLOW: &str = "on: push\njobs: {test: {runs-on: linux, steps: [{run: ./test}]}}\n";

impl Yard {
    /// Runs a pipeline to its end.
    async fn ended_pipeline(&self, body: serde_json::Value) {
        let begun = self.post_json("/api/repos/demo/pipelines", body).await;
        let path = format!(
            "/api/pipelines/{}?wait=50s",
            begun["pipeline_id"].as_str().unwrap()
        );
        assert!(self.get_json(&path).await["ended_at"].is_string());
    }

    /// What the badge says to those who have no credential.
    async fn badge(&self, query: &str) -> String {
        let request = self.client.get(format!("{}/badges/demo{query}", self.url));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "image/svg+xml");
        assert_eq!(answer.headers()["cache-control"], "no-cache, max-age=0");
        let picture = answer.text().await.unwrap();
        assert!(picture.starts_with("<svg "), "{picture}");
        let title = picture.split("<title>build: ").nth(1).unwrap();
        title.split("</title>").next().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_badge_says_how_the_newest_builds_of_a_branch_went() {
    let mut yard = Yard::with(Options {
        repo: "badge = true".to_owned(),
        ..Options::default()
    })
    .await;
    assert_eq!(yard.badge("").await, "unknown");
    yard.make("main", &["who"]).await;
    assert_eq!(yard.badge("").await, "passing");
    yard.make("main", &["no-such-target"]).await;
    assert_eq!(yard.badge("?branch=main").await, "failing");

    for (command, said) in [("exit 1", "failing"), ("exit 0", "passing")] {
        yard.origin
            .workflow("ci.yml", &WORKFLOW.replace("./test", command));
        yard.ended_pipeline(serde_json::json!({ "branch": "main" }))
            .await;
        assert_eq!(yard.badge("").await, said);
        assert_eq!(yard.badge("?file=ci.yml").await, said);
        assert_eq!(yard.badge("?file=other.yml").await, "unknown");
    }
    // What is not committed says nothing of the branch, and each file counts.
    yard.make("main", &["who"]).await;
    std::fs::write(
        yard.workspace("main").join(".branchyard/workflows/ci.yml"),
        WORKFLOW.replace("./test", "exit 1"),
    )
    .unwrap();
    yard.ended_pipeline(serde_json::json!({ "branch": "main", "source": "workspace" }))
        .await;
    assert_eq!(yard.badge("").await, "passing");
    yard.origin
        .workflow("other.yml", &WORKFLOW.replace("./test", "exit 1"));
    yard.ended_pipeline(serde_json::json!({ "branch": "main", "file": "other.yml" }))
        .await;
    yard.ended_pipeline(serde_json::json!({ "branch": "main", "file": "ci.yml" }))
        .await;
    assert_eq!(yard.badge("").await, "failing");
    assert_eq!(yard.badge("?file=ci.yml").await, "passing");
    assert_eq!(yard.badge("?branch=feature%2Fnone").await, "unknown");
    yard.stop().await;
}

#[tokio::test]
async fn a_repository_without_one_is_as_one_that_is_not_there() {
    let mut yard = Yard::new().await;
    let mut refusals = Vec::new();
    for repo in ["demo", "nowhere"] {
        let answer = yard
            .client
            .get(format!("{}/badges/{repo}", yard.url))
            .send();
        let (status, mut problem) = problem_of(answer.await.unwrap()).await;
        problem.as_object_mut().unwrap().remove("instance");
        refusals.push((status, problem));
    }
    assert_eq!(refusals[0].0, 404);
    assert_eq!(refusals[0], refusals[1]);
    yard.stop().await;
}
