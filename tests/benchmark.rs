//! Every group of `make bench`, with one round of sizes that take no time: so that none of them can rot.
//! What is measured is checked there; no time is asserted.

#![allow(unreachable_pub, reason = "no other package uses what is here")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../benches/groups/mod.rs"]
mod groups;
#[path = "../benches/measure/mod.rs"]
#[expect(dead_code, reason = "the report is written by the benchmark alone")]
mod measure;
#[path = "../benches/setting/mod.rs"]
mod setting;
#[path = "yard/support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the benchmark needs a part of what the tests need"
)]
mod support;

use measure::{Report, Scale};

/// Measures these groups; each must have told something.
async fn smoke(groups: &[&str]) {
    let mut report = Report::new(Scale::smoke());
    for name in groups {
        groups::run(name, &mut report).await;
    }
    report.conclude();
    let told = serde_json::to_value(&report).unwrap();
    let [rows, skipped] = ["rows", "skipped"].map(|list| told[list].as_array().unwrap());
    for name in groups {
        let has_rows = rows.iter().any(|row| row["group"] == *name);
        let says_why = |why: &serde_json::Value| why.as_str().unwrap().starts_with(name);
        assert!(
            has_rows || skipped.iter().any(says_why),
            "{name} told nothing"
        );
    }
    for row in rows {
        assert!(row["yard"]["median"].is_number(), "{row}");
        assert_eq!(row["plain"].is_null(), row["ratio"].is_null(), "{row}");
        assert_eq!(row["target"].is_null(), row["met"].is_null(), "{row}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bench_workspaces_warm_submodules_prepare_and_reads() {
    smoke(&["workspaces", "warm", "submodules", "prepare", "reads"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bench_runs_versions_and_streaming() {
    smoke(&["runs", "versions", "streaming"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bench_growth_memory_and_pipelines() {
    smoke(&["growth", "memory", "pipelines"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bench_mcp_salvage_listing_and_instructions() {
    smoke(&["mcp", "salvage", "listing", "instructions"]).await;
}

/// None is left out above.
#[test]
fn every_group_is_smoked() {
    let source = include_str!("benchmark.rs");
    for name in groups::NAMES {
        assert!(source.contains(&format!("{name:?}")), "{name}");
    }
}
