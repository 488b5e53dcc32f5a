//! Where this crate and the packages differ, each by the name that docs/PIPELINES.md has for it.

use crate::answer::Answer;

const PAGE: &str = include_str!("../../../../docs/PIPELINES.md");

/// The names in the table below this heading of the page.
pub(crate) fn names_on_the_page(heading: &str) -> Vec<&'static str> {
    let section = PAGE.split(&format!("\n### {heading}\n")).nth(1);
    let section = section.and_then(|rest| rest.split("\n#").next()).unwrap();
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect()
}

/// Each difference in expressions, with one that shows it.
pub(crate) fn of_expressions() -> Vec<(&'static str, String)> {
    let deep = |count: usize| format!("!github{}", ".x".repeat(count));
    let lists = format!("fromJSON('{}{}') == 1", "[".repeat(200), "]".repeat(200));
    let long = "x".repeat(1000);
    let twenty = "{0}".repeat(20);
    let large = format!(
        "format(format('{twenty}', format('{twenty}', format('{twenty}', '{long}')))) == 1"
    );
    vec![
        ("binary-literal", "0b1".to_owned()),
        ("large-number", "1e400".to_owned()),
        ("large-number", "fromJSON('1e400')".to_owned()),
        ("large-number", "0xFFFFFFFFFFFFFFFFF".to_owned()),
        ("doubled-quotes", "'a''b''c'".to_owned()),
        (
            "key-order",
            "toJSON(fromJSON('{\"2\":1,\"1\":2}'))".to_owned(),
        ),
        (
            "javascript-names",
            "fromJSON('{\"constructor\":1}').constructor".to_owned(),
        ),
        ("lone-surrogate", "fromJSON('\"\\ud800\"')".to_owned()),
        ("unknown-context", "true || nope".to_owned()),
        ("empty-expression", " ".to_owned()),
        ("unicode-space", "1\u{a0}== 1".to_owned()),
        ("json-depth", lists),
        ("length-in-bytes", format!("'{}'", "é".repeat(20_000))),
        ("access-depth", deep(49)),
        ("text-limit", large),
    ]
}

/// The difference that explains why the two answers to a generated expression are not the same.
pub(crate) fn explained(text: &str, ours: &Answer, theirs: &Answer) -> Option<&'static str> {
    if text.trim().is_empty() {
        return Some("empty-expression");
    }
    let is_refused = |answer: &Answer| matches!(answer, Answer::Refused(_));
    if *theirs == Answer::Refused("context".to_owned()) {
        return Some("unknown-context");
    }
    let words = || text.split(|c: char| !(c.is_ascii_alphanumeric() || ".+-".contains(c)));
    let is_large = |word: &str| {
        let number: Result<f64, _> = word.parse();
        word.contains(|c: char| c.is_ascii_digit()) && number.is_ok_and(f64::is_infinite)
    };
    if is_refused(ours) && words().any(is_large) {
        return Some("large-number");
    }
    if is_refused(ours) && words().any(|word| word.starts_with("0b1")) {
        return Some("binary-literal");
    }
    (text.contains('\u{a0}') && is_refused(theirs)).then_some("unicode-space")
}
