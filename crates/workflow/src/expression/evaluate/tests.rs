//! Small cases of evaluation, and that no text makes it panic.

use proptest::prelude::*;

use super::*;

struct Hashes;

impl crate::expression::HashFiles for Hashes {
    fn hash_files(&self, patterns: &[String]) -> Result<String, String> {
        Ok(patterns.join("+"))
    }
}

fn context() -> EvalContext<'static> {
    let github = r#"{"ref":"refs/heads/main","event":{"labels":[{"name":"bug","ids":[1,2]},{"name":"ui"},{"id":3}],"n":null}}"#;
    EvalContext::new()
        .with("github", serde_json::from_str(github).unwrap())
        .with(
            "matrix",
            serde_json::from_str(r#"{"os":"linux","v":[10,20]}"#).unwrap(),
        )
        .with_status(JobStatus::Failure)
        .with_files(&Hashes)
}

/// The value as JSON, or what is wrong.
fn json(text: &str) -> String {
    match evaluate(text, &context()) {
        Ok(value) => serde_json::to_string(&value).unwrap(),
        Err(fault) => format!("error: {fault}"),
    }
}

#[test]
fn values_are_as_in_the_reference() {
    for (text, value) in [
        ("1 == '1'", "true"),
        ("1 == true", "true"),
        ("'a' == 'A'", "true"),
        ("null == 0", "true"),
        ("NaN == NaN", "false"),
        ("NaN != NaN", "true"),
        ("NaN <= NaN", "false"),
        ("'abc' < 'ABD'", "true"),
        ("'x' > 1", "false"),
        ("'x' < 1", "false"),
        ("null >= 0", "true"),
        ("null >= null", "true"),
        ("null > null", "false"),
        ("true > false", "true"),
        ("github.event == github.event", "true"),
        ("fromJSON('{}') == fromJSON('{}')", "false"),
        ("'a' || 'b'", r#""a""#),
        ("'' || 'b'", r#""b""#),
        ("'a' && 'b'", r#""b""#),
        ("0 && 'b'", "0.0"),
        ("'a' && false || 'c'", r#""c""#),
        ("!''", "true"),
        ("!!'x'", "true"),
        ("0xff", "255.0"),
        ("-1.5e1", "-15.0"),
        ("'it''s'", r#""it's""#),
        ("github.REF", r#""refs/heads/main""#),
        ("GitHub['ref']", r#""refs/heads/main""#),
        ("github.event.none.deeper", "null"),
        ("github.event.n.deeper", "null"),
        ("github.event.labels.*.name", r#"["bug","ui"]"#),
        ("github.event.labels.*.ids", "[[1.0,2.0]]"),
        ("github.event.labels.*.ids.*", "[1.0,2.0]"),
        ("github.event.labels.*.ids[0]", "[1.0]"),
        ("(github.event.labels.*)[0]", "[]"),
        ("github.event.labels[*].name", r#"["bug","ui"]"#),
        ("github.event.labels[1].name", r#""ui""#),
        ("github.event.labels['1'].name", r#""ui""#),
        ("github.event.labels[1.9].name", r#""ui""#),
        ("github.event.labels[null].name", r#""bug""#),
        ("github.event.labels[-0].name", r#""bug""#),
        ("github.event.labels[-1]", "null"),
        ("github.event.labels[1e300]", "null"),
        ("github.ref.*", "[]"),
        ("matrix.*", r#"["linux",[10.0,20.0]]"#),
        (
            "matrix.v[0] + ''",
            "error: the expression is not valid: invalid numeric literal",
        ),
        ("contains(github.event.labels.*.name, 'BUG')", "true"),
        ("startsWith(github.ref, 'REFS/')", "true"),
        ("endsWith('abc', '')", "true"),
        ("startsWith(matrix.v, 'A')", "false"),
        ("format('{0}-{1}', matrix.os, matrix.v[0])", r#""linux-10""#),
        (
            "format('{0} {1} {2}', true, null, fromJSON('[]'))",
            r#""true  Array""#,
        ),
        ("join(matrix.v, '-')", r#""10-20""#),
        ("fromJSON('[1,{\"a\":2}]')[1].a", "2.0"),
        ("toJSON('a')", r#""\"a\"""#),
        ("hashFiles('a', 'b')", r#""a+b""#),
        ("success()", "false"),
        ("failure()", "true"),
        ("always()", "true"),
        ("cancelled()", "false"),
        ("case(false, 1, true, 2, 3)", "2.0"),
        ("case(false, 1, 3)", "3.0"),
        (
            "case('x', 1, 3)",
            "error: a condition of case is neither true nor false",
        ),
        (
            "nowhere.x",
            "error: there is no context nowhere here; there are: github, matrix",
        ),
        ("fromJSON('')", "error: fromJSON was given an empty text"),
    ] {
        assert_eq!(json(text), value, "{text}");
    }
}

#[test]
fn a_fault_has_its_place() {
    let fault = evaluate("github.ref == nowhere.x", &context()).unwrap_err();
    assert_eq!(fault.span, 14..21);
    let fault = evaluate("'a' || success()", &EvalContext::new()).unwrap_or_default();
    assert_eq!(fault, ExprValue::text("a"));
    assert!(evaluate("success()", &EvalContext::new()).is_err());
    assert!(evaluate("hashFiles('a')", &EvalContext::new()).is_err());
}

#[test]
fn a_text_that_doubles_itself_ends() {
    let mut text = "'xxxxxxxxxxxxxxxx'".to_owned();
    for _ in 0..20 {
        text = format!("format('{{0}}{{0}}{{0}}{{0}}', {text})");
    }
    assert!(json(&text).contains("longer than"));
}

#[test]
fn work_has_a_bound() {
    let long = "x".repeat(15_000);
    let many = format!("contains(format('{{0}}{{0}}{{0}}{{0}}', '{long}'), 'y')");
    assert_eq!(json(&many), "false");
    let budget = ExprBudget::new();
    let shared = context().with_budget(&budget);
    let ends = (0..10_000).any(|_| evaluate(&many, &shared).is_err());
    assert!(ends && budget.is_spent());
}

/// Something that looks like an expression, more often valid than not.
fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("github.event.labels.*.name".to_owned()),
        Just("matrix".to_owned()),
        Just("null".to_owned()),
        Just("NaN".to_owned()),
        Just("github.event[matrix.v[0]]".to_owned()),
        "-?[0-9]{1,3}(\\.[0-9])?",
        "'[a-zA-Z{}01 é]{0,6}'",
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let operators = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">=", "&&", "||"]);
        let two =
            prop::sample::select(vec!["contains", "startsWith", "endsWith", "join", "format"]);
        let one = prop::sample::select(vec!["toJSON", "fromJSON", "hashFiles", "!"]);
        prop_oneof![
            (inner.clone(), operators, inner.clone())
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (two, inner.clone(), inner.clone()).prop_map(|(f, a, b)| format!("{f}({a}, {b})")),
            (one, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("fromJSON(toJSON({a}))[{b}]")),
        ]
    })
}

proptest! {
    #[test]
    fn evaluation_never_panics(text in expressions()) {
        if let Err(fault) = evaluate(&text, &context()) {
            prop_assert!(fault.span.end <= text.len() && fault.span.start <= fault.span.end);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}") {
        if let Err(fault) = evaluate(&text, &context()) {
            prop_assert!(fault.span.end <= text.len() && fault.span.start <= fault.span.end);
        }
    }

    #[test]
    fn a_value_is_the_same_after_json(text in expressions()) {
        let again = format!("fromJSON(toJSON({text}))");
        if let (Ok(value), Ok(same)) = (evaluate(&text, &context()), evaluate(&again, &context())) {
            let is_number = matches!(value, ExprValue::Number(number) if !number.is_finite());
            prop_assert!(is_number || value == same);
        }
    }
}
