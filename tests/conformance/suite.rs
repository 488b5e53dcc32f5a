//! The official conformance suite, against the daemon's own stack: gate, credential, sessions, limits.
//! Only the handler behind it has fixtures besides.

use std::collections::BTreeMap;
use std::path::Path;

use axum::extract::Request;
use axum::http::{HeaderValue, header};
use branchyard::mcp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::fixtures::Fixtures;
use crate::installed::{at, node, run};
use crate::support::{Options, Yard};

const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

#[tokio::test]
async fn the_suite_passes_for_the_older_protocol() {
    passes("2025-11-25", 30).await;
}

#[tokio::test]
async fn the_suite_passes_for_the_newer_protocol() {
    passes("2026-07-28", 37).await;
}

/// Runs what `revision` requires of a server: so many scenarios, each of which must have passed.
async fn passes(revision: &str, count: usize) {
    let mut yard = Yard::asleep(Options::default());
    let (server, listener) = yard.open().await;
    let close = CancellationToken::new();
    let fixtures = Fixtures::beside(mcp::Yard::new(server.app(), close.clone()));
    let mcp = mcp::serve(&server.app(), close.child_token(), move || {
        fixtures.for_session()
    });
    // The suite has no way to be given a key.
    let key: HeaderValue = format!("Bearer {}", yard.key()).parse().unwrap();
    let router = branchyard::http::router(server.app(), mcp).layer(axum::middleware::map_request(
        move |mut request: Request| {
            let headers = request.headers_mut();
            headers.insert(header::AUTHORIZATION, key.clone());
            std::future::ready(request)
        },
    ));
    let closing = close.clone().cancelled_owned();
    let serving = tokio::spawn(
        axum::serve(listener, router)
            .with_graceful_shutdown(closing)
            .into_future(),
    );

    let results = yard.dir.path().join("results");
    let mut suite = node();
    suite
        .arg(at(SUITE))
        .args(["server", "--requirements", revision, "--url"])
        .arg(format!("{}/mcp", yard.url))
        .arg("--output-dir")
        .arg(&results);
    let ended = run(suite).await;
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&ended.stderr)
    );

    let required = required(revision).await;
    assert_eq!(required.len(), count);
    let outcomes = outcomes(&results);
    for scenario in &required {
        let Some(checks) = outcomes.get(scenario) else {
            panic!("{scenario} was not run\n{said}");
        };
        assert!(
            checks.iter().any(|check| check["status"] == "SUCCESS"),
            "{scenario}: {checks:#?}"
        );
        for check in checks {
            let is_bad = check["status"] == "FAILURE" || check["status"] == "WARNING";
            assert!(!is_bad, "{scenario}: {check:#}");
        }
    }
    close.cancel();
    serving.await.unwrap().unwrap();
}

/// What the suite says that it requires of a server.
async fn required(revision: &str) -> Vec<String> {
    let mut list = node();
    list.arg(at(SUITE))
        .args(["list", "--requirements", revision]);
    let listed = String::from_utf8(run(list).await.stdout).unwrap();
    let servers = listed
        .lines()
        .skip_while(|line| !line.starts_with("Server"));
    let names = servers.skip(1).map_while(|line| line.strip_prefix("  - "));
    names.map(str::to_owned).collect()
}

/// The checks of every scenario that was run.
fn outcomes(results: &Path) -> BTreeMap<String, Vec<Value>> {
    let runs = std::fs::read_dir(results).unwrap();
    let runs = runs.map(|run| {
        let run = run.unwrap();
        let checks = std::fs::read(run.path().join("checks.json")).unwrap();
        // Such as server-tools-list-2026-11-15T10-00-00-000Z.
        let name = run.file_name().into_string().unwrap();
        let name = name.strip_prefix("server-").unwrap();
        let (name, _) = name.split_at(name.len() - "-2026-11-15T10-00-00-000Z".len());
        (name.to_owned(), serde_json::from_slice(&checks).unwrap())
    });
    runs.collect()
}
