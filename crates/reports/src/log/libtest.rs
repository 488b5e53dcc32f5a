//! `cargo test`: the text of Rust's own test harness.

use super::panic_output::PanicOutput;
use super::tally::tally;
use super::{Producer, Total};
use crate::case::named;
use crate::kept::KeptTests;
use crate::seconds;
use branchyard_model::{TestCounts, TestState};

#[derive(Default)]
pub(super) struct Libtest {
    /// The binary that cargo said it runs next.
    suite: String,
    run: Option<HarnessRun>,
}

/// One binary's tests.
struct HarnessRun {
    suite: String,
    kept: KeptTests,
    part: HarnessPart,
}

enum HarnessPart {
    Tests,
    /// What tests printed. All of it is theirs, also what looks like another producer's.
    Output(Option<TestOutput>, ListedTests),
    /// The names of these tests.
    Names(ListedTests),
}

/// Which tests a list is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListedTests {
    Failed,
    /// With `--show-output`.
    Passed,
}

struct TestOutput {
    name: String,
    output: PanicOutput,
}

impl Producer for Libtest {
    fn line(&mut self, line: &str, total: &mut Total) -> bool {
        let is_output =
            matches!(&self.run, Some(run) if matches!(run.part, HarnessPart::Output(..)));
        if let Some(suite) = suite(line) {
            self.finish(total);
            self.suite = suite;
            return true;
        }
        if !is_output && is_start(line) {
            self.finish(total);
            self.run = Some(HarnessRun {
                suite: self.suite.clone(),
                kept: KeptTests::of_run(),
                part: HarnessPart::Tests,
            });
            return true;
        }
        let Some(run) = &mut self.run else {
            return false;
        };
        if !is_output && let Some(counts) = result(line) {
            run.kept.set_counts(counts);
            self.finish(total);
            return true;
        }
        run.line(line)
    }

    fn finish(&mut self, total: &mut Total) {
        if let Some(mut run) = self.run.take() {
            run.end_output();
            total.absorb(run.kept);
        }
    }
}

impl HarnessRun {
    fn line(&mut self, line: &str) -> bool {
        let heading = match line {
            "failures:" => Some(ListedTests::Failed),
            "successes:" => Some(ListedTests::Passed),
            _ => None,
        };
        match (&mut self.part, heading) {
            (HarnessPart::Tests | HarnessPart::Names(_), Some(of)) => {
                self.part = HarnessPart::Output(None, of);
            }
            (HarnessPart::Tests, None) => return self.test(line),
            (HarnessPart::Output(..), Some(of)) => {
                self.end_output();
                self.part = HarnessPart::Names(of);
            }
            (HarnessPart::Output(test, of), None) => match section(line) {
                Some(name) => {
                    let (name, of) = (name.to_owned(), *of);
                    self.end_output();
                    let output = PanicOutput::default();
                    self.part = HarnessPart::Output(Some(TestOutput { name, output }), of);
                }
                None => {
                    if let Some(test) = test {
                        test.output.line(line);
                    }
                }
            },
            (HarnessPart::Names(of), None) => {
                if let Some(name) = line.strip_prefix("    ")
                    && *of == ListedTests::Failed
                {
                    self.add_failed(plain(name));
                }
            }
        }
        true
    }

    /// `test tests::fails ... FAILED`
    fn test(&mut self, line: &str) -> bool {
        let parts = line.strip_prefix("test ");
        let Some((name, said)) = parts.and_then(|rest| rest.rsplit_once(" ... ")) else {
            return false;
        };
        let (word, rest) = said.split_once([',', ' ']).unwrap_or((said, ""));
        let state = match word {
            "ok" | "bench:" => TestState::Passed,
            "FAILED" => TestState::Failed,
            "ignored" => TestState::Skipped,
            _ => return false,
        };
        let mut case = named(&self.suite, plain(name), state);
        let time = rest.trim().strip_prefix('<');
        case.ms = time
            .and_then(|time| time.strip_suffix("s>"))
            .and_then(seconds::millis);
        if state == TestState::Skipped && !rest.trim().is_empty() {
            case.message = Some(crate::excerpt::name(rest.trim()));
        }
        self.kept.add(case);
        true
    }

    /// With `--quiet`, tests are only named where it says why they failed.
    fn add_failed(&mut self, name: &str) {
        if !self.kept.has_failed(&self.suite, name) {
            let case = named(&self.suite, name, TestState::Failed);
            self.kept.add(case);
        }
    }

    fn end_output(&mut self) {
        if let HarnessPart::Output(test, of) = &mut self.part
            && let Some(TestOutput { name, output }) = test.take()
            && *of == ListedTests::Failed
        {
            self.add_failed(&name);
            let (message, at) = output.finish();
            self.kept.explain(&self.suite, &name, message, at);
        }
    }
}

/// The harness adds what it expects of a test to its name.
fn plain(name: &str) -> &str {
    name.strip_suffix(" - should panic").unwrap_or(name)
}

/// `---- tests::fails stdout ----`
fn section(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    let name = name
        .strip_suffix(" stdout")
        .or(name.strip_suffix(" stderr"));
    name.map(plain)
}

fn is_start(line: &str) -> bool {
    let count = line.strip_prefix("running ");
    let count = count.and_then(|rest| rest.strip_suffix(" tests").or(rest.strip_suffix(" test")));
    count.is_some_and(|count| count.parse::<u32>().is_ok())
}

/// `     Running unittests src/lib.rs (target/debug/deps/sample-e6daf73c296d6df0)`, which is `sample`. Older ones have
/// the path of the binary alone.
fn suite(line: &str) -> Option<String> {
    let said = line.trim_start();
    if said.len() == line.len() {
        return None;
    }
    if let Some(package) = said.strip_prefix("Doc-tests ") {
        return Some(crate::excerpt::name(&format!("{package} (doc)")));
    }
    let said = said.strip_prefix("Running ")?;
    let binary = match said.strip_suffix(')') {
        Some(said) => said.rsplit_once(" (")?.1,
        None => said,
    };
    let (_, file) = binary.rsplit_once(['/', '\\'])?;
    let (name, hash) = file.strip_suffix(".exe").unwrap_or(file).rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| crate::excerpt::name(name))
}

/// `test result: FAILED. 2 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.77s`
fn result(line: &str) -> Option<TestCounts> {
    let (_, said) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let said = said
        .split_once("; finished in ")
        .map_or(said, |(said, _)| said);
    let mut counts = TestCounts::default();
    for (number, word) in tally(said, ";")? {
        match word {
            "passed" | "measured" => counts.passed = counts.passed.saturating_add(number),
            "failed" => counts.failed = number,
            "ignored" => counts.skipped = number,
            _ => {}
        }
    }
    Some(counts)
}
