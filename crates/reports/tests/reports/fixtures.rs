//! Reports of real producers on the samples beside, compared with the producers' own counts.

use std::fs;
use std::path::{Path, PathBuf};

use branchyard_model::{TestCase, TestReport, TestState};
use branchyard_reports::junit;

use crate::{counted, log};

fn fixtures() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    reports(&dir)
}

/// The reports in a directory, without the files that say their counts.
pub fn reports(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_report = |path: &PathBuf| path.extension().is_some_and(|ending| ending != "counts");
    let mut paths: Vec<_> = paths.filter(is_report).collect();
    paths.sort();
    paths
}

/// What is wrong with the counts of a report, beside which are those of its producer.
pub fn wrong_counts(path: &Path) -> Option<String> {
    let said = fs::read_to_string(format!("{}.counts", path.display())).unwrap();
    let (passed, failed, skipped) = counted(read(path).counts);
    let found = format!("{passed} {failed} {skipped}");
    let name = path.file_name().unwrap().to_string_lossy();
    (found != said.trim()).then(|| format!("{name}: {found}, not {}", said.trim()))
}

fn read(path: &Path) -> TestReport {
    let bytes = fs::read(path).unwrap();
    let shown = path.display();
    if path.extension().is_some_and(|ending| ending == "xml") {
        return junit(&bytes[..]).unwrap_or_else(|error| panic!("{shown}: {error}"));
    }
    log(&bytes).unwrap_or_else(|| panic!("{shown}: no tests"))
}

/// The fixture of a producer, whatever its version.
fn of(producer: &str, ending: &str) -> TestReport {
    let is_it = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let version = name
            .strip_prefix(producer)
            .and_then(|rest| rest.strip_prefix('-'));
        let version = version.and_then(|rest| rest.strip_suffix(ending));
        version.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let all = fixtures();
    let path = all.iter().find(is_it);
    read(path.unwrap_or_else(|| panic!("no fixture of {producer}")))
}

fn case<'a>(tests: &'a TestReport, suite: &str, name: &str) -> &'a TestCase {
    let mut cases = tests.tests.iter();
    let found = cases.find(|case| case.suite == suite && case.name == name);
    found.unwrap_or_else(|| panic!("no {suite} {name} in {:#?}", tests.tests))
}

