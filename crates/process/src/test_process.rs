//! Tests that change their whole process, and so need one of their own.

use std::process::Command;

/// Runs the ignored test `name` of a module alone in another process. That it ran at all is part of passing.
pub(crate) fn assert_passes_alone(module: &str, name: &str) {
    let (_, module) = module.split_once("::").unwrap();
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{name}")])
        .args(["--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && said.contains("1 passed"),
        "{module}::{name}: {said}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}
