//! `go test -json`: one event a line.

use std::collections::HashMap;

use serde::Deserialize;

use super::{Producer, Total};
use crate::case::named;
use crate::excerpt::{MessageText, name};
use crate::kept::KeptTests;
use crate::seconds;
use crate::source_line::SourceLine;
use branchyard_model::{TestCase, TestState};

/// So many tests and packages are followed at once. What is beyond has no message.
const MOST_RUNNING: usize = 1024;

/// The name of what failed in a package outside of any test: its build, or its `TestMain`.
const PACKAGE: &str = "[package]";

#[derive(Default)]
pub(super) struct GoTest {
    run: Option<KeptTests>,
    /// What is printed by tests that have not ended, and by packages and builds.
    output: HashMap<(String, String), MessageText>,
    /// How many tests failed in packages that have not ended.
    failed: HashMap<String, u64>,
    /// Packages that an older `go` names in plain text, as they did not build.
    not_built: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    import_path: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    failed_build: String,
    elapsed: Option<f64>,
}

impl Producer for GoTest {
    fn line(&mut self, line: &str, _: &mut Total) -> bool {
        if let Some(package) = not_built(line) {
            if self.not_built.len() < MOST_RUNNING {
                self.not_built.push(name(package));
            }
            // Whether it is one is only sure once there are events.
            return false;
        }
        if !line.starts_with('{') || !line.contains("\"Action\":\"") {
            return false;
        }
        let Ok(event) = serde_json::from_str::<GoEvent>(line) else {
            return false;
        };
        self.event(&event)
    }

    fn finish(&mut self, total: &mut Total) {
        let Some(mut run) = self.run.take() else {
            return;
        };
        for package in self.not_built.drain(..) {
            let mut case = named(&package, PACKAGE, TestState::Failed);
            case.message = Some("build failed".to_owned());
            run.add(case);
        }
        total.absorb(run);
    }
}

impl GoTest {
    fn event(&mut self, event: &GoEvent) -> bool {
        let is_build = event.action.starts_with("build-");
        let of = match is_build {
            true => &event.import_path,
            false => &event.package,
        };
        if of.is_empty() {
            return false;
        }
        let id = (name(of), name(&event.test));
        let state = match event.action.as_str() {
            "pass" => TestState::Passed,
            "fail" => TestState::Failed,
            "skip" => TestState::Skipped,
            "output" | "build-output" => {
                self.print(id, &event.output);
                return true;
            }
            "start" | "run" | "pause" | "cont" | "bench" | "build-fail" => return true,
            _ => return false,
        };
        match event.test.is_empty() {
            true => self.end_package(event, state),
            false => self.end_test(event, state),
        }
        true
    }

    fn print(&mut self, id: (String, String), output: &str) {
        let said = output.trim_start();
        let is_frame = ["=== ", "--- "].iter().any(|sign| said.starts_with(sign));
        let has_room = self.output.len() < MOST_RUNNING || self.output.contains_key(&id);
        if !is_frame && has_room {
            self.output.entry(id).or_default().push(output);
        }
    }

    fn end_test(&mut self, event: &GoEvent, state: TestState) {
        let mut case = named(&event.package, &event.test, state);
        let id = (case.suite.clone(), case.name.clone());
        let output = self.output.remove(&id).unwrap_or_default();
        case.ms = event
            .elapsed
            .and_then(|time| seconds::millis(&time.to_string()));
        if state != TestState::Passed {
            set_message(&mut case, &output);
        }
        let is_known = self.failed.contains_key(&case.suite);
        if state == TestState::Failed && (is_known || self.failed.len() < MOST_RUNNING) {
            *self.failed.entry(case.suite.clone()).or_default() += 1;
        }
        self.run.get_or_insert_with(KeptTests::of_run).add(case);
    }

    /// A package that fails though none of its tests did is told as a test: else nothing would tell of it.
    fn end_package(&mut self, event: &GoEvent, state: TestState) {
        let run = self.run.get_or_insert_with(KeptTests::of_run);
        let package = name(&event.package);
        let failed = self.failed.remove(&package).unwrap_or(0);
        let printed = self.output.remove(&(package, String::new()));
        let built = self
            .output
            .remove(&(name(&event.failed_build), String::new()));
        if state == TestState::Failed && failed == 0 {
            let mut case = named(&event.package, PACKAGE, TestState::Failed);
            set_message(&mut case, &built.or(printed).unwrap_or_default());
            run.add(case);
        }
    }
}

/// `    sample_test.go:8: expected`
fn set_message(case: &mut TestCase, output: &MessageText) {
    case.message = output.finish();
    let mut lines = output.as_str().lines();
    let at = lines.find_map(|line| {
        let (place, _) = line.trim_start().split_once(": ")?;
        SourceLine::parse(place).filter(|at| at.file.ends_with(".go"))
    });
    if let Some(at) = at {
        (case.file, case.line) = (Some(at.file), Some(at.line));
    }
}

/// `FAIL example.com/sample/broken [build failed]`, with a tab.
fn not_built(line: &str) -> Option<&str> {
    let said = line.strip_prefix("FAIL\t")?;
    said.strip_suffix(" [build failed]")
        .or(said.strip_suffix(" [setup failed]"))
}
