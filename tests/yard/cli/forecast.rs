//! What a pipeline would do, told to people and to agents.

use serde_json::json;

use super::cli;
use crate::support::{Agent, Yard};

#[tokio::test(flavor = "multi_thread")]
async fn people_and_agents_are_told_the_same() {
    let mut yard = Yard::new().await;
    let workflow = "on: push\njobs: {a: {runs-on: linux, steps: [{run: cat name.txt}]}}\n";
    yard.origin.workflow("ci.yml", workflow);
    let run = ["pipeline", "run", "demo", "main"];
    let check = ["pipeline", "run", "demo", "main", "--check"];
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "pipelines")]);
    let asked = json!({"repo": "demo", "branch": "main", "check": true});

    let said = cli(&yard, &check).await.ok();
    assert_eq!(said.cells(), [["a", "run", ""]]);
    cli(&yard, &run).await.ok();
    let said = cli(&yard, &check).await.ok();
    let [cells] = &said.cells()[..] else {
        panic!("{said:?}");
    };
    assert_eq!(cells[..2], ["a", "reuse"]);
    assert!(cells[2].starts_with("by a of pipeline "), "{said:?}");
    let told = agent.call("pipelines", asked.clone()).await;
    assert_eq!(
        (&told["valid"], &told["jobs"][0]["would"]),
        (&json!(true), &json!("reuse"))
    );

    yard.origin.workflow("ci.yml", "on: push\njobs: 1\n");
    let said = cli(&yard, &check).await;
    assert_eq!(said.code, 1);
    assert!(
        said.text()
            .starts_with(".branchyard/workflows/ci.yml:2:7: "),
        "{said:?}"
    );
    let told = agent.call("pipelines", asked).await;
    assert_eq!(
        (&told["valid"], &told["problems"][0]["line"]),
        (&json!(false), &json!(2))
    );
    yard.stop().await;
}
