//! Expressions: generated ones, a table of cases, and one for each known difference.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answer::{Answer, Expression, Reply, ours};
use crate::cases::{Expected, GROUPS};
use crate::differences::{explained, names_on_the_page, of_expressions};
use crate::generate::Generator;
use crate::node::ask;
use crate::words::CONTEXTS;

const GENERATED: usize = 10_000;
const SEED: u64 = 1;
/// What is only found when the expression is evaluated; all else is found before.
const WHEN_EVALUATED: [&str; 3] = ["case", "format", "json"];

#[derive(Serialize)]
struct Request<'e> {
    expression: &'e Expression,
}

/// Expressions, each with the answers of this crate and of the package.
fn answers(
    texts: impl IntoIterator<Item = String>,
) -> impl Iterator<Item = (String, Answer, Answer)> {
    let contexts = CONTEXTS.to_owned();
    let expressions: Vec<_> = texts
        .into_iter()
        .map(|text| Expression {
            text,
            contexts: contexts.clone(),
        })
        .collect();
    let requests: Vec<_> = expressions
        .iter()
        .map(|expression| Request { expression })
        .collect();
    let replies: Vec<Reply> = ask(&requests);
    expressions
        .into_iter()
        .zip(replies)
        .map(|(expression, reply)| {
            let ours = ours(&expression);
            (expression.text, ours, reply.into())
        })
}

#[test]
fn generated_expressions_come_to_the_same() {
    let mut generator = Generator::new(SEED);
    let texts = (0..GENERATED).map(|_| generator.expression());
    let mut explanations = BTreeMap::<_, usize>::new();
    let (mut values, mut refusals) = (0, 0);
    let mut wrong = Vec::new();
    for (text, ours, theirs) in answers(texts) {
        let is_same = match (&ours, &theirs) {
            (Answer::Value(ours), Answer::Value(theirs)) => {
                values += 1;
                ours == theirs
            }
            // Of several faults in one expression each side may find another first.
            (Answer::Refused(ours), Answer::Refused(theirs)) => {
                refusals += 1;
                let is_late = |class: &String| WHEN_EVALUATED.contains(&class.as_str());
                is_late(ours) == is_late(theirs)
            }
            _ => false,
        };
        if is_same {
            continue;
        }
        match explained(&text, &ours, &theirs) {
            Some(name) => *explanations.entry(name).or_default() += 1,
            None => wrong.push(format!("{text}\n  here: {ours:?}\n  package: {theirs:?}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    // Else too little of it is compared.
    assert!(
        values > GENERATED / 2 && refusals > GENERATED / 5,
        "{values} {refusals}"
    );
    let explained: usize = explanations.values().sum();
    assert!(explained < GENERATED / 20, "{explanations:?}");
}

#[test]
fn the_table_of_cases_holds_on_both_sides() {
    let cases = || {
        GROUPS
            .iter()
            .flat_map(|(group, cases)| cases.iter().map(move |case| (group, case)))
    };
    let texts = cases().map(|(_, (text, _))| (*text).to_owned());
    let mut wrong = Vec::new();
    for ((group, (text, expected)), (_, ours, theirs)) in cases().zip(answers(texts)) {
        let expected = match expected {
            Expected::Value(json) => Answer::Value(serde_json::from_str(json).unwrap()),
            Expected::Refused(class) => Answer::Refused((*class).to_owned()),
        };
        if ours != expected || theirs != expected {
            wrong.push(format!(
                "{group}: {text}\n  here: {ours:?}\n  package: {theirs:?}\n  expected: {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_difference_of_the_page_is_one_and_no_other_is_known() {
    let differences = of_expressions();
    let mut names: Vec<_> = differences.iter().map(|(name, _)| *name).collect();
    names.dedup();
    assert_eq!(names_on_the_page("Expressions of the package"), names);
    let texts = differences.iter().map(|(_, text)| text.clone());
    for ((name, _), (text, ours, theirs)) in differences.iter().zip(answers(texts)) {
        assert_ne!(ours, theirs, "{name}: {text}");
    }
}
