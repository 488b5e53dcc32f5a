//! The Inspector's strict look at the tools: schemas that every client and model can take.

use serde_json::Value;

use crate::installed::{at, node, run};
use crate::support::Yard;

const INSPECTOR: &str =
    "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

#[tokio::test]
async fn the_inspector_finds_nothing_in_any_schema() {
    let mut yard = Yard::new().await;
    let mut inspector = node();
    inspector
        .env("HOME", yard.dir.path())
        .arg(at(INSPECTOR))
        .args(["--cli", &format!("{}/mcp", yard.url)])
        .args(["--transport", "http", "--format", "json"])
        .args(["--header", &format!("Authorization: Bearer {}", yard.key())])
        .args(["--header", "branchyard-toolsets: all"])
        .args(["--method", "tools/list", "--strict"]);
    let ended = run(inspector).await;
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{stderr}");
    let said: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let tools = said["result"]["tools"].as_array().unwrap();
    // Of the set that is offered last: all of them are here.
    assert!(tools.iter().any(|tool| tool["name"] == "repos"), "{said:#}");
    assert_eq!(said.get("schemaFindings"), None, "{stderr}");
    yard.stop().await;
}
