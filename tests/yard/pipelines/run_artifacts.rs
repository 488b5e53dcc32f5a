//! Artifacts of make runs and tasks.

use serde_json::json;

use crate::support::{Options, Yard, problem_of};

#[tokio::test]
async fn what_a_run_that_succeeded_made_is_kept() {
    let mut yard = Yard::with(Options {
        repo: "artifacts = [\"dist/**\"]".to_owned(),
        ..Options::default()
    })
    .await;
    let makefile = "all:\n\tmkdir -p dist/sub; echo made > dist/sub/a.txt; ln -sf /etc/passwd dist/link\nbad: all\n\tfalse\n";
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("makes");
    yard.origin.push("main");
    let id = yard.start_detached("main", json!({"args": ["all"]})).await;
    let record = yard.ended(&id).await;
    assert_eq!(record["artifacts"], json!(["artifact"]), "{record:#}");
    let path = format!("/api/runs/{id}/artifacts");
    let listed = yard.get_json(&path).await;
    assert_eq!(
        listed["items"][0]["files"][0]["path"], "sub/a.txt",
        "{listed:#}"
    );
    let file = yard.get(&format!("{path}/artifact/files/sub/a.txt")).await;
    assert_eq!(file.text().await.unwrap(), "made\n");
    let failed = yard.start_detached("main", json!({"args": ["bad"]})).await;
    yard.ended(&failed).await;
    let listed = yard
        .get_json(&format!("/api/runs/{failed}/artifacts"))
        .await;
    assert_eq!(listed["items"], json!([]));
    let none = yard
        .get(&format!("/api/runs/{failed}/artifacts/artifact"))
        .await;
    assert_eq!(problem_of(none).await.1["code"], "artifact_not_found");
    yard.stop().await;
}
