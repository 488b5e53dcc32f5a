//! Workflow files: those in `files` and those of other tests, read by both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use branchyard_workflow::{
    EventKind, ExprValue, KeySupport, PlanFacts, PlannedJob, StepAction, Workflow, WorkflowEvent,
    WorkflowFault, WorkflowOptions, check, support_table,
};
use serde::{Deserialize, Serialize};

use crate::differences::names_on_the_page;
use crate::node::ask;

const FILE: &str = ".branchyard/workflows/ci.yml";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome<'c> {
    Accepted,
    Refused,
    /// The difference that the page names.
    Differs(&'c str),
}

struct Case<'c> {
    outcome: Outcome<'c>,
    name: String,
    text: String,
}

#[derive(Serialize)]
struct Request<'c> {
    file: RequestedFile<'c>,
}

#[derive(Serialize)]
struct RequestedFile<'c> {
    text: &'c str,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Reply {
    Errors { errors: Vec<ReplyError> },
    Jobs { jobs: Vec<ReplyJob> },
}

#[derive(Debug, Deserialize)]
struct ReplyError {
    line: usize,
    why: String,
}

#[derive(Debug, Deserialize)]
struct ReplyJob {
    id: String,
    needs: Vec<String>,
    steps: Vec<String>,
    /// Without what expressions make, which is null.
    strategy: ExprValue,
}

/// The cases of a file of them, each below a line `#### OUTCOME KIND: NAME`. The kind says what stands around its lines.
fn cases(text: &str) -> impl Iterator<Item = Case<'_>> {
    text.split("#### ").skip(1).map(|case| {
        let (head, lines) = case.split_once('\n').unwrap();
        let (head, name) = head.split_once(": ").unwrap();
        let (outcome, kind) = head.rsplit_once(' ').unwrap();
        Case {
            outcome: match outcome.split_once(' ') {
                None if outcome == "accepted" => Outcome::Accepted,
                None if outcome == "refused" => Outcome::Refused,
                Some(("differs", name)) => Outcome::Differs(name),
                _ => panic!("no outcome: {outcome}"),
            },
            name: format!("{kind}: {name}"),
            text: around(kind, lines),
        }
    })
}

fn around(kind: &str, lines: &str) -> String {
    let indented = |by: &str| -> String {
        let lines = lines.lines().map(|line| format!("{by}{line}\n"));
        lines.collect()
    };
    let job = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n";
    match kind {
        "file" => lines.to_owned(),
        "on" => {
            format!("{lines}jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps: [{{run: make}}]\n")
        }
        "job" => format!("{job}{}", indented("    ")),
        "step" => {
            let step = indented("        ").replacen("        ", "      - ", 1);
            format!(
                "{job}    strategy: {{matrix: {{a: [1]}}}}\n    steps:\n      - {{id: before, run: make}}\n{step}"
            )
        }
        _ => panic!("no kind: {kind}"),
    }
}

fn texts() -> Vec<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/files");
    let files = fs::read_dir(dir).unwrap();
    files
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect()
}

fn ours(text: &str) -> Result<Workflow, Vec<WorkflowFault>> {
    let options = WorkflowOptions {
        skip_actions: vec!["codecov/*".to_owned()],
        ..WorkflowOptions::default()
    };
    check(FILE, text, &options, &BTreeMap::new())
}

/// What is not the same, or nothing.
fn differing(case: &Case<'_>, theirs: &Reply) -> Option<String> {
    let ours = ours(&case.text);
    let outcome = match (&ours, theirs) {
        (Ok(workflow), Reply::Jobs { jobs }) => {
            different_jobs(workflow, jobs).map_or(Ok(Outcome::Accepted), Err)
        }
        (Err(faults), Reply::Errors { errors }) => {
            let lines: BTreeSet<_> = faults.iter().map(|fault| fault.line).collect();
            let has_line = |error: &ReplyError| lines.contains(&error.line);
            match errors.iter().all(has_line) {
                true => Ok(Outcome::Refused),
                false => Err("refused at other lines".to_owned()),
            }
        }
        _ => Err("refused by one side alone".to_owned()),
    };
    let is_as_expected = match (&outcome, case.outcome) {
        (Ok(outcome), expected) => *outcome == expected,
        (Err(_), expected) => matches!(expected, Outcome::Differs(_)),
    };
    (!is_as_expected).then(|| {
        let faults = ours.err().unwrap_or_default();
        let faults: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
        let why = match theirs {
            Reply::Errors { errors } => errors
                .iter()
                .map(|error| format!("{}: {}\n", error.line, error.why))
                .collect(),
            Reply::Jobs { jobs } => format!("{jobs:?}"),
        };
        let Case {
            outcome: expected,
            name,
            text,
        } = case;
        format!("{name}, {expected:?}: {outcome:?}\n{text}\nhere:\n{faults}package:\n{why}\n")
    })
}

