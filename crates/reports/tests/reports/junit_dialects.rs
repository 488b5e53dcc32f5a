//! Corners of JUnit XML that producers differ in.

use branchyard_model::{TestCase, TestReport, TestState};
use branchyard_reports::{ReportError, junit};

use crate::counted;

fn read(text: &str) -> TestReport {
    junit(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The only test of a report.
fn only(inner: &str) -> TestCase {
    let tests = read(&format!("<testsuite name=\"s\">{inner}</testsuite>"));
    assert_eq!((tests.tests.len(), tests.left_out), (1, 0), "{inner}");
    tests.tests.into_iter().next().unwrap()
}

fn refused(bytes: &[u8]) -> ReportError {
    junit(bytes).unwrap_err()
}

#[test]
fn a_test_has_the_state_that_its_elements_and_attributes_say() {
    for (inner, expected) in [
        ("<testcase name='a'/>", TestState::Passed),
        (
            "<testcase name='a'><failure/></testcase>",
            TestState::Failed,
        ),
        ("<testcase name='a'><error/></testcase>", TestState::Failed),
        (
            "<testcase name='a'><skipped/></testcase>",
            TestState::Skipped,
        ),
        (
            "<testcase name='a'><disabled/></testcase>",
            TestState::Skipped,
        ),
        (
            "<testcase name='a'><failure/><failure/><skipped/></testcase>",
            TestState::Failed,
        ),
        ("<testcase name='a' status='notrun'/>", TestState::Skipped),
        (
            "<testcase name='a' status='run' result='suppressed'/>",
            TestState::Skipped,
        ),
        (
            "<testcase name='a' status='run' result='completed'/>",
            TestState::Passed,
        ),
        (
            "<testcase name='a' status='notrun'><failure/></testcase>",
            TestState::Failed,
        ),
        (
            "<testcase name='a'><rerunFailure/></testcase>",
            TestState::Failed,
        ),
        (
            "<testcase name='a'><flakyError/></testcase>",
            TestState::Passed,
        ),
        // What a test prints is no outcome.
        (
            "<testcase name='a'><system-out><failure/></system-out></testcase>",
            TestState::Passed,
        ),
        (
            "<testcase name='a'><properties><error/></properties></testcase>",
            TestState::Passed,
        ),
    ] {
        let case = only(inner);
        assert_eq!(case.state, expected, "{inner}");
        assert_eq!(case.is_flaky(), inner.contains("flaky"), "{inner}");
    }
}

#[test]
fn the_suite_is_the_class_or_else_the_innermost_suite() {
    let tests = read(
        "<testsuites><testsuite name='outer'><testsuite name='inner'>
           <testcase name='a' classname='C'/><testcase name='b'/><testcase name='c' classname=''/>
           <testcase name='d' classname='test'/>
         </testsuite><testcase name='e'/></testsuite><testcase name='f'/></testsuites>",
    );
    let suites = tests.tests.iter().map(|case| case.suite.as_str());
    let suites: Vec<_> = suites.collect();
    assert_eq!(
        suites,
        ["C", "inner", "inner", "outer › inner", "outer", ""]
    );
}

#[test]
fn a_message_is_the_attribute_and_the_text_without_what_is_said_twice() {
    for (outcome, expected) in [
        ("<failure message='why'/>", Some("why")),
        ("<failure>\n  why\n</failure>", Some("  why")),
        (
            "<failure message='why'>Error: why, here</failure>",
            Some("Error: why, here"),
        ),
        (
            "<failure message='why'>at x:1</failure>",
            Some("why\nat x:1"),
        ),
        ("<failure message='&lt;a&gt;&#10;&amp;'/>", Some("<a>\n&")),
        (
            "<failure>&lt;a&gt; &amp; b & c &unknown;</failure>",
            Some("<a> & b & c &unknown;"),
        ),
        (
            "<failure><![CDATA[<a> &amp; ]] ]]]></failure>",
            Some("<a> &amp; ]] ]"),
        ),
        (
            "<failure message='1'/><failure message='2'/>",
            Some("1\n\n\n2"),
        ),
        (
            "<failure>&#27;[31mred&#x1b;[0m&#0;&#7;</failure>",
            Some("red"),
        ),
        (
            "<failure/><system-out>printed</system-out>",
            Some("printed"),
        ),
        ("<skipped message='later'/>", Some("later")),
        ("<failure/>", None),
        ("<system-out>printed</system-out>", None),
    ] {
        let case = only(&format!("<testcase name='a'>{outcome}</testcase>"));
        assert_eq!(case.message.as_deref(), expected, "{outcome}");
    }
}

#[test]
fn times_and_places_are_read_where_there_are_any() {
    let case = only("<testcase name='a' time='1,234.5' file='x/y.c' line='7'/>");
    assert_eq!(
        (case.ms, case.file.as_deref(), case.line),
        (Some(1_234_500), Some("x/y.c"), Some(7))
    );
    let case = only("<testcase name='a' time='soon' line='-1'/>");
    assert_eq!((case.ms, case.file, case.line), (None, None, None));
}

#[test]
fn the_same_id_twice_is_two_tests() {
    let twice = "<testcase classname='c' name='a'/><testcase classname='c' name='a'/>";
    let tests = read(&format!("<testsuite name='s'>{twice}</testsuite>"));
    assert_eq!((tests.counts.passed, tests.tests.len()), (2, 2));
    // But for pytest, which leaves attempts behind that way.
    let attempts = read(&format!("<testsuite name='pytest'>{twice}</testsuite>"));
    assert_eq!((attempts.counts.passed, attempts.counts.flaky), (1, 1));
    let failed = "<testcase classname='c' name='a'/>\
                  <testcase classname='c' name='a'><failure/></testcase>\
                  <testcase classname='c' name='a'><error/></testcase>";
    let attempts = read(&format!("<testsuite name='pytest'>{failed}</testsuite>"));
    assert_eq!(
        counted(attempts.counts),
        (0, 2, 0),
        "a failure, and an error in its teardown"
    );
}

#[test]
fn prefixes_declarations_and_comments_make_no_difference() {
    let text = "\u{feff}<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e 'many'>]>
        <!-- <testcase/> --><j:testsuites xmlns:j='urn:x'><j:testsuite name='s'>
        <j:testcase name='&e;'><j:failure>&e;</j:failure></j:testcase>
        <?pi <testcase/> ?></j:testsuite></j:testsuites>";
    let tests = read(text);
    assert_eq!(counted(tests.counts), (0, 1, 0));
    assert_eq!(tests.tests[0].name, "&e;");
    assert_eq!(tests.tests[0].message.as_deref(), Some("&e;"));
}

#[test]
fn other_encodings_are_read_as_well_as_it_goes() {
    let latin: &[u8] = b"<?xml version='1.0' encoding='ISO-8859-1'?>\
        <testsuite><testcase name='caf\xe9'/></testsuite>";
    assert_eq!(junit(latin).unwrap().tests[0].name, "café");
    let broken: &[u8] = b"<testsuite><testcase name='caf\xe9 \xf0\x9f'/></testsuite>";
    assert_eq!(
        junit(broken).unwrap().tests[0].name,
        "caf\u{fffd} \u{fffd}\u{fffd}"
    );
    let declared = "<?xml version='1.0' encoding='windows-1252'?>\
        <testsuite><testcase name='日本'/></testsuite>";
    assert_eq!(read(declared).tests[0].name, "日本");
    let error = refused(b"\xff\xfe<\0");
    assert!(error.reason.contains("UTF-16"), "{error}");
}

#[test]
fn what_is_no_report_is_refused_with_the_position() {
    for (text, reason, position) in [
        ("", "no element", 0),
        ("just text", "no element", 9),
        ("<html></html>", "its root is `html`", 6),
        ("<testsuite><testcase>", "within 2 open elements", 21),
        ("<testsuite></testsuites>", "testsuites", 24),
        ("<testsuite/>\n<!-- open", "", 22),
    ] {
        let error = refused(text.as_bytes());
        assert!(error.reason.contains(reason), "{text}: {error}");
        assert_eq!(error.position, position, "{text}: {error}");
    }
    let empty = read("<testsuites/>");
    assert_eq!((empty.counts.total(), empty.tests.len()), (0, 0));
}