#[test]
fn counts_are_the_producers_own() {
    let all = fixtures();
    let wrong: Vec<_> = all.iter().filter_map(|path| wrong_counts(path)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let junit = all.iter().filter(|path| path.extension().unwrap() == "xml");
    assert!(junit.count() >= 18, "JUnit of at least eighteen producers");
}

#[test]
fn every_producer_names_the_test_that_fails_and_why() {
    for path in fixtures() {
        let tests = read(&path);
        let shown = path.display();
        let failed = tests
            .tests
            .iter()
            .filter(|case| case.state == TestState::Failed);
        let failed: Vec<_> = failed.collect();
        assert_eq!(failed.len() as u64, tests.counts.failed, "{shown}");
        // Perl's own message has no lines of ours.
        if !shown.to_string().contains("perl-tap") {
            let explained = failed.iter().filter_map(|case| case.message.as_deref());
            let mut explained =
                explained.filter(|message| message.contains("expected <a> & <b>\n"));
            let message = explained
                .next()
                .unwrap_or_else(|| panic!("{shown}: {failed:#?}"));
            assert!(message.contains("übel ✗ 日本"), "{shown}: {message}");
            assert!(!message.contains('\x1b'), "{shown}: {message}");
        }
    }
}

/// A log names no more than it counts, and what it does not name is said to be left out.
#[test]
fn what_is_not_named_is_left_out() {
    for path in fixtures() {
        let tests = read(&path);
        let named = tests.tests.len() as u64;
        assert_eq!(
            named + tests.left_out,
            tests.counts.total(),
            "{}",
            path.display()
        );
    }
    for (producer, left_out) in [
        ("pytest-plain", 7),
        ("pytest-quiet", 7),
        ("pytest-verbose", 0),
        ("jest-plain", 5),
        ("jest-verbose", 0),
        ("nextest", 1),
        ("cargo-test", 0),
        // Nothing tells a test with subtests from a suite.
        ("node-spec", 1),
        ("node-tap", 1),
        ("mocha-spec", 0),
    ] {
        assert_eq!(of(producer, ".log").left_out, left_out, "{producer}");
    }
}

#[test]
fn what_passed_when_it_was_run_again_is_flaky() {
    for (producer, ending, suite, name) in [
        ("surefire", ".xml", "SampleTest", "isFlaky"),
        ("nextest", ".xml", "sample::other", "is_flaky"),
        ("nextest", ".log", "sample::other", "is_flaky"),
        ("playwright", ".xml", "sample.spec.js", "is flaky"),
        ("pytest-report", ".xml", "test_sample", "test_flaky"),
        ("pytest-verbose", ".log", "test_sample.py", "test_flaky"),
    ] {
        let tests = of(producer, ending);
        let flaky = case(&tests, suite, name);
        assert!(
            flaky.is_flaky() && flaky.state == TestState::Passed,
            "{producer}"
        );
        assert_eq!(tests.counts.flaky, 1, "{producer}");
        let same = tests.tests.iter().filter(|case| case.name == name);
        assert_eq!(same.count(), 1, "{producer}");
    }
}

#[test]
fn a_failure_in_a_log_has_its_place() {
    for (producer, suite, name, file, line) in [
        ("cargo-test", "sample", "tests::fails", "src/lib.rs", 27),
        ("nextest", "sample", "tests::fails", "src/lib.rs", 27),
        (
            "pytest-plain",
            "test_sample.py::TestGroup",
            "test_fails",
            "test_sample.py",
            13,
        ),
        (
            "pytest-plain",
            "test_sample.py",
            "test_error",
            "test_sample.py",
            38,
        ),
        (
            "go",
            "example.com/sample/lib",
            "TestFails",
            "sample_test.go",
            8,
        ),
        (
            "jest-plain",
            "./sample.test.js",
            "group › inner › fails",
            "sample.test.js",
            10,
        ),
        (
            "jest-verbose",
            "./sample.test.js",
            "group › inner › fails",
            "sample.test.js",
            10,
        ),
        ("mocha-spec", "group › inner", "fails", "sample.js", 10),
        ("mocha-tap", "", "group inner fails", "sample.js", 10),
        ("node-spec", "group", "fails", "sample.test.js", 8),
        (
            "node-tap",
            "group",
            "fails",
            "/tmp/sample/sample.test.js",
            8,
        ),
        ("perl-tap", "inner", "two", "sample.t", 18),
        ("bats-tap", "", "fails & <loses>", "sample.bats", 7),
    ] {
        let tests = of(producer, ".log");
        let failed = case(&tests, suite, name);
        assert_eq!(failed.file.as_deref(), Some(file), "{producer}");
        assert_eq!(failed.line, Some(line), "{producer}");
    }
}

#[test]
fn attributes_say_where_a_test_stands() {
    for (producer, suite, name, file, line) in [
        ("googletest", "Group", "Fails", "sample.cc", Some(5)),
        (
            "phpunit",
            "SampleTest",
            "testFails",
            "/tmp/sample/SampleTest.php",
            Some(12),
        ),
        (
            "rspec",
            "sample_spec",
            "group fails",
            "./sample_spec.rb",
            None,
        ),
        // The suite says it.
        (
            "mocha-junit-reporter",
            "fails",
            "group inner fails",
            "/tmp/sample/sample.js",
            None,
        ),
    ] {
        let tests = of(producer, ".xml");
        let failed = case(&tests, suite, name);
        assert_eq!(failed.file.as_deref(), Some(file), "{producer}");
        assert_eq!(failed.line, line, "{producer}");
    }
    let tests = of("node-junit", ".xml");
    case(&tests, "group › inner", "passes");
}