fn different_jobs(workflow: &Workflow, theirs: &[ReplyJob]) -> Option<String> {
    let events = EventKind::ALL.into_iter().map(|kind| {
        let mut event = WorkflowEvent::new(kind, "refs/heads/main");
        event.cron = workflow.schedules().next().map(|(cron, _)| cron.to_owned());
        event
    });
    let tags = std::iter::once(WorkflowEvent::new(EventKind::Push, "refs/tags/v1"));
    let plans = events
        .chain(tags)
        .filter_map(|event| workflow.plan(&event, &PlanFacts::default()).unwrap());
    let plan = plans.into_iter().next().expect("some event starts it");
    let mut ids: Vec<&str> = plan.jobs.iter().map(|job| job.job.as_str()).collect();
    ids.dedup();
    let expected: Vec<_> = theirs.iter().map(|job| job.id.as_str()).collect();
    if ids != expected {
        return Some(format!("jobs {ids:?} and {expected:?}"));
    }
    theirs.iter().find_map(|job| {
        let rows: Vec<_> = plan.jobs.iter().filter(|row| row.job == job.id).collect();
        let row = rows[0];
        // What does not run here has no steps.
        if row.skipped.is_some() {
            return None;
        }
        let steps: Vec<_> = row.steps.iter().map(|step| body(&step.action)).collect();
        if row.needs != job.needs || steps != job.steps {
            return Some(format!("{} {steps:?} and {job:?}", row.id));
        }
        different_rows(&rows, &job.strategy)
    })
}

fn body(action: &StepAction) -> &'static str {
    match action {
        StepAction::Run { .. } | StepAction::SetUp { .. } => "run",
        StepAction::Uses { .. } | StepAction::Composite { .. } | StepAction::Skipped { .. } => {
            "uses"
        }
        StepAction::Wait { .. } => "wait",
        StepAction::WaitAll => "wait-all",
        StepAction::Cancel { .. } => "cancel",
    }
}

/// The package makes no rows. Where a matrix is written out, they are all pairs of its values, the last axis first.
fn different_rows(rows: &[&PlannedJob], strategy: &ExprValue) -> Option<String> {
    let ExprValue::Object(strategy) = strategy else {
        return None;
    };
    let Some(ExprValue::Object(matrix)) = strategy.get("matrix") else {
        return None;
    };
    let mut expected: Vec<Vec<(String, ExprValue)>> = vec![Vec::new()];
    for (name, values) in matrix.iter() {
        let (ExprValue::List(values), false) = (values, matches!(name, "include" | "exclude"))
        else {
            return None;
        };
        let with = |row: Vec<(String, ExprValue)>| {
            values.iter().map(move |value| {
                let mut row = row.clone();
                row.push((name.to_owned(), value.clone()));
                row
            })
        };
        expected = expected.into_iter().flat_map(with).collect();
    }
    let expected: Vec<_> = expected.into_iter().map(ExprValue::object).collect();
    let found: Vec<_> = rows.iter().map(|row| row.strategy.matrix.clone()).collect();
    (found != expected).then(|| format!("rows {found:?} and {expected:?}"))
}

#[test]
fn workflow_files_are_read_alike() {
    let files = texts();
    let mut cases: Vec<_> = files.iter().flat_map(|text| cases(text)).collect();
    for (name, text) in [
        ("rust.yml", include_str!("../files/rust.yml")),
        ("python.yml", include_str!("../files/python.yml")),
    ] {
        cases.push(Case {
            outcome: Outcome::Accepted,
            name: name.to_owned(),
            text: text.to_owned(),
        });
    }
    let requests: Vec<_> = cases
        .iter()
        .map(|case| Request {
            file: RequestedFile { text: &case.text },
        })
        .collect();
    let replies: Vec<Reply> = ask(&requests);
    let wrong: Vec<_> = cases
        .iter()
        .zip(&replies)
        .filter_map(|(case, reply)| differing(case, reply))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn each_difference_of_the_page_has_a_case_and_each_key_has_several() {
    let files = texts();
    let cases: Vec<_> = files.iter().flat_map(|text| cases(text)).collect();
    let differences: BTreeSet<_> = cases
        .iter()
        .filter_map(|case| match case.outcome {
            Outcome::Differs(name) => Some(name),
            Outcome::Accepted | Outcome::Refused => None,
        })
        .collect();
    let named = names_on_the_page("Files of the package");
    assert_eq!(BTreeSet::from_iter(named), differences);
    let has = |case: &Case<'_>, key: &str| case.text.contains(&format!("{key}:"));
    let unseen: Vec<_> = support_table()
        .iter()
        .filter(|row| {
            let having = || cases.iter().filter(|case| has(case, row.key));
            let is_wrong = |case: &Case<'_>| case.outcome != Outcome::Accepted;
            // What is refused whatever its value needs one case alone.
            let least = if row.support == KeySupport::NotYet {
                1
            } else {
                2
            };
            having().count() < least || !having().any(is_wrong)
        })
        .map(|row| row.key)
        .collect();
    assert_eq!(unseen, [""; 0]);
}
