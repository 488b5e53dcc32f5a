//! Whatever a file says, reading it ends, and each refusal has a place in it.

use std::collections::BTreeMap;

use branchyard_workflow::{
    EventKind, MAX_FAULTS, PlanFacts, WorkflowEvent, WorkflowFault, WorkflowOptions, check,
};
use proptest::prelude::*;

const FILES: [&str; 3] = [
    include_str!("files/rust.yml"),
    include_str!("files/python.yml"),
    include_str!("files/own.yml"),
];

/// Text that means something in a workflow.
const PIECES: [&str; 22] = [
    "${{",
    "}}",
    "'",
    "\"",
    ": ",
    "- ",
    "\n",
    "  ",
    "{",
    "}",
    "[",
    "]",
    "*a",
    "&a ",
    "|",
    ">-",
    "matrix",
    "github.event.",
    "needs",
    "é",
    "if: ",
    "\t",
];

fn check_places(text: &str, faults: &[WorkflowFault]) -> Result<(), TestCaseError> {
    prop_assert!(!faults.is_empty() && faults.len() <= MAX_FAULTS);
    let lines: Vec<&str> = text.split('\n').collect();
    for fault in faults {
        let line = lines.get(fault.line - 1);
        prop_assert!(line.is_some(), "{fault}");
        let length = line.map_or(0, |line| line.chars().count());
        prop_assert!(
            (1..=length + 1).contains(&fault.column),
            "{fault} of {length}"
        );
    }
    let places: Vec<_> = faults
        .iter()
        .map(|fault| (fault.line, fault.column))
        .collect();
    prop_assert!(places.is_sorted());
    Ok(())
}

fn try_all(text: &str) -> Result<(), TestCaseError> {
    let workflow = match check(
        ".branchyard/workflows/x.yml",
        text,
        &WorkflowOptions::default(),
        &BTreeMap::new(),
    ) {
        Ok(workflow) => workflow,
        Err(faults) => return check_places(text, &faults),
    };
    for kind in EventKind::ALL {
        let event = WorkflowEvent::new(kind, "refs/heads/main");
        match workflow.plan(&event, &PlanFacts::default()) {
            Err(faults) => check_places(text, &faults)?,
            Ok(Some(plan)) => prop_assert!(plan.jobs.len() <= 256),
            Ok(None) => {}
        }
    }
    Ok(())
}

fn boundary(text: &str, share: f64) -> usize {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let at = places
        .iter()
        .position(|at| *at as f64 >= share * text.len() as f64);
    at.map_or(text.len(), |at| places[at])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_broken_file_is_refused_at_a_place_of_it(
        file in 0..FILES.len(),
        edits in prop::collection::vec((0.0..1.0f64, 0.0..0.05f64, prop::sample::select(PIECES.to_vec())), 1..4),
    ) {
        let mut text = FILES[file].to_owned();
        for (from, length, piece) in edits {
            let start = boundary(&text, from);
            let end = boundary(&text, (from + length / 4.0).min(1.0)).max(start);
            text.replace_range(start..end, piece);
        }
        try_all(&text)?;
    }

    #[test]
    fn any_text_is_refused_or_taken(text in "[a-z:\\[\\]{}&*'\"|>$ \n\t#é-]{0,80}") {
        try_all(&text)?;
    }

    #[test]
    fn any_expression_in_any_place_is_refused_or_taken(expression in "[a-z.'()\\[\\]*=!&|, 0-9]{0,30}", at in 0..5) {
        let slot = |number: i32| if number == at { expression.as_str() } else { "github.sha" };
        let text = format!(
            "on: push\nenv:\n  A: ${{{{ {} }}}}\njobs:\n  a:\n    runs-on: ubuntu-latest\n    name: ${{{{ {} }}}}\n    strategy: {{matrix: {{v: [1]}}}}\n    if: >-\n      {}\n    steps:\n      - run: |\n          x ${{{{ {} }}}}\n          ${{{{ {} }}}}\n",
            slot(0), slot(1), slot(2), slot(3), slot(4)
        );
        try_all(&text)?;
    }
}
