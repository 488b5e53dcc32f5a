//! The packages, in a Node of their own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The answers to all of these, from one process.
pub(crate) fn ask<A: DeserializeOwned>(requests: &[impl Serialize]) -> Vec<A> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/oracle.mjs");
    // Nothing of the caller's environment reaches it: no proxy, no option for Node, no secret.
    let mut child = Command::new(installed("node"))
        .env_clear()
        .arg(script)
        .arg(installed("node_modules"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = Vec::new();
    for request in requests {
        serde_json::to_writer(&mut lines, request).unwrap();
        lines.push(b'\n');
    }
    let mut stdin = child.stdin.take().unwrap();
    // Both pipes can be full at once.
    let writer = std::thread::spawn(move || stdin.write_all(&lines));
    let ended = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(ended.status.success(), "the packages failed");
    let said = String::from_utf8(ended.stdout).unwrap();
    let answers: Vec<A> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), requests.len());
    answers
}

fn installed(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let place = target.join("clients").join(name);
    let packages = target.join("clients/node_modules/@actions/workflow-parser");
    for needed in [&place, &packages] {
        assert!(
            needed.exists(),
            "{} is missing: run `make setup` first",
            needed.display()
        );
    }
    place
}
