//! Reports of real producers on the samples beside, read and compared with the producer's own counts.

use std::fs;
use std::path::{Path, PathBuf};

use branchyard_reports::{LogReader, TestCase, TestState, Tests, junit};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

fn read(path: &Path) -> Tests {
    let bytes = fs::read(path).unwrap();
    if path.extension().is_some_and(|ending| ending == "xml") {
        return junit(&bytes[..]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let mut log = LogReader::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        log.line(line);
    }
    log.finish()
        .unwrap_or_else(|| panic!("{}: no tests", path.display()))
}

/// The fixture of a producer, whatever its version.
fn of(producer: &str) -> Tests {
    let names = fs::read_dir(fixture(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    let (stem, ending) = producer.rsplit_once('.').unwrap();
    let is_it = |name: &&String| {
        let version = name
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_prefix('-'));
        let version = version.and_then(|rest| rest.strip_suffix(ending));
        version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    };
    let name = names
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no fixture of {producer}"));
    read(&fixture(name))
}

fn case<'a>(tests: &'a Tests, suite: &str, name: &str) -> &'a TestCase {
    let found = tests
        .cases
        .iter()
        .find(|case| case.suite == suite && case.name == name);
    found.unwrap_or_else(|| panic!("no {suite} {name} in {:#?}", tests.cases))
}

#[test]
fn counts_are_the_producers_own() {
    let mut reports = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(fixture("")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "counts") {
            continue;
        }
        let said = fs::read_to_string(format!("{}.counts", path.display())).unwrap();
        let counts = read(&path).counts;
        let found = format!("{} {} {}", counts.passed, counts.failed, counts.skipped);
        if found != said.trim() {
            wrong.push(format!("{}: {found}, not {}", path.display(), said.trim()));
        }
        reports += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(reports >= 30, "{reports} reports");
}
